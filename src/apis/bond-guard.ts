import type { KubeObject } from '../kube/object.ts'
import { bond, grantAnnotation, holdFinalizer, seedFinalizer, type Bond } from './bond.ts'

/** Whether a Bond protects its dependency now: the dependency has been found, and a dependent exists. */
export function isGuarding({ status }: Bond): boolean {
  return status?.phase === 'Active' && (status.dependents ?? 0) > 0 && status.dependencyUid !== undefined
}

/**
 * The namespace in the Bond's own cluster that must not be deleted because of it, if any. Deleted, it would stay
 * Terminating with the held or denied object inside, or lose its contents while it waits itself.
 */
export function guardedNamespace(bond: Bond): string | undefined {
  return bond.spec.dependency.cluster ? undefined : keptNamespace(bond)
}

/** The same in any cluster. Without the permission of a remote namespace, the Bond does not protect it there. */
export function keptNamespace(bond: Bond): string | undefined {
  const { onDelete } = bond.spec
  return isGuarding(bond) && (onDelete === 'Deny' || onDelete === 'Hold') ? bond.status?.dependencyNamespace : undefined
}

/** Reason of a Hold or Deny Bond without permission in a remote cluster: only Sojourn's own deletions respect it. */
export const boundHere = 'BoundHere'

/** Whether a Bond forbids the deletion of an object: its denied dependency, or the namespace it protects. */
export function refusesDeletion(bond: Bond, { apiVersion, kind, metadata }: KubeObject): boolean {
  const { spec, status } = bond
  if (apiVersion === 'v1' && kind === 'Namespace' && guardedNamespace(bond) === metadata.name) return true
  return (
    spec.onDelete === 'Deny' && isGuarding(bond) && !spec.dependency.cluster && status?.dependencyUid === metadata.uid
  )
}

/** Whether the deletion of an object waits for Bonds. */
export function isHeldByBond({ metadata }: KubeObject): boolean {
  return metadata.finalizers?.some((finalizer) => finalizer === holdFinalizer || finalizer === seedFinalizer) ?? false
}

/** Whether an object is a Bond. */
export function isBond({ apiVersion, kind }: KubeObject): boolean {
  return kind === bond.kind && apiVersion.startsWith(`${bond.group}/`)
}

/** The Bonds as a rejection message lists them: at most ten, with their cluster if it is a remote one. */
export function namesOf(bonds: readonly Bond[], origin = ''): string {
  const there = origin === '' ? '' : ` of cluster ${origin}`
  const names = bonds
    .map(
      ({ metadata, spec }) => `${metadata.namespace}/${metadata.name}${there}${spec.reason ? ` (${spec.reason})` : ''}`,
    )
    .toSorted()
  // Annotations are limited in size: a list that is too long could not be written at all.
  const more = names.length > maxNames ? [`${names.length - maxNames} more`] : []
  return [...names.slice(0, maxNames), ...more].join(', ')
}

const maxNames = 10

/**
 * Whether a namespace or cluster-scoped object permits Bonds of a namespace to hold or deny deletions in it. Bonds of
 * another cluster need an entry with its ID: a permission for local namespaces does not cover them.
 */
export function grants(grantor: KubeObject | undefined, namespace = '', origin = ''): boolean {
  const allowed = (grantor?.metadata.annotations?.[grantAnnotation] ?? '').split(',').map((name) => name.trim())
  return ['*', namespace].some((name) => allowed.includes(permissionEntry(name, origin)))
}

/** The entry of `sojourn.dev/allow-bonds-from` for Bonds of a namespace. */
export function permissionEntry(namespace: string, origin: string): string {
  return origin === '' ? namespace : `${origin}/${namespace}`
}
