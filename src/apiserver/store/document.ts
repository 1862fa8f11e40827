import type { StoredObject } from '../../kube/object.ts'

/** The size of the largest object: etcd's default request limit, 1.5 MiB. */
export const maxObjectSize = 1_572_864

/** One state of one object: its JSON text, and the parsed value on demand. */
export class Document {
  readonly revision: number
  readonly text: string
  #object: StoredObject | undefined
  #frozen = false

  constructor(revision: number, text: string, object?: StoredObject) {
    this.revision = revision
    this.text = text
    this.#object = object
  }

  /** The parsed value: parsed at most once, deeply frozen, shared by all callers. */
  get object(): StoredObject {
    const object = this.value
    if (!this.#frozen) deepFreeze(object)
    this.#frozen = true
    return object
  }

  /**
   * The parsed value, possibly not frozen yet. Only for code that never changes it: freezing large objects is
   * expensive.
   */
  get value(): StoredObject {
    return (this.#object ??= JSON.parse(this.text) as StoredObject)
  }
}

function deepFreeze(value: unknown): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return
  Object.freeze(value)
  for (const part of Object.values(value)) deepFreeze(part)
}
