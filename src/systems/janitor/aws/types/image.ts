import type { Image } from '@aws-sdk/client-ec2'
import { unused, used } from '../../model/resource.ts'
import { isAbsent } from '../read/aws-subject.ts'
import { applicationOf, backupShield, tagsOf, timeOf, type AwsResource, type AwsType } from '../read/aws-type.ts'
import { defineType } from '../read/define-type.ts'
import { tagEc2 } from '../read/ec2-tags.ts'
import { ownImages, type Evidence } from '../read/evidence.ts'
import { requireItems } from '../read/listing.ts'
import type { AwsSession } from '../read/session.ts'

/** The account's own machine images. In use when any known account of the region can start an instance from them. */
export const imageType: AwsType = defineType<Image>({
  name: 'image',
  absent: ['InvalidAMIID.NotFound', 'InvalidAMIID.Unavailable'],
  tag: tagEc2,
  all: (session) => ownImages(session),
  async one({ sdk, ec2 }, id) {
    const { Images = [] } = await ec2.send(new sdk.ec2.DescribeImagesCommand({ ImageIds: [id] }))
    return Images.find(({ State }) => State !== 'deregistered')
  },
  describe: toResource,
  async use(evidence) {
    const users = await imagesInUse(evidence)
    evidence.references += users.size
    const asked = (await evidence.images()).flatMap(({ ImageId = '' }) => (users.has(ImageId) ? [] : [ImageId]))
    const shared = await evidence.sharedUse(asked, (id) => sharedWith(evidence.session, id))
    return ({ ImageId = '' }) => {
      const by = users.get(ImageId)
      if (by !== undefined) return used(by)
      return shared.get(ImageId) ?? unused('no instance, launch configuration or template uses it')
    }
  },
  remove: ({ sdk, ec2 }, { ImageId }) => ec2.send(new sdk.ec2.DeregisterImageCommand({ ImageId })),
})

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

/** Accounts, organizations and groups that may start instances from an image. */
async function sharedWith({ sdk, ec2 }: AwsSession, id: string): Promise<readonly (string | undefined)[]> {
  const { LaunchPermissions } = await ec2
    .send(new sdk.ec2.DescribeImageAttributeCommand({ ImageId: id, Attribute: 'launchPermission' }))
    .catch((error: unknown) => {
      if (isAbsent(imageType, error)) return { LaunchPermissions: [] }
      throw error
    })
  return requireItems(LaunchPermissions).map(
    ({ UserId, Group, OrganizationArn, OrganizationalUnitArn }) =>
      UserId ?? OrganizationArn ?? OrganizationalUnitArn ?? Group,
  )
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
