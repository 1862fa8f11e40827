import { bond, type BondSpec } from '../apis/bond.ts'
import type { Review } from '../apiserver/objects/contract/admission.ts'
import type { User } from '../apiserver/objects/contract/request.ts'
import { parseApiVersion, type KubeObject } from '../kube/object.ts'
import { StatusError } from '../kube/status-error.ts'
import { dependsOnAnnotation } from '../systems/collector/bonds/depends-on.ts'

/** Something that somebody wants to have done in their stead. */
export interface Wish {
  readonly verb: 'delete' | 'update'
  readonly group: string
  readonly kind: string
  readonly subresource: '' | 'finalizers'
  readonly namespace: string
  readonly name: string
}

/** Whether somebody may do that themselves; undefined when the kind is not served, so that nothing can come of it. */
export type Authorize = (user: User, wish: Wish) => boolean | undefined

/**
 * Nobody may have the collector do what they may not do themselves: a Bond that lets its dependent follow needs the right to delete that one, and one
 * that holds something up in its own namespace the right to its finalizers. In another namespace its owner's grant decides.
 */
export function bondAuthority(review: Review, authorize: Authorize): void {
  const { type, object, old } = review
  if (!object) return
  if (type.group === bond.group && type.kind === bond.kind) {
    if (!old || JSON.stringify(old.spec) !== JSON.stringify(object.spec)) checkBond(review, object, authorize)
    return
  }
  const said = object.metadata.annotations?.[dependsOnAnnotation]
  if (said === undefined || said === old?.metadata.annotations?.[dependsOnAnnotation] || !old) return
  const { group, kind } = type
  check(
    review,
    { verb: 'delete', group, kind, subresource: '', namespace: review.namespace, name: review.name },
    authorize,
  )
}

function checkBond(review: Review, { spec }: KubeObject, authorize: Authorize): void {
  const { dependent, dependency, onDelete } = spec as BondSpec
  const { namespace } = review
  const ofDependent = { group: parseApiVersion(dependent.apiVersion).group, kind: dependent.kind }
  if (onDelete === 'Cascade')
    check(review, { verb: 'delete', ...ofDependent, subresource: '', namespace, name: dependent.name ?? '' }, authorize)
  const isElsewhere = dependency.cluster || (dependency.namespace !== undefined && dependency.namespace !== namespace)
  if (onDelete === 'Orphan' || isElsewhere) return
  const ofDependency = {
    group: parseApiVersion(dependency.apiVersion).group,
    kind: dependency.kind,
    name: dependency.name,
  }
  check(review, { verb: 'update', ...ofDependency, subresource: 'finalizers', namespace }, authorize)
}

function check({ type, name, user }: Review, wish: Wish, authorize: Authorize): void {
  if (authorize(user, wish) !== false) return
  const { verb, kind, subresource, namespace } = wish
  const what = `${verb} ${kind}${subresource ? `/${subresource}` : ''} ${wish.name ? `"${wish.name}" ` : ''}in namespace "${namespace}"`
  throw new StatusError(
    'Forbidden',
    `${type.plural}${type.group ? `.${type.group}` : ''} "${name}" is forbidden: it would be done in the name of ${JSON.stringify(user.name)}, who cannot ${what}`,
    { details: { name, kind: type.plural, group: type.group } },
  )
}
