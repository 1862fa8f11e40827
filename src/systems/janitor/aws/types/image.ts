import type { Image } from '@aws-sdk/client-ec2'
import { isAbsent } from '../read/aws-subject.ts'
import { applicationOf, backupShield, tagsOf, timeOf, type AwsResource, type AwsType } from '../read/aws-type.ts'
import { tagEc2 } from '../read/ec2-tags.ts'
import { ownImages, type Evidence } from '../read/evidence.ts'
import { inventoryError } from '../read/listing.ts'
import type { AwsSession } from '../read/session.ts'

/** The account's own machine images. In use when any known account of the region can start an instance from them. */
export const imageType: AwsType = {
  name: 'image',
  absent: ['InvalidAMIID.NotFound', 'InvalidAMIID.Unavailable'],

  async list(session) {
    return (await ownImages(session)).map((image) => toResource(image, session))
  },

  async read(session, id) {
    const { sdk, ec2 } = session
    const { Images = [] } = await ec2.send(new sdk.ec2.DescribeImagesCommand({ ImageIds: [id] }))
    const [image] = Images
    return image && image.State !== 'deregistered' ? toResource(image, session) : undefined
  },

  async detect(evidence) {
    const used = await imagesInUse(evidence)
    evidence.references += used.size
    const sharers = await unknownAccounts(evidence, (id) => !used.has(id))
    return ({ id }) => {
      const by = used.get(id)
      if (by !== undefined) return { state: 'used', by }
      const who = sharers.get(id)
      return who === undefined
        ? { state: 'unused', because: 'no instance, launch configuration or template uses it' }
        : { state: 'unknown', because: `it is shared with ${who}, where Sojourn cannot see its use` }
    }
  },

  async remove({ sdk, ec2 }, { id }) {
    await ec2.send(new sdk.ec2.DeregisterImageCommand({ ImageId: id }))
  },

  tag: tagEc2,
}

/** The users of each image, one per type of user: Swabbie's rules ask about each type. */
async function imagesInUse(evidence: Evidence): Promise<ReadonlyMap<string, string>> {
  const used = new Map<string, string>()
  const types = new Map<string, Set<string>>()
  const add = (image: string | undefined, type: string, name: string | undefined) => {
    if (image === undefined) return
    const known = types.get(image) ?? new Set()
    if (known.has(type)) return
    types.set(image, known.add(type))
    const former = used.get(image)
    used.set(image, `${former === undefined ? '' : `${former}, `}${type} ${name}`)
  }
  for (const session of await evidence.sessions()) {
    for (const { ImageId, InstanceId } of await evidence.instances(session)) add(ImageId, 'instance', InstanceId)
    for (const { ImageId, LaunchConfigurationName } of await evidence.launchConfigurations(session))
      add(ImageId, 'launch configuration', LaunchConfigurationName)
    for (const { LaunchTemplateData, LaunchTemplateName } of await evidence.templateVersions(session))
      add(LaunchTemplateData?.ImageId, 'launch template', LaunchTemplateName)
  }
  return used
}

/** By image: an account, organization or group without a ProviderAccount that may start instances from it. */
async function unknownAccounts(
  evidence: Evidence,
  isAsked: (id: string) => boolean,
): Promise<ReadonlyMap<string, string>> {
  const known = new Set((await evidence.sessions()).map(({ accountId }) => accountId))
  const asked = (await evidence.images()).flatMap(({ ImageId = '' }) => (isAsked(ImageId) ? [ImageId] : []))
  const sharers = new Map<string, string>()
  for (let start = 0; start < asked.length; start += maxConcurrent)
    await Promise.all(
      asked.slice(start, start + maxConcurrent).map(async (id) => {
        const shared = await sharedWith(evidence.session, id)
        const sharer = shared.find((who) => !known.has(who))
        if (sharer !== undefined) sharers.set(id, sharer)
      }),
    )
  return sharers
}

const maxConcurrent = 10

/** Accounts, organizations and groups that may start instances from an image. */
async function sharedWith({ sdk, ec2, account }: AwsSession, id: string): Promise<readonly string[]> {
  try {
    const { LaunchPermissions } = await ec2.send(
      new sdk.ec2.DescribeImageAttributeCommand({ ImageId: id, Attribute: 'launchPermission' }),
    )
    if (!LaunchPermissions) throw new Error('the response has no LaunchPermissions')
    return LaunchPermissions.map(
      ({ UserId, Group, OrganizationArn, OrganizationalUnitArn }) =>
        UserId ?? OrganizationArn ?? OrganizationalUnitArn ?? `group ${Group}`,
    )
  } catch (error) {
    if (isAbsent(imageType, error)) return []
    throw inventoryError(`launch permissions of images of ${account}`, error)
  }
}

function toResource(image: Image, { accountId }: AwsSession): AwsResource {
  const id = image.ImageId ?? ''
  const tags = tagsOf(image.Tags)
  const foreign = image.OwnerId !== undefined && accountId !== '' && image.OwnerId !== accountId
  return {
    id,
    uid: id,
    createdAt: timeOf(image.CreationDate),
    tags,
    raw: image,
    group: applicationOf(image.Name),
    facts: { name: image.Name, grouping: 'package' },
    shield: foreign ? { because: 'shielded', detail: `it belongs to account ${image.OwnerId}` } : backupShield(tags),
  }
}
