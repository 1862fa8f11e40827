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
    this.#object ??= JSON.parse(this.text) as StoredObject
    if (!this.#frozen) deepFreeze(this.#object)
    this.#frozen = true
    return this.#object
  }
}

function deepFreeze(value: unknown): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return
  Object.freeze(value)
  for (const part of Object.values(value)) deepFreeze(part)
}
