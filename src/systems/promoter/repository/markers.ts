import { getStaticTOMLValue, parseTOML, traverseNodes, type AST } from 'toml-eslint-parser'
import { isMap, isScalar, parse, parseAllDocuments, visit, type Pair, type Scalar, type YAMLMap } from 'yaml'
import { tagOf } from '../model/revision.ts'

/** Names the values to set: a comment `{"$promotion": "<namespace>:<pipeline>:<environment>"}` marks one. */
export interface Marker {
  readonly namespace: string
  readonly pipeline: string
  readonly environment: string
}

export type MarkerEdit =
  /** The file does not have this marker. */
  | { readonly edit: 'none' }
  /** Every marked value is already as wanted. */
  | { readonly edit: 'same' }
  | { readonly edit: 'changed'; readonly content: Uint8Array }
  /** The file has the marker but cannot be edited safely. */
  | { readonly edit: 'problem'; readonly problem: string }

/** What to write at a marker. One may have a template of its own: `{"$promotion": "…", "value": "acme/shop:{{tag}}"}`. */
export interface MarkerValues {
  readonly value: string
  readonly revision: string
}

/** The files that can have markers: comments in YAML and TOML, the member `$promotion` of an object in JSON. */
export function canHaveMarkers(path: string): boolean {
  return /\.(ya?ml|json|toml)$/.test(path)
}

/** Parsers of untrusted files need a limit; real manifests are far shorter. */
const maxBytes = 1024 * 1024

/** Sets every marked value of a file and keeps every other byte. */
export function setMarkedValues(
  { path, content }: { readonly path: string; readonly content: Uint8Array },
  marker: Marker,
  values: MarkerValues,
): MarkerEdit {
  if (!mentionsMarker(content)) return { edit: 'none' }
  if (content.byteLength > maxBytes) return { edit: 'problem', problem: `is larger than ${maxBytes} bytes` }
  const source = decode(content)
  if (source === undefined) return { edit: 'problem', problem: 'is not UTF-8' }
  if (!holdsMarker(path, source, marker)) return { edit: 'none' }
  const scalars = markedScalars(path, source, marker)
  if (typeof scalars === 'string') return { edit: 'problem', problem: scalars }
  if (scalars.length === 0)
    return { edit: 'problem', problem: 'has the marker on a line without a plain or quoted value' }
  const changes = scalars
    .map((scalar) => ({ ...scalar, wanted: fillTemplate(scalar.template, values) }))
    .filter(({ value, wanted }) => value !== wanted)
  if (changes.length === 0) return { edit: 'same' }
  return { edit: 'changed', content: new TextEncoder().encode(splice(path, source, changes)) }
}

/** A file with every marked value, of any pipeline, left out; undefined when it has none or cannot be read. */
export function withoutMarkedValues(path: string, content: Uint8Array | undefined): string | undefined {
  const isMarked = content && canHaveMarkers(path) && mentionsMarker(content) && content.byteLength <= maxBytes
  const source = isMarked ? decode(content) : undefined
  const scalars = source === undefined ? [] : markedScalars(path, source, undefined)
  if (source === undefined || typeof scalars === 'string' || scalars.length === 0) return undefined
  return scalars
    .toSorted((left, right) => right.start - left.start)
    .reduce((text, { start, end }) => text.slice(0, start) + text.slice(end), source)
}

function fillTemplate(template: string, { value, revision }: MarkerValues): string {
  const variables: Readonly<Record<string, string>> = { value, revision, tag: tagOf(revision) }
  return template.replace(/\{\{\s*(\w+)\s*\}\}/g, (whole, name: string) => variables[name] ?? whole)
}

/** A cheap test that spares parsing the many files without markers. */
function mentionsMarker(content: Uint8Array): boolean {
  return Buffer.from(content.buffer, content.byteOffset, content.byteLength).includes('"$promotion"')
}

function decode(content: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content)
  } catch {
    return undefined
  }
}

