import type { ApiServer } from '../apiserver/server.ts'
import type { Authorize } from './bond-authority.ts'

/** Authorizes by the embedded server's own RBAC roles. */
export function authorizer({ kinds, authorize }: Pick<ApiServer, 'kinds' | 'authorize'>): Authorize {
  return (user, { verb, group, kind, subresource, namespace, name }) => {
    // The collector resolves kinds without regard to case, so this must too.
    const ofGroup = [...kinds.all()].filter((served) => served.group === group)
    const type =
      ofGroup.find((served) => served.kind === kind) ??
      ofGroup.find((served) => served.kind.toLowerCase() === kind.toLowerCase())
    if (!type) return undefined
    const where = type.namespaced ? namespace : ''
    return authorize(user, { verb, group, resource: type.plural, subresource, namespace: where, name }).allowed
  }
}
