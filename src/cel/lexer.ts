import { SourceFault } from './errors.ts'
import { readQuoted } from './quoted.ts'

/** A piece of the source. `text` is the operator, the name or the digits; `value` what a string or bytes literal says. */
export interface Token {
  readonly kind: 'int' | 'uint' | 'double' | 'string' | 'bytes' | 'name' | 'field' | 'operator' | 'end'
  readonly text: string
  readonly at: number
  readonly value?: string | Uint8Array
}

const space = /(?:[ \t\n\r\f]|\/\/[^\n]*)+/y
const word = /[A-Za-z_][A-Za-z0-9_]*/y
const field = /`([A-Za-z0-9_.\-/ ]+)`/y
const double = /(?:\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)/y
const integer = /(0[xX][0-9a-fA-F]+|\d+)([uU])?/y
const quote = /(?:[rR][bB]?|[bB][rR]?)?(?=["'])/y
const operator = /&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()[\]{}]/y

/** Cuts the source into tokens, ending with one of kind `end`. */
export function tokenize(source: string): Token[] {
  const tokens: Token[] = []
  let at = skipSpace(source, 0)
  while (at < source.length) {
    const { token, end } = next(source, at)
    tokens.push(token)
    at = skipSpace(source, end)
  }
  tokens.push({ kind: 'end', text: 'end of expression', at: source.length })
  return tokens
}

interface Piece {
  readonly token: Token
  readonly end: number
}

function next(source: string, at: number): Piece {
  const code = source.charCodeAt(at)
  if (isLetter(code) || code === doubleQuote || code === singleQuote) {
    const prefix = match(quote, source, at)
    return prefix ? quoted(source, at, prefix[0]) : name(source, at)!
  }
  return (isDigit(code) || code === point ? number(source, at) : name(source, at)) ?? symbol(source, at)
}

const [doubleQuote, singleQuote, point, underscore] = [34, 39, 46, 95]

function isLetter(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || code === underscore
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57
}

function quoted(source: string, at: number, prefix: string): Piece {
  const { value, end } = readQuoted(source, at + prefix.length, prefix.toLowerCase())
  return {
    token: { kind: typeof value === 'string' ? 'string' : 'bytes', text: source.slice(at, end), at, value },
    end,
  }
}

function number(source: string, at: number): Piece | undefined {
  const fraction = match(double, source, at)
  if (fraction) return piece('double', fraction[0], at)
  const whole = match(integer, source, at)
  if (!whole) return undefined
  return { token: { kind: whole[2] ? 'uint' : 'int', text: whole[1] ?? '', at }, end: at + whole[0].length }
}

function name(source: string, at: number): Piece | undefined {
  const plain = match(word, source, at)
  if (plain) return piece('name', plain[0], at)
  const escaped = match(field, source, at)
  if (!escaped) return undefined
  return { token: { kind: 'field', text: escaped[1] ?? '', at }, end: at + escaped[0].length }
}

function symbol(source: string, at: number): Piece {
  const found = match(operator, source, at)
  if (!found) throw new SourceFault(`unexpected character ${JSON.stringify(source[at])}`, at)
  return piece('operator', found[0], at)
}

function piece(kind: Token['kind'], text: string, at: number): Piece {
  return { token: { kind, text, at }, end: at + text.length }
}

function skipSpace(source: string, at: number): number {
  return at + (match(space, source, at)?.[0].length ?? 0)
}

function match(pattern: RegExp, source: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(source)
}
