import type { StoredObject } from '../kube/object.ts'
import { grantAnnotation, type Bond } from './bond.ts'

/** Whether a Bond protects what it needs at the moment: pinned, and something that needs it is there. */
export function isGuarding({ status }: Bond): boolean {
  return status?.phase === 'Active' && (status.dependents ?? 0) > 0 && status.dependencyUid !== undefined
}

/** Whether a Bond keeps the whole namespace of what it needs: one that goes with something held or refused inside would hang half deleted. */
export function guardsNamespace(bond: Bond): boolean {
  const { onDelete, dependency } = bond.spec
  return isGuarding(bond) && (onDelete === 'Deny' || onDelete === 'Hold') && !dependency.cluster
}

/** The namespace of what a Bond needs, if that has one. */
export function guardedNamespace({ spec, metadata }: Bond): string {
  return spec.dependency.namespace ?? metadata.namespace ?? ''
}

/** Bonds as the one who is refused should read them. */
export function namesOf(bonds: readonly Bond[]): string {
  return bonds
    .map(({ metadata, spec }) => `${metadata.namespace}/${metadata.name}${spec.reason ? ` (${spec.reason})` : ''}`)
    .toSorted()
    .join(', ')
}

/** Whether a namespace, or a cluster-scoped object, lets Bonds of this namespace hold up deletions in it. */
export function grants(grantor: StoredObject | undefined, namespace = ''): boolean {
  const allowed = (grantor?.metadata.annotations?.[grantAnnotation] ?? '').split(',').map((name) => name.trim())
  return allowed.includes('*') || allowed.includes(namespace)
}
