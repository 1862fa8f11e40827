import type { KubeObject } from '../../../kube/object.ts'
import type { ServedKind } from '../../kinds/contract/served-kind.ts'
import type { Store, View } from '../../store/store.ts'
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
  /** Whether it may throw a Question at present. */
  isAsking?(): boolean
}

/**
 * Thrown by a hook that needs an answer from outside, such as a webhook's: transactions cannot wait. The answer is stored
 * in `view.answers`, and the write is decided again.
 */
export class Question extends Error {
  readonly ask: (answers: Map<string, unknown>) => Promise<void>

  constructor(ask: Question['ask']) {
    super('a decision needs an answer from outside its transaction')
    this.ask = ask
  }
}

/** More attempts than any chain of webhooks needs; an object that others change all the time ends here. */
const maxAttempts = 100

/** Writes decisions whose hooks may throw a Question; only while `isAsking`, all others cost nothing more. */
export function writeWithAnswers(store: Store, isAsking: () => boolean): Store['write'] {
  return async (decide) => {
    if (!isAsking()) return store.write(decide)
    const answers = new Map<string, unknown>()
    for (let attempt = 1; ; attempt++) {
      try {
        return await store.write((view) => decide({ ...view, answers }))
      } catch (error) {
        if (!(error instanceof Question) || attempt === maxAttempts) throw error
        await error.ask(answers)
      }
    }
  }
}

/** A value that all attempts of a write share: the uid and the time that a webhook saw are those that are stored. */
export function sharedByAttempts(view: View, key: string, make: () => string): string {
  const known = view.answers?.get(key) as string | undefined
  if (known !== undefined) return known
  const made = make()
  view.answers?.set(key, made)
  return made
}

/** Applies the mutations of all hooks, in order. */
export function mutate(hooks: readonly AdmissionHook[], review: Review & { readonly object: KubeObject }): KubeObject {
  return hooks.reduce((object, hook) => hook.mutate?.({ ...review, object }) ?? object, review.object)
}

/** Runs the validations of all hooks and collects their warnings; the first refusal is thrown. */
export function validate(hooks: readonly AdmissionHook[], review: Review): readonly string[] {
  return hooks.flatMap((hook) => hook.validate?.(review) ?? [])
}
