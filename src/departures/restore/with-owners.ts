import { holdFinalizer, seedFinalizer, type BondSpec } from '../../apis/bond.ts'
import { isBond } from '../../apis/bond-guard.ts'
import type { KubeObject, OwnerReference } from '../../kube/object.ts'

/**
 * A manifest as it may be created: its owners by their new uids, none whose new uid is unknown, no finalizers of a deletion; and a Bond to the very object that
 * it named as that is now.
 */
export function withOwners(manifest: KubeObject, newUid: (uid: string) => string | undefined): KubeObject {
  const { ownerReferences = [], finalizers = [], ...metadata } = manifest.metadata
  const owners = ownerReferences.flatMap((owner): OwnerReference[] => {
    const uid = newUid(owner.uid)
    return uid === undefined ? [] : [{ ...owner, uid }]
  })
  const kept = finalizers.filter((finalizer) => !deletionFinalizers.has(finalizer))
  return {
    ...manifest,
    ...renewedBond(manifest, newUid),
    metadata: {
      ...metadata,
      ...(owners.length > 0 ? { ownerReferences: owners } : {}),
      ...(kept.length > 0 ? { finalizers: kept } : {}),
    },
  }
}

/** The uid of the very object that a Bond names, if it names one. */
export function neededBy(manifest: KubeObject): string | undefined {
  return isBond(manifest) ? (manifest.spec as BondSpec).dependency.uid : undefined
}

function renewedBond(manifest: KubeObject, newUid: (uid: string) => string | undefined): { readonly spec?: BondSpec } {
  const needed = neededBy(manifest)
  const uid = needed === undefined ? undefined : newUid(needed)
  const spec = manifest.spec as BondSpec
  return uid === undefined ? {} : { spec: { ...spec, dependency: { ...spec.dependency, uid } } }
}

/** What a server or a Bond puts on something for the time of its deletion; a Bond that is still there puts its own on again. */
const deletionFinalizers = new Set([
  'foregroundDeletion',
  'orphan',
  seedFinalizer,
  holdFinalizer,
  'customresourcecleanup.apiextensions.k8s.io',
])
