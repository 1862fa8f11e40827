import type { StoredObject } from '../../../../kube/object.ts'
import { kindAndName } from './detector.ts'

/** Finds an object that contains a text: a name that occurs anywhere in an object may be in use. */
export type MentionFinder = (text: string) => string | undefined

/** Finds mentions in a list. Informers return the same array until it changes, so each list is indexed once. */
export function mentionsIn(objects: readonly StoredObject[]): MentionFinder {
  return mentionsByList.getOrInsertComputed(objects, () => {
    const texts = new Map<string, string>()
    for (const object of objects)
      for (const text of textsOf(object)) if (!texts.has(text)) texts.set(text, kindAndName(object))
    return (text) => texts.get(text)
  })
}

/** The first mention of a text that one of the finders knows. */
export function mentionedIn(mentions: readonly MentionFinder[], text: string): string | undefined {
  for (const of of mentions) {
    const by = of(text)
    if (by !== undefined) return by
  }
  return undefined
}

const mentionsByList = new WeakMap<readonly StoredObject[], MentionFinder>()

/**
 * Every text an object holds and every name within one (`shop/settings`, a whole file of YAML), its annotations included.
 * A status says in sentences what was found, so that only whole texts count there. Never throws, however deep the object is: what is
 * not found counts as not mentioned.
 */
export function textsOf({ metadata, status, ...rest }: StoredObject): readonly string[] {
  const texts = new Set<string>()
  for (const text of stringsIn([rest, ...annotationTexts(metadata.annotations)])) addNames(texts, text)
  for (const text of stringsIn([status])) if (text.length <= maxNameLength) texts.add(text)
  return [...texts]
}

function* stringsIn(values: readonly unknown[]): Generator<string> {
  const left = [...values]
  while (left.length > 0) {
    const value = left.pop()
    if (typeof value === 'string') yield value
    else if (typeof value === 'object' && value !== null) for (const part of Object.values(value)) left.push(part)
  }
}

/** Like `textsOf`, without the status. */
export function writtenTextsOf({ status: _, ...written }: StoredObject): readonly string[] {
  return textsOf(written)
}

/** The values of annotations, except those of tools that repeat the object or record how it was applied. */
export function annotationTexts(annotations: Readonly<Record<string, string>> = {}): readonly string[] {
  return Object.entries(annotations).flatMap(([key, value]) => (bookkeeping.test(key) ? [] : [value]))
}

const bookkeeping = /^(?:kubectl\.kubernetes\.io|deployment\.kubernetes\.io|meta\.helm\.sh|argocd\.argoproj\.io)\//

/** Adds a text, and each name that occurs in it, to a set. */
export function addNames(names: Set<string>, text: string): void {
  if (text !== '' && text.length <= maxNameLength) names.add(text)
  if (!plainName.test(text))
    for (const [name] of text.matchAll(anyName)) if (name.length <= maxNameLength) names.add(name)
}

const maxNameLength = 253
const plainName = /^[a-z0-9.-]*$/
const anyName = /[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?/g
