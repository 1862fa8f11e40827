import type { Image } from '@aws-sdk/client-ec2'
import { applicationOf, tagsOf, timeOf, type AwsThing, type AwsType } from '../aws-type.ts'
import { tagEc2 } from '../ec2-tags.ts'
import { ownImages, type Evidence } from '../evidence.ts'
import type { AwsSession } from '../session.ts'

/** Machine images of our own. In use when anything in any known account of the region may start from them. */
export const imageType: AwsType = {
  name: 'image',
  absent: ['InvalidAMIID.NotFound', 'InvalidAMIID.Unavailable'],

  async list(session) {
    return (await ownImages(session)).map((image) => thingOf(image, session))
  },

  async read(session, id) {
    const { sdk, ec2 } = session
    const { Images = [] } = await ec2.send(new sdk.ec2.DescribeImagesCommand({ ImageIds: [id] }))
    const [image] = Images
    return image && image.State !== 'deregistered' ? thingOf(image, session) : undefined
  },

  async detect(evidence) {
    const used = await imagesInUse(evidence)
    evidence.references += used.size
    return ({ id }) => {
      const by = used.get(id)
      return by === undefined
        ? { state: 'unused', because: 'no instance, launch configuration or template uses it' }
        : { state: 'used', by }
    }
  },

  async remove({ sdk, ec2 }, { id }) {
    await ec2.send(new sdk.ec2.DeregisterImageCommand({ ImageId: id }))
  },

  tag: tagEc2,
}

async function imagesInUse(evidence: Evidence): Promise<ReadonlyMap<string, string>> {
  const used = new Map<string, string>()
  const add = (image: string | undefined, by: string) => image !== undefined && used.set(image, by)
  for (const session of await evidence.sessions()) {
    for (const { ImageId, InstanceId } of await evidence.instances(session)) add(ImageId, `instance ${InstanceId}`)
    for (const { ImageId, LaunchConfigurationName } of await evidence.launchConfigurations(session))
      add(ImageId, `launch configuration ${LaunchConfigurationName}`)
    for (const { LaunchTemplateData, LaunchTemplateName } of await evidence.templateVersions(session))
      add(LaunchTemplateData?.ImageId, `launch template ${LaunchTemplateName}`)
  }
  return used
}

function thingOf(image: Image, { accountId }: AwsSession): AwsThing {
  const id = image.ImageId ?? ''
  const foreign = image.OwnerId !== undefined && accountId !== '' && image.OwnerId !== accountId
  return {
    id,
    uid: id,
    createdAt: timeOf(image.CreationDate),
    tags: tagsOf(image.Tags),
    raw: image,
    group: applicationOf(image.Name),
    facts: { name: image.Name, grouping: 'package' },
    shield: foreign ? { because: 'shielded', detail: `it belongs to account ${image.OwnerId}` } : undefined,
  }
}
