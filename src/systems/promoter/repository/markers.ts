import { getStaticTOMLValue, parseTOML, traverseNodes, type AST } from 'toml-eslint-parser'
import { isMap, isScalar, Lexer, parse, parseAllDocuments, visit, type Pair, type Scalar, type YAMLMap } from 'yaml'
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
  if (!mentionsMarker(content, marker)) return { edit: 'none' }
  if (content.byteLength > maxBytes) return { edit: 'problem', problem: `is larger than ${maxBytes} bytes` }
  const source = decode(content)
  if (source === undefined) return { edit: 'problem', problem: 'is not UTF-8' }
  const scalars = markedScalars(path, source, marker)
  if (typeof scalars === 'string') return { edit: 'problem', problem: scalars }
  if (scalars.length === 0) return { edit: 'none' }
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
function mentionsMarker(content: Uint8Array, marker?: Marker): boolean {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
  return bytes.includes('"$promotion"') && (marker === undefined || bytes.includes(JSON.stringify(keyOf(marker))))
}

function decode(content: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content)
  } catch {
    return undefined
  }
}

/** A value and its position in the text. */
interface Value {
  readonly start: number
  readonly end: number
  readonly value: unknown
}

interface MarkedScalar extends Value {
  readonly template: string
}

/** Undefined: the marker of any pipeline and environment. */
type Wanted = Marker | undefined

/** All marked scalars of a file, or why it cannot be read. */
function markedScalars(path: string, source: string, marker: Wanted): MarkedScalar[] | string {
  if (path.endsWith('.toml')) return markedInToml(source, marker)
  return path.endsWith('.json') ? markedInJson(source, marker) : markedInYaml(source, marker)
}

const nowhere = 'has the marker where it marks no value'

/** TOML has comments, but only strings on one line can be marked. */
function markedInToml(source: string, marker: Wanted): MarkedScalar[] | string {
  let program: AST.TOMLProgram
  try {
    program = parseTOML(source)
  } catch (error) {
    return `is not valid TOML: ${(error as Error).message}`
  }
  const values: Value[] = []
  traverseNodes(program, {
    enterNode(node) {
      if (node.type !== 'TOMLValue' || node.kind !== 'string' || node.multiline) return
      const [start, end] = node.range
      values.push({ start, end, value: getStaticTOMLValue(node) })
    },
    leaveNode: () => {},
  })
  const comments = program.comments.map(({ range: [start] }) => start)
  return markedBy(source, { comments, values }, marker)
}

/** JSON has no comments: `"$promotion": {"tag": "team:shop:prod"}` marks the member `tag` of the same object. */
function markedInJson(source: string, marker: Wanted): MarkedScalar[] | string {
  try {
    JSON.parse(source)
  } catch (error) {
    // Without the excerpt: a file may hold secrets.
    return `is not valid JSON: ${(error as Error).message.split(/\n|, (?:\.{3})?"/)[0]}`
  }
  const marked: MarkedScalar[] = []
  let problem: string | undefined
  const [document] = parseAllDocuments(source, { uniqueKeys: false })
  visit(document ?? null, {
    Map(_, map) {
      const marks = map.get('$promotion')
      if (!isMap(marks)) return
      for (const { key, value } of marks.items as Pair<Scalar<string>, unknown>[]) {
        const given: unknown = isMap(value) ? value.toJSON() : { $promotion: isScalar(value) ? value.value : undefined }
        const template = templateIn(given, marker)
        const target = (map as YAMLMap).get(key.value, true)
        if (template === undefined) continue
        if (!isScalar(target) || !target.range)
          problem ??= `has a marker for ${JSON.stringify(key.value)}, which is no plain value beside it`
        else marked.push({ start: target.range[0], end: target.range[1], value: target.value, template })
      }
    },
  })
  if (marked.length === 0) problem ??= nowhere
  return (marker && problem) ?? marked
}

/** All marked scalars of all documents, or what is wrong with the YAML. */
function markedInYaml(source: string, marker: Wanted): MarkedScalar[] | string {
  const documents = parseAllDocuments(source, { keepSourceTokens: true, uniqueKeys: false })
  const values: Value[] = []
  for (const document of documents) {
    const [error] = document.errors
    if (error) return `is not valid YAML: ${error.message.split('\n')[0]?.replace(/:$/, '')}`
    visit(document, {
      Scalar(key, { range, type, value }) {
        // Block scalars cannot be marked.
        if (key === 'key' || !range || type === 'BLOCK_LITERAL' || type === 'BLOCK_FOLDED') return
        values.push({ start: range[0], end: range[1], value })
      },
    })
  }
  return markedBy(source, { comments: commentsInYaml(source), values }, marker)
}

/** Where the comments of a YAML file begin. */
function commentsInYaml(source: string): number[] {
  const comments: number[] = []
  let position = 0
  let before = ''
  for (const lexeme of new Lexer().lex(source)) {
    if (lexeme.startsWith('#') && before !== scalarFollows) comments.push(position)
    if (!controls.has(lexeme)) position += lexeme.length
    before = lexeme
  }
  return comments
}

/** What the lexer adds to the text: before a scalar, a document, and what ends a broken flow collection. */
const scalarFollows = '\u001f'
const controls = new Set([scalarFollows, '\u0002', '\u0018'])

/**
 * The values that comments mark: one behind the value, or one alone on the line above. A marker that marks none is a problem, because a
 * promotion must not change only some of its values; in a line that is commented out, or in prose that quotes it, it is none.
 */
function markedBy(
  source: string,
  { comments, values }: { readonly comments: readonly number[]; readonly values: readonly Value[] },
  marker: Wanted,
): MarkedScalar[] | string {
  const marked: MarkedScalar[] = []
  let isQuoted = false
  // The last value of each line.
  const startingOn = new Map(values.map((value) => [startOfLine(source, value.start), value]))
  const endingOn = new Map(values.map((value) => [startOfLine(source, value.end), value]))
  for (const at of comments) {
    const comment = restOfLine(source, at)
    if (marker && !comment.includes(JSON.stringify(keyOf(marker)))) continue
    const template = templateOf(comment.slice(1), marker)
    const line = startOfLine(source, at)
    const isAlone = source.slice(line, at).trim() === ''
    if (isAlone && (/^#[^{]*#/.test(comment) || (template === undefined && !/^#\s*\{/.test(comment)))) {
      isQuoted = true
      continue
    }
    const value = isAlone ? startingOn.get(source.indexOf('\n', at) + 1) : endingOn.get(line)
    const between = value && (isAlone ? restOfLine(source, value.end).trim() : source.slice(value.end, at))
    if (value && template !== undefined && /^[ \t]*,?[ \t]*$/.test(between ?? '')) marked.push({ ...value, template })
    else if (marker) {
      const number = source.slice(0, at).split('\n').length
      return `line ${number}: ${template === undefined ? 'the marker is not JSON to the end of the line' : 'there is no plain or quoted value that the marker marks'}`
    }
  }
  return marker && marked.length === 0 && !isQuoted ? nowhere : marked
}

function startOfLine(source: string, position: number): number {
  return position === 0 ? 0 : source.lastIndexOf('\n', position - 1) + 1
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
