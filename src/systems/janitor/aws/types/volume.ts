import type { Volume } from '@aws-sdk/client-ec2'
import { backupShield, tagsOf, timeOf } from '../read/aws-type.ts'
import { unused, used } from '../../model/resource.ts'
import { defineType } from '../read/define-type.ts'
import { tagEc2 } from '../read/ec2-tags.ts'
import { listCompletely } from '../read/listing.ts'

/**
 * EBS volumes. In use while attached, or while a PersistentVolume of a known cluster names them: the volume of a workload scaled to zero is attached to
 * nothing.
 */
export const volumeType = defineType<Volume>({
  name: 'volume',
  absent: ['InvalidVolume.NotFound'],
  tag: tagEc2,
  all: ({ sdk, ec2: client, account }) =>
    listCompletely({ what: `volumes of ${account}`, pageSize: 500, items: 'Volumes' }, (pageSize: number) =>
      sdk.ec2.paginateDescribeVolumes({ client, pageSize }, {}),
    ),
  one: async ({ sdk, ec2 }, id) =>
    (await ec2.send(new sdk.ec2.DescribeVolumesCommand({ VolumeIds: [id] }))).Volumes?.[0],
  describe(volume) {
    const tags = tagsOf(volume.Tags)
    const id = volume.VolumeId ?? ''
    return { id, uid: id, createdAt: timeOf(volume.CreateTime), tags, raw: volume, shield: backupShield(tags) }
  },
  async use(evidence) {
    const volumes = await evidence.clusters()
    return ({ VolumeId = '', State, Attachments: [attachment] = [] }) => {
      if (attachment) return used(`instance ${attachment.InstanceId}`)
      if (State !== 'available') return used(`its state ${State}`)
      const owner = volumes.get(VolumeId)
      return owner === undefined ? unused('it is attached to no instance') : used(owner)
    }
  },
  remove: ({ sdk, ec2 }, { VolumeId }) => ec2.send(new sdk.ec2.DeleteVolumeCommand({ VolumeId })),
})
