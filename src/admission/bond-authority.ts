import { bond, type BondSpec, dependsOnAnnotation } from '../apis/bond.ts'
import type { Review } from '../apiserver/objects/contract/admission.ts'
import { forbidden } from '../apiserver/objects/contract/failures.ts'
import type { User } from '../apiserver/objects/contract/request.ts'
import { parseApiVersion, type KubeObject } from '../kube/object.ts'

/** A write that the collector would do on behalf of a Bond's author. */
export interface DelegatedWrite {
  readonly verb: 'delete' | 'update'
  readonly group: string
  readonly kind: string
  readonly subresource: '' | 'finalizers'
  readonly namespace: string
  readonly name: string
}

/** Whether the user may do this write; undefined when the kind is not served, so that the collector cannot do it either. */
export type Authorize = (user: User, write: DelegatedWrite) => boolean | undefined

/**
 * A Bond never grants its author extra rights: one with Cascade needs the right to delete the dependent, and one that delays the
 * deletion of an object in its own namespace the right to update its finalizers. In another namespace that namespace's grant decides.
 */
export function bondAuthority(review: Review, authorize: Authorize): void {
  const { type, object, old } = review
  if (!object) return
  if (type.group === bond.group && type.kind === bond.kind) {
    if (!old || JSON.stringify(old.spec) !== JSON.stringify(object.spec)) checkBond(review, object, authorize)
    return
  }
  const dependsOn = object.metadata.annotations?.[dependsOnAnnotation]
  if (dependsOn === undefined || dependsOn === old?.metadata.annotations?.[dependsOnAnnotation] || !old) return
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

function check({ type, name, user }: Review, write: DelegatedWrite, authorize: Authorize): void {
  if (authorize(user, write) !== false) return
  const { verb, kind, subresource, namespace } = write
  const what = `${verb} ${kind}${subresource ? `/${subresource}` : ''} ${write.name ? `"${write.name}" ` : ''}in namespace "${namespace}"`
  throw forbidden(type, name, `the collector would act on behalf of ${JSON.stringify(user.name)}, who cannot ${what}`)
}
