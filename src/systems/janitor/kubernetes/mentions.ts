import type { StoredObject } from '../../../kube/object.ts'

/** Every text in a group of objects, each with the first object that holds it: a name found there may be in use. */
export class Mentions {
  readonly #texts = new Map<string, string>()

  add(object: StoredObject): void {
    const by = `${object.kind} ${object.metadata.name}`
    const { metadata: _, ...rest } = object
    this.#collect(rest, by)
  }

  /** Who mentions this text. */
  of(text: string): string | undefined {
    return this.#texts.get(text)
  }

  #collect(value: unknown, by: string): void {
    if (typeof value === 'string') {
      if (value.length <= 253 && !this.#texts.has(value)) this.#texts.set(value, by)
    } else if (typeof value === 'object' && value !== null) {
      for (const part of Object.values(value)) this.#collect(part, by)
    }
  }
}
