import type { StoredObject } from '../../../kube/object.ts'

/** What a list of objects mentions. Lists stay the same array until they change, and are looked through once. */
export function mentionsIn(objects: readonly StoredObject[]): Mentions {
  const known = mentionsByList.get(objects)
  if (known) return known
  const mentions = new Mentions()
  for (const object of objects) mentions.add(object)
  mentionsByList.set(objects, mentions)
  return mentions
}

/** Who mentions a text, in the first of several lists where somebody does. */
export function mentionedIn(lists: readonly Mentions[], text: string): string | undefined {
  for (const mentions of lists) {
    const by = mentions.of(text)
    if (by !== undefined) return by
  }
  return undefined
}

const mentionsByList = new WeakMap<readonly StoredObject[], Mentions>()

/** Every text in a group of objects, each with the first object that holds it: a name found there may be in use. */
export class Mentions {
  readonly #texts = new Map<string, string>()

  add(object: StoredObject): void {
    const by = `${object.kind} ${object.metadata.name}`
    for (const text of textsOf(object)) if (!this.#texts.has(text)) this.#texts.set(text, by)
  }

  /** Who mentions this text. */
  of(text: string): string | undefined {
    return this.#texts.get(text)
  }
}

/** Every text an object holds, but for its metadata, found once per version. */
function textsOf(object: StoredObject): readonly string[] {
  const known = textsByObject.get(object)
  if (known) return known
  const found = new Set<string>()
  const { metadata: _, ...rest } = object
  collect(rest, found)
  const texts = [...found]
  textsByObject.set(object, texts)
  return texts
}

const textsByObject = new WeakMap<StoredObject, readonly string[]>()

function collect(value: unknown, texts: Set<string>): void {
  if (typeof value === 'string') {
    if (value.length <= 253) texts.add(value)
  } else if (typeof value === 'object' && value !== null) {
    for (const part of Object.values(value)) collect(part, texts)
  }
}
