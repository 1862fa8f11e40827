import * as types from './types.ts'
import type { Type } from './types.ts'

/** What a function takes and gives: `string.split(string) -> list(string)`; single capitals are type variables. */
export interface Signature {
  readonly name: string
  /** Called on its first parameter: `x.split(",")`. */
  readonly isMember: boolean
  readonly parameters: readonly Type[]
  readonly result: Type
  /** Whether it mentions type variables. */
  readonly isGeneric: boolean
}

const simpleTypes: Readonly<Record<string, Type>> = {
  dyn: types.dynType,
  null: types.nullType,
  bool: types.boolType,
  int: types.intType,
  uint: types.uintType,
  double: types.doubleType,
  string: types.stringType,
  bytes: types.bytesType,
  timestamp: types.timestampType,
  duration: types.durationType,
}

/** Reads a signature. `a.b(x)` is a member of type `a` when `a` is a type, else a function named `a.b`. */
export function parseSignature(text: string): Signature {
  const [head = '', result = ''] = text.split(' -> ')
  const open = openingOfLast(head)
  const dot = head.slice(0, open).lastIndexOf('.')
  const parameters = splitTypes(head.slice(open + 1, -1)).map(parseType)
  const receiver = dot < 0 ? undefined : receiverType(head.slice(0, dot))
  const isGeneric = /\b[A-Z]\b/.test(text)
  if (!receiver) return { name: head.slice(0, open), isMember: false, parameters, result: parseType(result), isGeneric }
  const name = head.slice(dot + 1, open)
  return { name, isMember: true, parameters: [receiver, ...parameters], result: parseType(result), isGeneric }
}

/** Reads a type as signatures write it. */
function parseType(text: string): Type {
  const plain = simpleTypes[text]
  if (plain) return plain
  if (/^[A-Z]$/.test(text)) return { kind: 'variable', name: text }
  const match = /^([\w.@]+)(?:\((.*)\))?$/.exec(text)
  if (!match) throw new Error(`cannot read type ${text}`)
  const [first = types.dynType, second = types.dynType] = splitTypes(match[2] ?? '').map(parseType)
  switch (match[1]) {
    case 'list':
      return types.listType(first)
    case 'map':
      return types.mapType(first, second)
    case 'optional':
      return types.optionalType(first)
    case 'type':
      return types.typeType(first)
    default:
      return types.opaqueType(match[1] ?? text, match[2] ? splitTypes(match[2]).map(parseType) : [])
  }
}

/** Names of the libraries' own types, which may stand before a member's dot. */
const opaqueNames = /^(?:net\.IP|net\.CIDR|kubernetes\.[\w.]+|vtex\.Pair)$/

function receiverType(text: string): Type | undefined {
  const isType = Object.hasOwn(simpleTypes, text) || /^[A-Z]$/.test(text) || text.endsWith(')')
  return isType || opaqueNames.test(text) ? parseType(text) : undefined
}

function openingOfLast(head: string): number {
  let depth = 0
  for (let at = head.length - 1; at >= 0; at--) {
    if (head[at] === ')') depth += 1
    else if (head[at] === '(' && --depth === 0) return at
  }
  throw new Error(`cannot read signature ${head}`)
}

/** Splits at the commas that are not inside brackets. */
function splitTypes(text: string): string[] {
  const parts: string[] = []
  let depth = 0
  let start = 0
  for (let at = 0; at <= text.length; at++) {
    const char = text[at]
    if (char === '(') depth += 1
    if (char === ')') depth -= 1
    if (at === text.length || (char === ',' && depth === 0)) {
      if (text.slice(start, at).trim()) parts.push(text.slice(start, at).trim())
      start = at + 1
    }
  }
  return parts
}
