import type { KubeObject } from '../kube/object.ts'
import { bond, grantAnnotation, holdFinalizer, seedFinalizer, type Bond } from './bond.ts'

/** Whether a Bond protects what it needs at the moment: pinned, and something that needs it is there. */
export function isGuarding({ status }: Bond): boolean {
  return status?.phase === 'Active' && (status.dependents ?? 0) > 0 && status.dependencyUid !== undefined
}

/**
 * The namespace that a Bond keeps whole, if it keeps one in its own cluster: with something held or refused inside it would hang half deleted, and one that
 * is itself to wait would be emptied while it does.
 */
export function guardedNamespace(bond: Bond): string | undefined {
  return bond.spec.dependency.cluster ? undefined : keptNamespace(bond)
}

/** The same in whichever cluster; in another, one that has no leave keeps nothing. */
export function keptNamespace(bond: Bond): string | undefined {
  const { onDelete } = bond.spec
  return isGuarding(bond) && (onDelete === 'Deny' || onDelete === 'Hold') ? bond.status?.dependencyNamespace : undefined
}

/** Reason of a Bond that holds or denies something in another cluster without leave: it binds our own door alone. */
export const boundHere = 'BoundHere'

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

/** Bonds as the one who is refused should read them, the first of many; with the cluster they are in where that is another. */
export function namesOf(bonds: readonly Bond[], origin = ''): string {
  const there = origin === '' ? '' : ` of cluster ${origin}`
  const names = bonds
    .map(
      ({ metadata, spec }) => `${metadata.namespace}/${metadata.name}${there}${spec.reason ? ` (${spec.reason})` : ''}`,
    )
    .toSorted()
  // An annotation has room for so much; where all of them did not fit, none would be said.
  const more = names.length > mostNames ? [`${names.length - mostNames} more`] : []
  return [...names.slice(0, mostNames), ...more].join(', ')
}

const mostNames = 10

/**
 * Whether a namespace, or a cluster-scoped object, lets Bonds of this namespace hold up deletions in it. Those of another cluster are named with its id:
 * no leave that was given here is theirs.
 */
export function grants(grantor: KubeObject | undefined, namespace = '', origin = ''): boolean {
  const allowed = (grantor?.metadata.annotations?.[grantAnnotation] ?? '').split(',').map((name) => name.trim())
  return ['*', namespace].some((name) => allowed.includes(leaveOf(name, origin)))
}

/** How leave for Bonds of a namespace is written. */
export function leaveOf(namespace: string, origin: string): string {
  return origin === '' ? namespace : `${origin}/${namespace}`
}
