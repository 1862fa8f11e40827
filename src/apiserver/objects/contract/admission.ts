import type { KubeObject } from '../../../kube/object.ts'
import type { ServedKind } from '../../kinds/contract/served-kind.ts'
import type { View } from '../../store/store.ts'
import type { Propagation } from './delete-options.ts'
import type { User } from './request.ts'

/** A write under admission. */
export interface Review {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE'
  readonly type: ServedKind
  readonly namespace: string
  /** Empty for a create with generateName. */
  readonly name: string
  /** Empty at the main endpoint. */
  readonly subresource: string
  readonly user: User
  readonly isDryRun: boolean
  /** As it will be stored; undefined for DELETE. */
  readonly object: KubeObject | undefined
  /** As it is stored; undefined for CREATE. */
  readonly old: KubeObject | undefined
  /** The propagation policy that a DELETE names, if any. */
  readonly propagation?: Propagation | undefined
  /** The store inside the transaction of this write. */
  readonly view: View
}

/**
 * An admission plugin. Its functions run inside the write's transaction: synchronous, refusing by throwing a
 * StatusError.
 */
export interface AdmissionHook {
  /** Returns the object to store instead. Not called for DELETE. */
  mutate?(review: Review & { readonly object: KubeObject }): KubeObject
  /** Runs after all mutations; may return texts for Warning headers. */
  validate?(review: Review): readonly string[] | void
}

/** Applies the mutations of all hooks, in order. */
export function mutate(hooks: readonly AdmissionHook[], review: Review & { readonly object: KubeObject }): KubeObject {
  return hooks.reduce((object, hook) => hook.mutate?.({ ...review, object }) ?? object, review.object)
}

/** Runs the validations of all hooks and collects their warnings; the first refusal is thrown. */
export function validate(hooks: readonly AdmissionHook[], review: Review): readonly string[] {
  return hooks.flatMap((hook) => hook.validate?.(review) ?? [])
}
