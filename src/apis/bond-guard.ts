import type { KubeObject } from '../kube/object.ts'
import { bond, grantAnnotation, holdFinalizer, seedFinalizer, type Bond } from './bond.ts'

/** Whether a Bond protects what it needs at the moment: pinned, and something that needs it is there. */
export function isGuarding({ status }: Bond): boolean {
  return status?.phase === 'Active' && (status.dependents ?? 0) > 0 && status.dependencyUid !== undefined
}

/**
 * The namespace that a Bond keeps whole, if it keeps one: with something held or refused inside it would hang half deleted, and one that is itself to wait
 * would be emptied while it does.
 */
export function guardedNamespace(bond: Bond): string | undefined {
  const { onDelete, dependency } = bond.spec
  const keeps = isGuarding(bond) && (onDelete === 'Deny' || onDelete === 'Hold') && !dependency.cluster
  return keeps ? bond.status?.dependencyNamespace : undefined
}

/** Whether nobody may delete an object because of a Bond: it is what the Bond denies, or the namespace that it keeps. */
export function refusesDeletion(bond: Bond, { apiVersion, kind, metadata }: KubeObject): boolean {
  const { spec, status } = bond
  if (apiVersion === 'v1' && kind === 'Namespace' && guardedNamespace(bond) === metadata.name) return true
  return (
    spec.onDelete === 'Deny' && isGuarding(bond) && !spec.dependency.cluster && status?.dependencyUid === metadata.uid
  )
}

/** Whether an object has to wait for Bonds when it leaves. */
export function isHeldByBond({ metadata }: KubeObject): boolean {
  return metadata.finalizers?.some((finalizer) => finalizer === holdFinalizer || finalizer === seedFinalizer) ?? false
}

/** Whether an object is a Bond. */
export function isBond({ apiVersion, kind }: KubeObject): boolean {
  return kind === bond.kind && apiVersion.startsWith(`${bond.group}/`)
}

/** Bonds as the one who is refused should read them. */
export function namesOf(bonds: readonly Bond[]): string {
  return bonds
    .map(({ metadata, spec }) => `${metadata.namespace}/${metadata.name}${spec.reason ? ` (${spec.reason})` : ''}`)
    .toSorted()
    .join(', ')
}

/** Whether a namespace, or a cluster-scoped object, lets Bonds of this namespace hold up deletions in it. */
export function grants(grantor: KubeObject | undefined, namespace = ''): boolean {
  const allowed = (grantor?.metadata.annotations?.[grantAnnotation] ?? '').split(',').map((name) => name.trim())
  return allowed.includes('*') || allowed.includes(namespace)
}
