import { isScalar, parse, parseAllDocuments, visit, type Scalar } from 'yaml'

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

/** Sets every marked value of a YAML file and keeps every other byte. */
export function setMarkedValues(content: Uint8Array, marker: Marker, value: string): MarkerEdit {
  if (!mentionsMarker(content)) return { edit: 'none' }
  const source = decode(content)
  if (source === undefined) return { edit: 'problem', problem: 'is not UTF-8' }
  if (!holdsMarker(source, marker)) return { edit: 'none' }
  const scalars = markedScalars(source, marker)
  if (typeof scalars === 'string') return { edit: 'problem', problem: scalars }
  if (scalars.length === 0)
    return { edit: 'problem', problem: 'has the marker on a line without a plain or quoted value' }
  const changes = scalars.filter((scalar) => scalar.value !== value)
  if (changes.length === 0) return { edit: 'same' }
  return { edit: 'changed', content: new TextEncoder().encode(splice(source, changes, value)) }
}

/** A cheap test that spares parsing the many files without markers. */
export function mentionsMarker(content: Uint8Array): boolean {
  return Buffer.from(content.buffer, content.byteOffset, content.byteLength).includes('"$promotion"')
}

function decode(content: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content)
  } catch {
    return undefined
  }
}

function holdsMarker(source: string, marker: Marker): boolean {
  return source.split('\n').some((line) => isMarker(line.slice(line.indexOf('#') + 1), marker))
}

/** A value and its position in the text. */
interface MarkedScalar {
  readonly start: number
  readonly end: number
  readonly value: unknown
}

/** All marked scalars of all documents, or what is wrong with the YAML. */
function markedScalars(source: string, marker: Marker): MarkedScalar[] | string {
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
function locate(source: string, node: Scalar, marker: Marker): MarkedScalar | undefined {
  if (!isScalar(node) || !node.range || node.type === 'BLOCK_LITERAL' || node.type === 'BLOCK_FOLDED') return undefined
  const [start, end] = node.range
  const after = /^[ \t]*,?[ \t]*#(.*)/.exec(restOfLine(source, end))
  const isMarked = after ? isMarker(after[1] ?? '', marker) : isMarkedAbove(source, { start, end }, marker)
  return isMarked ? { start, end, value: node.value } : undefined
}

/** A comment on its own line marks the single value of the line below. */
function isMarkedAbove(source: string, { start, end }: { start: number; end: number }, marker: Marker): boolean {
  if (restOfLine(source, end).trim() !== '') return false
  const lineStart = source.lastIndexOf('\n', start - 1) + 1
  if (lineStart === 0) return false
  const above = source.slice(source.lastIndexOf('\n', lineStart - 2) + 1, lineStart - 1)
  const comment = /^\s*#(.*)/.exec(above)
  return comment !== null && isMarker(comment[1] ?? '', marker)
}

function restOfLine(source: string, from: number): string {
  const end = source.indexOf('\n', from)
  return source.slice(from, end < 0 ? source.length : end).replace(/\r$/, '')
}

/** Whether a comment is this marker, as a JSON object. */
function isMarker(comment: string, { namespace, pipeline, environment }: Marker): boolean {
  const start = comment.indexOf('{')
  if (start < 0) return false
  try {
    const read: unknown = JSON.parse(comment.slice(start).trim())
    return (read as { $promotion?: unknown }).$promotion === `${namespace}:${pipeline}:${environment}`
  } catch {
    return false
  }
}

/** Replaces the scalars in the text. */
function splice(source: string, scalars: readonly MarkedScalar[], value: string): string {
  let text = ''
  let position = 0
  for (const { start, end } of scalars.toSorted((left, right) => left.start - right.start)) {
    text +=
      source.slice(position, start) +
      quoted(source.slice(start, end), value, { before: source[start - 1], after: source[end] })
    position = end
  }
  return text + source.slice(position)
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
