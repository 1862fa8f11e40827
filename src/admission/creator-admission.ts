import { bond } from '../apis/bond.ts'
import { cleanerKinds } from '../apis/cleaner-kinds.ts'
import type { Kind } from '../apis/define-kind.ts'
import { environment } from '../apis/environment.ts'
import { pipeline } from '../apis/pipeline.ts'
import type { AdmissionHook, Review } from '../apiserver/objects/contract/admission.ts'
import { forbidden } from '../apiserver/objects/contract/failures.ts'
import type { User } from '../apiserver/objects/contract/request.ts'
import type { KubeObject } from '../kube/object.ts'
import { deepEqual } from '../kube/patches/patch.ts'
import { accountOf } from '../tenancy/act-as.ts'
import type { Access } from '../tenancy/confinement.ts'
import {
  creatorAnnotation,
  creatorFault,
  hasSameCreator,
  recordedCreator,
  recordWriter,
  type Creator,
} from '../tenancy/creator-record.ts'

/** The kinds that tenants write and controllers act for: each object records who last wrote its spec. */
export const recordedKinds: readonly Kind[] = [...cleanerKinds, pipeline, bond, environment]

/** Whether a user may do this, by the embedded server's own roles. */
export type MayDo = (user: User, access: Access) => boolean

/**
 * Keeps the record of the creator true on the embedded server: a change of the spec records its author, and no other user
 * may change the record, except one who may impersonate the recorded user. Real clusters do the same by admission policies.
 */
export function creatorAdmission(mayDo: MayDo, isSojourn: (user: User) => boolean): AdmissionHook {
  return {
    mutate(review) {
      const { object, old, user } = review
      if (!isRecorded(review)) return object
      return recordWriter(object, old, isSojourn(user) ? undefined : { user: user.name, groups: user.groups })
    },
    validate(review) {
      const { object, old, user, type, name } = review
      if (!isRecorded(review) || !object || isSojourn(user)) return
      const hasNewSpec = !old || !deepEqual(old.spec, object.spec)
      const fault = hasNewSpec ? creatorFault({ user: user.name, groups: user.groups }) : undefined
      if (fault !== undefined) throw forbidden(type, name, fault)
      if (hasNewSpec) return checkServiceAccount(review, object, mayDo)
      if (!hasSameCreator(old, object) && !mayAdopt(user, recordedCreator(object), mayDo))
        throw forbidden(
          type,
          name,
          `metadata.annotations[${creatorAnnotation}]: only admission changes who wrote the spec`,
        )
    },
  }
}

function isRecorded({ operation, type, subresource }: Review): boolean {
  if (operation === 'DELETE' || subresource !== '') return false
  return recordedKinds.some(({ group, kind }) => group === type.group && kind === type.kind)
}

/** An author who can start Pods with an account, or impersonate it, has its rights already. */
function checkServiceAccount({ type, name, namespace, user }: Review, object: KubeObject, mayDo: MayDo): void {
  const account = accountOf(object)
  if (account === undefined) return
  const at = { group: '', namespace }
  if (mayDo(user, { ...at, verb: 'impersonate', resource: 'serviceaccounts', name: account })) return
  if (mayDo(user, { ...at, verb: 'create', resource: 'pods', name: '' })) return
  throw forbidden(
    type,
    name,
    `spec.serviceAccountName: user ${JSON.stringify(user.name)} may neither impersonate ServiceAccount ${namespace}/${account} nor create Pods in ${namespace}`,
  )
}

/** A user who may impersonate another may act as that one anyway. */
function mayAdopt(user: User, creator: Creator | undefined, mayDo: MayDo): boolean {
  const impersonate = { verb: 'impersonate', group: '', namespace: '' }
  if (!creator) return false
  return (
    mayDo(user, { ...impersonate, resource: 'users', name: creator.user }) &&
    creator.groups.every((group) => mayDo(user, { ...impersonate, resource: 'groups', name: group }))
  )
}