function holdsMarker(path: string, source: string, marker: Marker): boolean {
  if (path.endsWith('.json')) return source.includes(JSON.stringify(keyOf(marker)))
  return source.split('\n').some((line) => templateOf(line.slice(line.indexOf('#') + 1), marker) !== undefined)
}

/** A value and its position in the text. */
interface MarkedScalar {
  readonly start: number
  readonly end: number
  readonly value: unknown
  readonly template: string
}

/** Undefined: the marker of any pipeline and environment. */
type Wanted = Marker | undefined

/** All marked scalars of a file, or why it cannot be read. */
function markedScalars(path: string, source: string, marker: Wanted): MarkedScalar[] | string {
  if (path.endsWith('.toml')) return markedInToml(source, marker)
  return path.endsWith('.json') ? markedInJson(source, marker) : markedInYaml(source, marker)
}

/** TOML has comments, but only strings on one line can be marked. */
function markedInToml(source: string, marker: Wanted): MarkedScalar[] | string {
  let program: AST.TOMLProgram
  try {
    program = parseTOML(source)
  } catch (error) {
    return `is not valid TOML: ${(error as Error).message}`
  }
  const marked: MarkedScalar[] = []
  traverseNodes(program, {
    enterNode(node) {
      if (node.type !== 'TOMLValue' || node.kind !== 'string' || node.multiline) return
      const [start, end] = node.range
      const after = /^[ \t]*,?[ \t]*#(.*)/.exec(restOfLine(source, end))
      const template = after ? templateOf(after[1] ?? '', marker) : undefined
      if (template !== undefined) marked.push({ start, end, value: getStaticTOMLValue(node), template })
    },
    leaveNode: () => {},
  })
  return marked
}

/** JSON has no comments: `"$promotion": {"tag": "team:shop:prod"}` marks the member `tag` of the same object. */
function markedInJson(source: string, marker: Wanted): MarkedScalar[] | string {
  try {
    JSON.parse(source)
  } catch (error) {
    return `is not valid JSON: ${(error as Error).message.split('\n')[0]}`
  }
  const marked: MarkedScalar[] = []
  const [document] = parseAllDocuments(source, { uniqueKeys: false })
  visit(document ?? null, {
    Map(_, map) {
      const marks = map.get('$promotion')
      if (!isMap(marks)) return
      for (const { key, value } of marks.items as Pair<Scalar<string>, unknown>[]) {
        const given: unknown = isMap(value) ? value.toJSON() : { $promotion: isScalar(value) ? value.value : undefined }
        const template = templateIn(given, marker)
        const target = (map as YAMLMap).get(key.value, true)
        if (template === undefined || !isScalar(target) || !target.range) continue
        marked.push({ start: target.range[0], end: target.range[1], value: target.value, template })
      }
    },
  })
  return marked
}

/** All marked scalars of all documents, or what is wrong with the YAML. */
function markedInYaml(source: string, marker: Wanted): MarkedScalar[] | string {
  const documents = parseAllDocuments(source, { keepSourceTokens: true, uniqueKeys: false })
  const marked: MarkedScalar[] = []
  for (const document of documents) {
    const [error] = document.errors
    if (error) return `is not valid YAML: ${error.message.split('\n')[0]?.replace(/:$/, '')}`
    visit(document, {
      Scalar(key, node) {
        if (key === 'key') return
        const found = locate(source, node, marker)
        if (found) marked.push(found)
      },
    })
  }
  return marked
}

/** The position of a scalar that a comment behind or above it marks. Block scalars cannot be marked. */
function locate(source: string, node: Scalar, marker: Wanted): MarkedScalar | undefined {
  if (!isScalar(node) || !node.range || node.type === 'BLOCK_LITERAL' || node.type === 'BLOCK_FOLDED') return undefined
  const [start, end] = node.range
  const after = /^[ \t]*,?[ \t]*#(.*)/.exec(restOfLine(source, end))
  const template = after ? templateOf(after[1] ?? '', marker) : templateAbove(source, { start, end }, marker)
  return template === undefined ? undefined : { start, end, value: node.value, template }
}

