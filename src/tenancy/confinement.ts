import { sojournNamespace } from '../apis/group.ts'
import type { ResourceType } from '../kube/object.ts'

/** One request that a controller wants to make for an object, in the words of RBAC. */
export interface Access {
  readonly verb: string
  readonly group: string
  /** The plural. */
  readonly resource: string
  readonly subresource?: string
  /** Empty for cluster-scoped resources. */
  readonly namespace: string
  /** Empty for every object of the resource. */
  readonly name: string
}

/** A request for one object of a type, or without a name for all of them. */
export function accessTo(
  verb: string,
  { group, plural, namespaced }: ResourceType,
  { namespace = '', name = '' }: { readonly namespace?: string; readonly name?: string },
): Access {
  return { verb, group, resource: plural, namespace: namespaced ? namespace : '', name }
}

export interface Confinement {
  /** The namespace of the object that asks. */
  readonly home: string
  /** Whether the object may delete its own Namespace. */
  readonly ownNamespace?: boolean
  /** Whether the object may read in other namespaces, once its identity is checked there. */
  readonly readsElsewhere?: boolean
  /** Whether it may delete in other namespaces what belongs to it by its own annotations, once its identity is checked there. */
  readonly deletesElsewhere?: boolean
  /** Whether the API server itself checks the request, as the identity that is impersonated. */
  readonly isImpersonated?: boolean
}

/**
 * Why an object may never make this request, even if its creator may; undefined when it may, if its creator may.
 * Objects in Sojourn's own namespace belong to administrators and are not confined.
 */
export function confinementFault(access: Access, confinement: Confinement): string | undefined {
  const { home, readsElsewhere = false, deletesElsewhere = false, isImpersonated = false } = confinement
  if (home === sojournNamespace) return undefined
  if (isRead(access)) {
    if (access.namespace === home || readsElsewhere || isOwnNamespace(access, confinement)) return undefined
    return `it may only read in its own namespace ${home}`
  }
  if (isSystemNamespace(home)) return `nothing in ${home} may be changed for it`
  if (deletesElsewhere && access.verb === 'delete' && !isSystemNamespace(access.namespace)) return undefined
  if (access.namespace === '' && !isOwnNamespace(access, confinement))
    return `${access.resource} are cluster-scoped, and it may only change objects of its own namespace ${home}`
  if (access.namespace !== '' && access.namespace !== home)
    return `it may only change objects of its own namespace ${home}, not of ${access.namespace}`
  if (access.verb !== 'delete' && grantsRights(access) && !isImpersonated)
    return `${access.resource} grant rights: they are only created or changed for an object with spec.serviceAccountName`
  return undefined
}

/** Verbs that change nothing. */
export function isRead({ verb }: Pick<Access, 'verb'>): boolean {
  return verb === 'get' || verb === 'list' || verb === 'watch'
}

/** Namespaces of the cluster's own components. */
function isSystemNamespace(namespace: string): boolean {
  return namespace.startsWith('kube-')
}

function isOwnNamespace({ group, resource, name }: Access, { home, ownNamespace = false }: Confinement): boolean {
  return ownNamespace && group === '' && resource === 'namespaces' && name === home
}

/** Resources by which an account gains rights. The API server's own escalation check applies only to who really asks. */
function grantsRights({ group, resource, subresource = '' }: Access): boolean {
  if (group === 'rbac.authorization.k8s.io') return true
  return group === '' && resource === 'serviceaccounts' && (subresource === '' || subresource === 'token')
}
