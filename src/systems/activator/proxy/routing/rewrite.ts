import type { IncomingHttpHeaders } from 'node:http2'
import { spells } from '../wire/bytes.ts'
import { fieldKind, type Head } from '../wire/head.ts'

const text = (bytes: Buffer, start: number, end: number): string => bytes.toString('latin1', start, end)

/** What the Connection fields of a message say about this hop. */
export interface ConnectionOptions {
  close: boolean
  keepAlive: boolean
  upgrade: boolean
  /** It names a field that framing or routing depends on, and that must not be dropped (RFC 9110 §7.6.1). */
  forbidden: boolean
}

const untouchable = new Set(['content-length', 'transfer-encoding', 'host', 'x-forwarded-for'])

/** Reads the Connection fields, and marks every field they name as hop-by-hop (RFC 9110 §7.6.1). */
export function connectionOptions(bytes: Buffer, head: Head): ConnectionOptions {
  const options = { close: false, keepAlive: false, upgrade: false, forbidden: false }
  for (let field = 0; field < head.count; field++) {
    if (head.kinds[field] !== fieldKind.connection) continue
    for (const each of text(bytes, head.valueStart(field), head.valueEnd(field)).toLowerCase().split(',')) {
      const option = each.trim()
      if (option === 'close') options.close = true
      else if (option === 'keep-alive') options.keepAlive = true
      else if (option === 'upgrade') options.upgrade = true
      else if (untouchable.has(option)) options.forbidden = true
      else if (option !== '') dropNamed(bytes, head, option)
    }
  }
  return options
}

function dropNamed(bytes: Buffer, head: Head, name: string): void {
  for (let field = 0; field < head.count; field++) {
    if (head.nameEnd(field) - head.nameStart(field) !== name.length) continue
    if (isDroppable(head.kinds[field]!) && fieldName(bytes, head, field) === name) head.kinds[field] = fieldKind.hop
  }
}

function isDroppable(kind: number): boolean {
  return kind === fieldKind.other || kind === fieldKind.userAgent
}

/** A field's name in lower case. */
export function fieldName(bytes: Buffer, head: Head, field: number): string {
  return text(bytes, head.nameStart(field), head.nameEnd(field)).toLowerCase()
}

/** The value of the first field of this lower-case name. */
export function fieldValue(bytes: Buffer, head: Head, name: string): string | undefined {
  for (let field = 0; field < head.count; field++) {
    if (head.nameEnd(field) - head.nameStart(field) === name.length && fieldName(bytes, head, field) === name) {
      return text(bytes, head.valueStart(field), head.valueEnd(field))
    }
  }
  return undefined
}

/** All values of one kind of field, as one list. */
export function valuesOfKind(bytes: Buffer, head: Head, kind: number): string {
  const values: string[] = []
  for (let field = 0; field < head.count; field++) {
    if (head.kinds[field] === kind) values.push(text(bytes, head.valueStart(field), head.valueEnd(field)))
  }
  return values.join(', ')
}

/** Whether the Connection fields say this one word and nothing else. */
export function saysOnly(bytes: Buffer, head: Head, lowered: Uint8Array): boolean {
  if (head.connections !== 1) return false
  const start = head.valueStart(head.connection)
  return head.valueEnd(head.connection) - start === lowered.length && spells(bytes, start, lowered)
}

/** What a request is forwarded with, beside its own fields. */
export interface RequestEdits {
  /** The start line, when it cannot stay as it is. */
  readonly line: string | undefined
  /** Replaces the Host field when set. */
  readonly host: string | undefined
  /** The forwarding fields, and the connection's own; ends with the empty line that ends the head. */
  readonly added: string
  /** Whether Forwarded and X-Forwarded-Port of the client pass: it is a trusted proxy. */
  readonly keepsForwarded: boolean
}

/** Writes a request head anew from what was understood of it: this hop's and the forwarding fields gone. */
export function rewriteRequest(bytes: Buffer, head: Head, edits: RequestEdits): string {
  const { line, host, added, keepsForwarded } = edits
  if (line === undefined && host === undefined && head.copyable) {
    return text(bytes, head.start, head.end - 2) + added
  }
  const keep = (kind: number) =>
    kind === fieldKind.forwarded ? keepsForwarded : isEndToEnd(kind) && (host === undefined || kind !== fieldKind.host)
  const first = host === undefined ? '' : `Host: ${host}\r\n`
  if (line === undefined && first === '' && head.clean) return copyFields(bytes, head, head.start, keep) + added
  const start = line ?? text(bytes, head.start, head.fieldsStart)
  return `${start}${first}${copyFields(bytes, head, head.fieldsStart, keep)}${added}`
}

/** Writes a response head anew: this hop's fields gone, `added` lines behind the rest. */
export function rewriteResponse(bytes: Buffer, head: Head, added: string, unframed = false): string {
  const keep = (kind: number) =>
    isEndToEnd(kind) || isForwarding(kind) ? kind !== fieldKind.transferEncoding || !unframed : false
  const reason = text(bytes, head.start + 12, head.fieldsStart - 2)
  return `HTTP/1.1 ${head.status}${reason === '' ? ' ' : reason}\r\n${copyFields(bytes, head, head.fieldsStart, keep)}${added}\r\n`
}

/** A message's fields by lower-case name, this hop's gone, as HTTP/2 carries them. */
export function fieldsOf(bytes: Buffer, head: Head): Record<string, string | string[]> {
  const fields = Object.create(null) as Record<string, string | string[]>
  for (let field = 0; field < head.count; field++) {
    const kind = head.kinds[field]!
    if (!isEndToEnd(kind) && !isForwarding(kind)) continue
    const name = fieldName(bytes, head, field)
    if (kind === fieldKind.transferEncoding || kind === fieldKind.host || name === 'http2-settings') continue
    const value = text(bytes, head.valueStart(field), head.valueEnd(field))
    const former = fields[name]
    if (Array.isArray(former)) former.push(value)
    else if (name === 'set-cookie') fields[name] = [value]
    else fields[name] = former === undefined ? value : `${former}${name === 'cookie' ? ';' : ','} ${value}`
  }
  return fields
}

/** The fields of HTTP/2, as lines of HTTP/1. */
export function linesOf(fields: IncomingHttpHeaders): string[] {
  return Object.entries(fields).flatMap(([name, value]) => [value].flat().map((each) => `${name}: ${each}`))
}

/** Copies fields in runs as long as nothing between them is left out. `from` may lie before the first field. */
function copyFields(bytes: Buffer, head: Head, from: number, keep: (kind: number) => boolean): string {
  let out = ''
  let run = from
  for (let field = 0; field < head.count; field++) {
    if (!keep(head.kinds[field]!)) {
      if (head.clean) {
        out += text(bytes, run, head.nameStart(field))
        run = head.valueEnd(field) + 2
      }
    } else if (!head.clean) {
      out += `${text(bytes, head.nameStart(field), head.nameEnd(field))}: ${text(bytes, head.valueStart(field), head.valueEnd(field))}\r\n`
    }
  }
  return head.clean ? out + text(bytes, run, head.end - 2) : out
}

function isForwarding(kind: number): boolean {
  return (
    kind === fieldKind.forwardedFor ||
    kind === fieldKind.forwardedHost ||
    kind === fieldKind.forwardedProto ||
    kind === fieldKind.forwarded
  )
}

function isEndToEnd(kind: number): boolean {
  return (
    kind === fieldKind.other ||
    kind === fieldKind.userAgent ||
    kind === fieldKind.host ||
    kind === fieldKind.contentLength ||
    kind === fieldKind.transferEncoding ||
    kind === fieldKind.expect
  )
}
