import { holdFinalizer, seedFinalizer, type BondSpec } from '../../apis/bond.ts'
import { isBond } from '../../apis/bond-guard.ts'
import type { KubeObject, OwnerReference } from '../../kube/object.ts'

/**
 * A manifest with the new uids of its owners, and of the dependency that a Bond names by uid. Owners without a new uid, and finalizers that only a deletion
 * adds, are left out.
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

/** The uid of the dependency, if the manifest is a Bond that names one by uid. */
export function neededBy(manifest: KubeObject): string | undefined {
  return isBond(manifest) ? (manifest.spec as BondSpec).dependency.uid : undefined
}

function renewedBond(manifest: KubeObject, newUid: (uid: string) => string | undefined): { readonly spec?: BondSpec } {
  const needed = neededBy(manifest)
  const uid = needed === undefined ? undefined : newUid(needed)
  const spec = manifest.spec as BondSpec
  return uid === undefined ? {} : { spec: { ...spec, dependency: { ...spec.dependency, uid } } }
}

/** Finalizers that a server or a Bond adds for a deletion. A Bond that still exists adds its own again. */
const deletionFinalizers = new Set([
  'foregroundDeletion',
  'orphan',
  seedFinalizer,
  holdFinalizer,
  'customresourcecleanup.apiextensions.k8s.io',
])