/** A comment on its own line marks the single value of the line below. */
function templateAbove(
  source: string,
  { start, end }: { readonly start: number; readonly end: number },
  marker: Wanted,
): string | undefined {
  if (restOfLine(source, end).trim() !== '') return undefined
  const lineStart = source.lastIndexOf('\n', start - 1) + 1
  if (lineStart === 0) return undefined
  const above = source.slice(source.lastIndexOf('\n', lineStart - 2) + 1, lineStart - 1)
  const comment = /^\s*#(.*)/.exec(above)
  return comment ? templateOf(comment[1] ?? '', marker) : undefined
}

function restOfLine(source: string, from: number): string {
  const end = source.indexOf('\n', from)
  return source.slice(from, end < 0 ? source.length : end).replace(/\r$/, '')
}

/** The template of a comment that is this marker, as a JSON object; undefined when it is not. */
function templateOf(comment: string, marker: Wanted): string | undefined {
  const start = comment.indexOf('{')
  if (start < 0) return undefined
  try {
    return templateIn(JSON.parse(comment.slice(start).trim()), marker)
  } catch {
    return undefined
  }
}

function templateIn(read: unknown, marker: Wanted): string | undefined {
  const { $promotion, value = '{{value}}' } = (read ?? {}) as { $promotion?: unknown; value?: unknown }
  if (typeof $promotion !== 'string' || typeof value !== 'string') return undefined
  return marker === undefined || $promotion === keyOf(marker) ? value : undefined
}

function keyOf({ namespace, pipeline, environment }: Marker): string {
  return `${namespace}:${pipeline}:${environment}`
}

/** Replaces the scalars in the text. */
function splice(
  path: string,
  source: string,
  scalars: readonly (MarkedScalar & { readonly wanted: string })[],
): string {
  let text = ''
  let position = 0
  for (const { start, end, wanted } of scalars.toSorted((left, right) => left.start - right.start)) {
    const old = source.slice(start, end)
    const around = { before: source[start - 1], after: source[end] }
    text += source.slice(position, start) + (isYaml(path) ? quoted(old, wanted, around) : inQuotes(old, wanted))
    position = end
  }
  return text + source.slice(position)
}

function isYaml(path: string): boolean {
  return /\.ya?ml$/.test(path)
}

/** A string of JSON or TOML. A literal string of TOML stays one where it can. */
function inQuotes(old: string, value: string): string {
  if (old.startsWith("'") && !/['\p{Cc}]/u.test(value)) return `'${value}'`
  return JSON.stringify(value).replaceAll('\u007f', '\\u007f')
}

/** The value in the quoting style of the old one; a plain value gets quotes when YAML would read it differently. */
function quoted(
  old: string,
  value: string,
  { before, after }: { readonly before: string | undefined; readonly after: string | undefined },
): string {
  if (old.startsWith("'") && !/[\r\n]/.test(value)) return `'${value.replaceAll("'", "''")}'`
  const text = !old.startsWith('"') && staysString(value) ? value : JSON.stringify(value)
  if (old !== '') return text
  return `${before === undefined || /\s/.test(before) ? '' : ' '}${text}${after === '#' ? ' ' : ''}`
}

/** Whether YAML 1.1 and 1.2 both read the plain text as this string. */
function staysString(value: string): boolean {
  if (!/^[A-Za-z0-9_./][\w./@+~:=-]*$/.test(value) || value.endsWith(':')) return false
  return (['1.1', '1.2'] as const).every((version) => {
    try {
      return parse(`[${value}]`, { version, schema: version === '1.1' ? 'yaml-1.1' : 'core' })?.[0] === value
    } catch {
      return false
    }
  })
}
