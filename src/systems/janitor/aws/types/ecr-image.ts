import type { ImageDetail } from '@aws-sdk/client-ecr'
import { timeOf } from '../read/aws-type.ts'
import { unused, used } from '../../model/resource.ts'
import { defineType } from '../read/define-type.ts'
import type { Evidence } from '../read/evidence.ts'
import { askEach, inventoryError, listCompletely, requireItems } from '../read/listing.ts'
import type { AwsSession } from '../read/session.ts'

async function ecr(session: AwsSession) {
  const sdk = await import('@aws-sdk/client-ecr')
  return { sdk, client: session.client(sdk.ECRClient) }
}

/** An image that nothing names counts as used for this long after its last pull or push: a running Pod pulls only when it moves. */
const pulledDays = 90

/**
 * Images in ECR. In use while a workload of a known cluster, a task definition of ECS or a Lambda function names them, while a manifest list holds
 * them, and for 90 days after they were pulled or pushed. `unusedFor` counts from the last pull.
 */
export const ecrImageType = defineType<ImageDetail>({
  name: 'ecrImage',
  absent: ['ImageNotFoundException', 'RepositoryNotFoundException'],
  async all(session) {
    const { sdk, client } = await ecr(session)
    const repositories = await listCompletely(
      { what: `repositories of ${session.account}`, pageSize: 1000, items: 'repositories' },
      (pageSize: number) => sdk.paginateDescribeRepositories({ client, pageSize }, {}),
    )
    const images: ImageDetail[] = []
    for (const { repositoryName } of repositories)
      images.push(
        ...(await listCompletely(
          { what: `images of ${repositoryName} of ${session.account}`, pageSize: 1000, items: 'imageDetails' },
          (pageSize: number) => sdk.paginateDescribeImages({ client, pageSize }, { repositoryName }),
        )),
      )
    return images
  },
  async one(session, id) {
    const { sdk, client } = await ecr(session)
    const [repositoryName, imageDigest] = id.split('@')
    const { imageDetails = [] } = await client.send(
      new sdk.DescribeImagesCommand({ repositoryName, imageIds: [{ imageDigest }] }),
    )
    return imageDetails[0]
  },
  describe(image) {
    const { repositoryName, imageDigest, imageTags = [], imagePushedAt } = image
    const id = `${repositoryName}@${imageDigest}`
    const createdAt = timeOf(imagePushedAt)
    const name = imageTags[0] === undefined ? `${repositoryName}, untagged` : `${repositoryName}:${imageTags[0]}`
    return {
      id,
      uid: `${id}@${createdAt ?? ''}`,
      createdAt,
      tags: {},
      raw: image,
      group: repositoryName,
      facts: { name },
    }
  },
  async use(evidence) {
    const { session } = evidence
    const users = await imageUsers(evidence)
    const lists = await listMembers(session, await this.all(session))
    return ({ registryId, repositoryName = '', imageDigest = '', imageTags = [], ...image }) => {
      const base = `${registryId}.dkr.ecr.${session.region}.amazonaws.com/${repositoryName}`
      const names = [`${base}@${imageDigest}`, ...imageTags.map((tag) => `${base}:${tag}`)]
      if (imageTags.includes('latest')) names.push(base)
      const by = names.map((name) => users.get(name)).find(Boolean) ?? lists.get(`${repositoryName}@${imageDigest}`)
      if (by !== undefined) return used(by)
      const last = Math.max(timeOf(image.imagePushedAt) ?? session.now(), timeOf(image.lastRecordedPullTime) ?? 0)
      return session.now() - last < pulledDays * 86_400_000
        ? used(`a pull or push in the last ${pulledDays} days`)
        : unused(`nothing names it, and it was not pulled for ${pulledDays} days`, last)
    }
  },
  async remove(session, { repositoryName, imageDigest }) {
    const { sdk, client } = await ecr(session)
    const { failures = [] } = await client.send(
      new sdk.BatchDeleteImageCommand({ repositoryName, imageIds: [{ imageDigest }] }),
    )
    const [failure] = failures
    if (failure && failure.failureCode !== 'ImageNotFound')
      throw new Error(`${failure.failureCode}: ${failure.failureReason}`)
  },
})

/** By image as a container names it, with a digest where the container does: who uses it. */
async function imageUsers(evidence: Evidence): Promise<ReadonlyMap<string, string>> {
  const users = new Map<string, string>()
  // A name with tag and digest counts as both.
  const add = (image: string | undefined, by: string) => {
    const [, base = '', tag = '', digest = ''] = /^([^@]*?)(:[^/@]+)?(@.+)?$/.exec(image ?? '') ?? []
    for (const name of tag || digest ? [tag, digest].filter(Boolean) : ['']) users.set(`${base}${name}`, by)
  }
  for (const [image, by] of await evidence.clusters()) add(image, by)
  for (const session of await evidence.sessions()) {
    try {
      await addTaskDefinitions(session, add)
      await addFunctions(session, add)
    } catch (error) {
      throw inventoryError(`images used by ECS and Lambda in ${session.account}`, error)
    }
  }
  return users
}

type Add = (image: string | undefined, by: string) => void

async function addTaskDefinitions(session: AwsSession, add: Add): Promise<void> {
  const sdk = await import('@aws-sdk/client-ecs')
  const client = session.client(sdk.ECSClient)
  for await (const { taskDefinitionArns } of sdk.paginateListTaskDefinitions({ client }, { status: 'ACTIVE' }))
    await askEach(requireItems(taskDefinitionArns), async (taskDefinition) => {
      const { taskDefinition: found } = await client.send(new sdk.DescribeTaskDefinitionCommand({ taskDefinition }))
      for (const { image } of requireItems(found?.containerDefinitions)) add(image, `task definition ${found?.family}`)
    })
}

async function addFunctions(session: AwsSession, add: Add): Promise<void> {
  const sdk = await import('@aws-sdk/client-lambda')
  const client = session.client(sdk.LambdaClient)
  for await (const { Functions } of sdk.paginateListFunctions({ client }, {}))
    for (const { FunctionName, PackageType } of requireItems(Functions)) {
      if (PackageType !== 'Image') continue
      const { Code } = await client.send(new sdk.GetFunctionCommand({ FunctionName }))
      for (const image of [Code?.ImageUri, Code?.ResolvedImageUri]) add(image, `Lambda function ${FunctionName}`)
    }
}

/** The images that manifest lists hold: deleting one would break its list. */
async function listMembers(session: AwsSession, images: readonly ImageDetail[]): Promise<ReadonlyMap<string, string>> {
  const { sdk, client } = await ecr(session)
  const members = new Map<string, string>()
  for (const { repositoryName, imageDigest, imageTags = [], imageManifestMediaType = '' } of images) {
    if (!/manifest\.list|image\.index/.test(imageManifestMediaType)) continue
    const { images: found } = await client
      .send(new sdk.BatchGetImageCommand({ repositoryName, imageIds: [{ imageDigest }] }))
      .catch((error: unknown) => {
        throw inventoryError(`manifest lists of ${session.account}`, error)
      })
    const [image] = requireItems(found)
    const { manifests } = JSON.parse(image?.imageManifest ?? '{}') as { manifests?: { digest: string }[] }
    for (const { digest } of requireItems(manifests))
      members.set(`${repositoryName}@${digest}`, `manifest list ${imageTags[0] ?? imageDigest}`)
  }
  return members
}
