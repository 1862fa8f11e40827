import { StatusError } from '../../kube/status-error.ts'
import type { User } from './user.ts'

/** One thing a user asks to do: a verb on a resource, or on a path outside the resource API. */
export type Access =
  | {
      readonly verb: string
      readonly group: string
      readonly resource: string
      readonly subresource: string
      /** '' at the cluster scope, and for all namespaces. */
      readonly namespace: string
      /** '' for collections. */
      readonly name: string
    }
  | { readonly verb: string; readonly path: string }

/** Whether this is access to a resource and not to a plain path. */
export function isResourceAccess(access: Access): access is Extract<Access, { resource: string }> {
  return 'resource' in access
}

/** The 403 that kube-apiserver returns for a denied request. Clients match on its text. */
export function forbidden(user: User, access: Access, reason?: string): StatusError {
  const because = reason ? `: ${reason}` : ''
  if (!isResourceAccess(access)) {
    const message = `forbidden: User ${quote(user.name)} cannot ${access.verb} path ${quote(access.path)}${because}`
    return new StatusError('Forbidden', message, { details: {} })
  }
  const { group, resource, subresource, namespace, name, verb } = access
  const where = namespace ? `in the namespace ${quote(namespace)}` : 'at the cluster scope'
  const what = subresource ? `${resource}/${subresource}` : resource
  const message = `User ${quote(user.name)} cannot ${verb} resource ${quote(what)} in API group ${quote(group)} ${where}${because}`
  return forbiddenResource({ group, resource, name }, message)
}

/** A 403 about a resource: `RESOURCE "NAME" is forbidden: …`. */
export function forbiddenResource(
  { group, resource, name = '' }: { readonly group: string; readonly resource: string; readonly name?: string },
  message: string,
): StatusError {
  const qualified = group ? `${resource}.${group}` : resource
  const subject = name ? `${qualified} ${quote(name)}` : qualified
  return new StatusError('Forbidden', `${subject} is forbidden: ${message}`, {
    details: { ...(name ? { name } : {}), ...(group ? { group } : {}), kind: resource },
  })
}

function quote(text: string): string {
  return JSON.stringify(text)
}
