import type { Snapshot } from '@aws-sdk/client-ec2'
import { backupShield, tagsOf, timeOf, type AwsResource, type AwsType } from '../read/aws-type.ts'
import { tagEc2 } from '../read/ec2-tags.ts'
import type { Evidence } from '../read/evidence.ts'
import { listCompletely } from '../read/listing.ts'

/** The account's own snapshots. In use when an image, a launch configuration or a launch template maps them. */
export const snapshotType: AwsType = {
  name: 'snapshot',
  absent: ['InvalidSnapshot.NotFound'],

  async list({ sdk, ec2: client, account }) {
    const snapshots = await listCompletely({
      what: `snapshots of ${account}`,
      pageSize: 1000,
      pages: (pageSize) => sdk.ec2.paginateDescribeSnapshots({ client, pageSize }, { OwnerIds: ['self'] }),
      items: ({ Snapshots }) => Snapshots,
    })
    return snapshots.map(toResource)
  },

  async read({ sdk, ec2 }, id) {
    const { Snapshots = [] } = await ec2.send(new sdk.ec2.DescribeSnapshotsCommand({ SnapshotIds: [id] }))
    return Snapshots[0] && toResource(Snapshots[0])
  },

  async detect(evidence) {
    const used = await snapshotsInUse(evidence)
    evidence.references += used.size
    return ({ id, raw }) => {
      if ((raw as Snapshot).State === 'pending') return { state: 'used', by: 'its pending creation' }
      const by = used.get(id)
      return by === undefined ? { state: 'unused', because: 'no image maps it' } : { state: 'used', by }
    }
  },

  async remove({ sdk, ec2 }, { id }) {
    await ec2.send(new sdk.ec2.DeleteSnapshotCommand({ SnapshotId: id }))
  },

  tag: tagEc2,
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

function toResource(snapshot: Snapshot): AwsResource {
  const id = snapshot.SnapshotId ?? ''
  const tags = tagsOf(snapshot.Tags)
  return {
    id,
    uid: id,
    createdAt: timeOf(snapshot.StartTime),
    tags,
    raw: snapshot,
    facts: { grouping: 'package' },
    shield: backupShield(tags),
  }
}
