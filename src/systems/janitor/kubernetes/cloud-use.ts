import { kindAndName } from './references/detector.ts'
import { containersOf, podSourceKinds, podSources } from './references/pod-specs.ts'
import { referrerTypes } from './references/referrer-types.ts'
import type { ClusterSources } from './cluster-sources.ts'

interface VolumeSource {
  readonly csi?: { readonly volumeHandle?: string }
  readonly awsElasticBlockStore?: { readonly volumeID?: string }
}

/**
 * The object that uses each image, as containers name it, and each volume, by its id: from the Pods, their templates and PersistentVolumes of
 * clusters. Throws InventoryError when one cannot be listed.
 */
export async function cloudUseOf(
  clusters: readonly ClusterSources[],
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
  }
  return users
}
