import type { Snapshot } from '@aws-sdk/client-ec2'
import { unused, used } from '../../model/resource.ts'
import { backupShield, tagsOf, timeOf } from '../read/aws-type.ts'
import { defineType } from '../read/define-type.ts'
import { tagEc2 } from '../read/ec2-tags.ts'
import type { Evidence } from '../read/evidence.ts'
import { listCompletely, requireItems } from '../read/listing.ts'
import type { AwsSession } from '../read/session.ts'

/**
 * The account's own snapshots. In use when an image, a launch configuration or a launch template maps them, or a VolumeSnapshotContent of a known
 * cluster names them; another account may restore those it shares.
 */
export const snapshotType = defineType<Snapshot>({
  name: 'snapshot',
  absent: ['InvalidSnapshot.NotFound'],

  tag: tagEc2,
  all: ({ sdk, ec2: client, account }) =>
    listCompletely({ what: `snapshots of ${account}`, pageSize: 1000, items: 'Snapshots' }, (pageSize: number) =>
      sdk.ec2.paginateDescribeSnapshots({ client, pageSize }, { OwnerIds: ['self'] }),
    ),
  one: async ({ sdk, ec2 }, id) =>
    (await ec2.send(new sdk.ec2.DescribeSnapshotsCommand({ SnapshotIds: [id] }))).Snapshots?.[0],
  describe(snapshot) {
    const id = snapshot.SnapshotId ?? ''
    const tags = tagsOf(snapshot.Tags)
    const createdAt = timeOf(snapshot.StartTime)
    return { id, uid: id, createdAt, tags, raw: snapshot, facts: { grouping: 'package' }, shield: backupShield(tags) }
  },
  async use(evidence) {
    const users = await snapshotsInUse(evidence)
    const contents = await evidence.clusters()
    evidence.references += users.size
    const asked = (await this.all(evidence.session)).flatMap(({ SnapshotId = '' }) =>
      users.has(SnapshotId) || contents.has(SnapshotId) ? [] : [SnapshotId],
    )
    const shared = await evidence.sharedUse(asked, (id) => sharedWith(evidence.session, id))
    return ({ SnapshotId = '', State }) => {
      if (State === 'pending') return used('its pending creation')
      const by = users.get(SnapshotId) ?? contents.get(SnapshotId)
      return by === undefined
        ? (shared.get(SnapshotId) ?? unused('no image maps it, and no VolumeSnapshotContent names it'))
        : used(by)
    }
  },
  remove: ({ sdk, ec2 }, { SnapshotId }) => ec2.send(new sdk.ec2.DeleteSnapshotCommand({ SnapshotId })),
})

/** Accounts and groups that may create volumes from a snapshot. */
async function sharedWith({ sdk, ec2 }: AwsSession, SnapshotId: string): Promise<readonly (string | undefined)[]> {
  const { CreateVolumePermissions } = await ec2.send(
    new sdk.ec2.DescribeSnapshotAttributeCommand({ SnapshotId, Attribute: 'createVolumePermission' }),
  )
  return requireItems(CreateVolumePermissions).map(({ UserId, Group }) => UserId ?? Group)
}

async function snapshotsInUse(evidence: Evidence): Promise<ReadonlyMap<string, string>> {
  const used = new Map<string, string>()
  const add = (
    mappings: readonly { Ebs?: { SnapshotId?: string | undefined } | undefined }[] | undefined,
    by: string,
  ) => {
    for (const { Ebs } of mappings ?? []) if (Ebs?.SnapshotId) used.set(Ebs.SnapshotId, by)
  }
  for (const { BlockDeviceMappings, ImageId } of await evidence.images()) add(BlockDeviceMappings, `image ${ImageId}`)
  for (const { BlockDeviceMappings, LaunchConfigurationName } of await evidence.launchConfigurations())
    add(BlockDeviceMappings, `launch configuration ${LaunchConfigurationName}`)
  for (const { LaunchTemplateData, LaunchTemplateName } of await evidence.templateVersions())
    add(LaunchTemplateData?.BlockDeviceMappings, `launch template ${LaunchTemplateName}`)
  return used
}
