import type { KubeObject } from '../../../kube/object.ts'
import type { ServedKind } from '../../kinds/contract/served-kind.ts'
import type { View } from '../../store/store.ts'
import type { Propagation } from './delete-options.ts'
import type { User } from './request.ts'

/** A write that is about to happen. */
export interface Review {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE'
  readonly type: ServedKind
  readonly namespace: string
  /** Empty for a create whose name is still to be made. */
  readonly name: string
  /** Empty at the main endpoint. */
  readonly subresource: string
  readonly user: User
  readonly isDryRun: boolean
  /** As it will be stored; undefined for DELETE. */
  readonly object: KubeObject | undefined
  /** As it is stored; undefined for CREATE. */
  readonly old: KubeObject | undefined
  /** How dependents are to go; only for a DELETE that says so. */
  readonly propagation?: Propagation | undefined
  /** The store as it is at this very moment. */
  readonly view: View
}

/** One policy about writes. Its functions are synchronous and refuse by throwing a StatusError. */
export interface AdmissionHook {
  /** The object to store instead; not asked for DELETE. */
  mutate?(review: Review & { readonly object: KubeObject }): KubeObject
  /** Sees what every mutation has made of it; may answer texts for Warning headers. */
  validate?(review: Review): readonly string[] | void
}

/** The object after every hook has had its way with it. */
export function mutate(hooks: readonly AdmissionHook[], review: Review & { readonly object: KubeObject }): KubeObject {
  return hooks.reduce((object, hook) => hook.mutate?.({ ...review, object }) ?? object, review.object)
}

/** Asks every hook; the first refusal is thrown. */
export function validate(hooks: readonly AdmissionHook[], review: Review): readonly string[] {
  return hooks.flatMap((hook) => hook.validate?.(review) ?? [])
}
