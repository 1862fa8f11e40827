import type { StoredObject } from '../../kube/object.ts'

/** One state of one object: its JSON text and, when somebody asks, the same as a frozen value. */
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

  /** Parsed at most once, deeply frozen, shared by all who ask. */
  get object(): StoredObject {
    const object = this.value
    if (!this.#frozen) deepFreeze(object)
    this.#frozen = true
    return object
  }

  /** The same, perhaps not frozen yet: only for code that surely does not change it. */
  get value(): StoredObject {
    return (this.#object ??= JSON.parse(this.text) as StoredObject)
  }
}

function deepFreeze(value: unknown): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return
  Object.freeze(value)
  for (const part of Object.values(value)) deepFreeze(part)
}
