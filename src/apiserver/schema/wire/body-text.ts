import { StatusError } from '../../../kube/status-error.ts'
import type { GroupVersionKind } from '../../../kube/object.ts'
import { checkTree } from '../../../parsing/check-tree.ts'
import { limits } from '../../../parsing/limits.ts'
import { ParseRefusal } from '../../../parsing/parse-refusal.ts'
import { readYaml } from '../../../parsing/yaml-text.ts'
import { isTextTooDeep } from './depth.ts'
import { goJsonError, isUnsafe, parseJson, type ParsedJson } from './json-text.ts'
import { decodeProtobuf } from './protobuf.ts'

/** A body as it came, and the format it is said to have. */
export interface BodyText {
  readonly bytes: Uint8Array
  readonly format: 'json' | 'yaml' | 'protobuf'
  /** The kind of a protobuf body that names none. */
  readonly assume?: GroupVersionKind
}

/** What a body says. */
export interface BodyValue {
  readonly value: unknown
  /** Fields or keys that occur more than once, and integers that are not stored as they are, as sentences. */
  readonly duplicates: readonly string[]
}

/** Reads a body; throws ParseRefusal. Small JSON and protobuf is read where it arrives, all else in the parsing thread. */
export function read({ bytes, format, assume }: BodyText): BodyValue {
  switch (format) {
    case 'protobuf':
      return { value: readProtobuf(bytes, assume), duplicates: [] }
    case 'json':
      return readJson(textOf(bytes))
    case 'yaml':
      return readYamlOrJson(textOf(bytes))
  }
}

/** JSON that is labelled YAML, as kubectl does; undefined when it is not JSON after all, or has duplicates: Go reports those by their lines. */
export function readMislabelled(text: string): BodyValue | undefined {
  if (!text.trimStart().startsWith('{') || isTextTooDeep(text)) return undefined
  try {
    const json = parseJson(text)
    return json.duplicates.length > 0 ? undefined : withSentences(json)
  } catch {
    // Flow-style YAML also starts with a brace.
    return undefined
  }
}

export function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes)
}

function readYamlOrJson(text: string): BodyValue {
  const json = readMislabelled(text)
  if (json) return bounded(json)
  const { documents, duplicates } = readYaml(text, limits.apiYaml)
  const rounded: string[] = []
  const note = (_key: string, item: unknown): unknown => {
    if (isUnsafe(item)) rounded.push(sentenceOf(item))
    return item
  }
  if (/\d{16}/.test(text)) JSON.stringify(documents[0], note)
  return { value: documents[0] ?? null, duplicates: [...duplicates, ...rounded] }
}

function readJson(text: string): BodyValue {
  if (isTextTooDeep(text)) throw new ParseRefusal('depth', tooDeep)
  try {
    return bounded(withSentences(parseJson(text)))
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new ParseRefusal('syntax', goJsonError(text), { cause: error })
  }
}

/** Go's words. */
const tooDeep = 'exceeded max depth'

function withSentences({ value, duplicates, rounded }: ParsedJson): BodyValue {
  const fields = duplicates.map((path) => `duplicate field ${JSON.stringify(path)}`)
  return { value, duplicates: [...fields, ...rounded.map(sentenceOf)] }
}

/** kube-apiserver stores integers of 64 bits, this server doubles. */
function sentenceOf(rounded: number): string {
  return `integer stored as ${rounded}: beyond ${Number.MAX_SAFE_INTEGER} it is rounded`
}

function bounded(body: BodyValue): BodyValue {
  checkTree(body.value, limits.apiJson)
  return body
}

function readProtobuf(bytes: Uint8Array, assume: GroupVersionKind | undefined): unknown {
  try {
    return decodeProtobuf(bytes, assume)
  } catch (error) {
    if (error instanceof StatusError) throw new ParseRefusal('syntax', error.message, { cause: error })
    throw error
  }
}
