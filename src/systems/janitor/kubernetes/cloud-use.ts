import { apiVersionOf, type StoredObject } from '../../../kube/object.ts'
import { discovered } from './detection.ts'
import { kindAndName } from './references/detector.ts'
import { containersOf, podSourceKinds, podSources } from './references/pod-specs.ts'
import { referrerTypes } from './references/referrer-types.ts'
import type { ClusterSources } from './cluster-sources.ts'

interface VolumeSource {
  readonly csi?: { readonly volumeHandle?: string }
  readonly awsElasticBlockStore?: { readonly volumeID?: string }
}

interface SnapshotContent {
  readonly spec?: { readonly source?: { readonly snapshotHandle?: string } }
  readonly status?: { readonly snapshotHandle?: string }
}

/** A cluster whose objects may use a cloud. */
export type CloudUser = Pick<ClusterSources, 'client' | 'list'>

/**
 * The object that uses each image, as containers name it, and each volume and snapshot, by its id: from the Pods, their templates,
 * PersistentVolumes and VolumeSnapshotContents of clusters. Throws InventoryError when one cannot be listed.
 */
export async function cloudUseOf(
  clusters: readonly CloudUser[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const users = new Map<string, string>()
  for (const sources of clusters) {
    const list = (kind: keyof typeof referrerTypes) => sources.list(referrerTypes[kind], undefined, signal)
    const lists = new Map(await Promise.all(podSourceKinds.map(async (kind) => [kind, await list(kind)] as const)))
    for (const { owner, spec } of podSources({
      list: (kind) => lists.get(kind as (typeof podSourceKinds)[number]) ?? [],
    }))
      for (const { image } of containersOf(spec)) if (image) users.set(image, kindAndName(owner))
    for (const volume of await list('persistentvolumes')) {
      const { csi, awsElasticBlockStore } = (volume.spec ?? {}) as VolumeSource
      // In-tree volumes are named `aws://eu-west-1a/vol-0123`.
      const id = csi?.volumeHandle ?? awsElasticBlockStore?.volumeID?.split('/').at(-1)
      if (id) users.set(id, kindAndName(volume))
    }
    // Contents that a person wrote name their snapshot in the spec, and the snapshot has no tag of a cluster.
    for (const content of await snapshotContents(sources, signal)) {
      const { spec, status } = content as SnapshotContent
      for (const id of [spec?.source?.snapshotHandle, status?.snapshotHandle])
        if (id) users.set(id, kindAndName(content))
    }
  }
  return users
}

/** None where the cluster has no snapshot controller. */
async function snapshotContents(sources: CloudUser, signal: AbortSignal): Promise<readonly StoredObject[]> {
  const type = referrerTypes.volumesnapshotcontents
  const { discovery } = sources.client
  const served = await discovered(() => discovery.typeOf({ apiVersion: apiVersionOf(type), kind: type.kind }))
  return served ? sources.list(type, undefined, signal) : []
}
