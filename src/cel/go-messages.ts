import { issueAt, SourceFault, type CelCompileError, type Issue } from './errors.ts'
import { tokenize, type Token } from './lexer.ts'
import { parse } from './parser.ts'

/** The errors of an expression with a marker below the source line, as cel-go prints them. */
export function describeIssues({ issues }: CelCompileError, source: string): string {
  const lines = source.split('\n')
  return celGoIssues(issues, source)
    .map(({ message, line, column }) => {
      const text = lines[line - 1] ?? ''
      return `ERROR: <input>:${line}:${column}: ${message}\n | ${text}\n | ${'.'.repeat(Math.max(0, column - 1))}^`
    })
    .join('\n')
}

/**
 * Rewrites compile errors to the text that cel-go prints, so that users find the same messages as on any Kubernetes
 * server.
 */
export function celGoIssues(issues: readonly Issue[], source: string): readonly Issue[] {
  const lexical = lexicalFaults(source)
  const readable = lexical.reduce((text, { at, length }) => blanked(text, at, length), source)
  const unreadable = lexical.map(({ at, length }) =>
    issueAt(source, at, `Syntax error: token recognition error at: '${source.slice(at, at + length)}'`),
  )
  if (lexical.length > 0) return [...unreadable, ...afterLexical(readable)]
  const tokens = tokenize(source)
  return issues.flatMap((issue) => toCelGo(issue, source, tokens))
}

interface Lexical {
  readonly at: number
  readonly length: number
}

/** Text that the lexer cannot tokenize. cel-go skips each such part and reads on. */
function lexicalFaults(source: string): readonly Lexical[] {
  const found: Lexical[] = []
  for (let text = source; found.length < source.length;) {
    const fault = lexicalFault(text)
    if (!fault) break
    found.push(fault)
    text = blanked(text, fault.at, fault.length)
  }
  return found
}

function lexicalFault(text: string): Lexical | undefined {
  try {
    tokenize(text)
    return undefined
  } catch (error) {
    if (!(error instanceof SourceFault)) throw error
    const { offset, message } = error
    if (message.startsWith('unterminated') || message.startsWith('line break'))
      return { at: openingQuote(text, offset), length: text.length - openingQuote(text, offset) }
    if (message.startsWith('invalid')) {
      const at = openingQuote(text, offset)
      return { at, length: offset + 2 - at }
    }
    // cel-go reports half of a two-character operator together with the next character.
    const isHalf = '&|='.includes(text[offset] ?? '') && offset + 1 < text.length
    return { at: offset, length: isHalf ? 2 : 1 }
  }
}

function openingQuote(text: string, offset: number): number {
  for (let at = offset; at >= 0; at--) if (text[at] === '"' || text[at] === "'") return at
  return offset
}

function blanked(text: string, at: number, length: number): string {
  return text.slice(0, at) + ' '.repeat(length) + text.slice(at + length)
}

/** Parse errors of the text without its untokenizable parts. */
function afterLexical(source: string): readonly Issue[] {
  try {
    parse(source, new Set())
    return []
  } catch (error) {
    if (!(error instanceof SourceFault)) throw error
    return toCelGo(issueAt(source, error.offset, error.message), source, tokenize(source))
  }
}

function toCelGo(issue: Issue, source: string, tokens: readonly Token[]): readonly Issue[] {
  const offset = offsetOf(issue, source)
  const index = tokens.findIndex(({ at }) => at >= offset)
  const { message } = issue
  const syntax = (text: string) => [{ ...issue, message: `Syntax error: ${text}` }]
  if (message === 'unexpected end of expression') return missingOperand(issue, tokens)
  if (message.startsWith('unexpected ')) return syntax(unexpected(tokens, index))
  const wanted = /^expected '(.)', found /.exec(message)?.[1]
  if (wanted) return syntax(notFound(tokens, index, wanted))
  const plain = simpleMessage(message)
  if (!plain) return [issue]
  return [{ ...issue, message: plain.text, column: issue.column + (plain.shift ?? 0) }]
}

function simpleMessage(message: string): { readonly text: string; readonly shift?: number } | undefined {
  const reserved = /^'(.*)' is a reserved word$/.exec(message)?.[1]
  if (reserved) return { text: `reserved identifier: ${reserved}` }
  if (message === 'integer literal out of range') return { text: 'invalid int literal' }
  if (message.startsWith('has() ')) return { text: 'invalid argument to has() macro', shift: 1 }
  if (message.endsWith('needs a simple name as its variable')) return { text: 'argument must be a simple name' }
  if (message.startsWith('invalid regular expression')) return { text: 'invalid matches argument', shift: 1 }
  return { text: message.replace("'_in_'", "'@in'") }
}

const starts = ["'['", "'{'", "'('", "'.'", "'-'", "'!'"]
const literals = ["'true'", "'false'", "'null'", 'NUM_FLOAT', 'NUM_INT', 'NUM_UINT', 'STRING', 'BYTES', 'IDENTIFIER']
const operand = `{${[...starts, ...literals].join(', ')}}`
const optionalOperand = `{${[...starts, "'?'", ...literals].join(', ')}}`

function missingOperand(issue: Issue, tokens: readonly Token[]): readonly Issue[] {
  const [before, last] = [tokens.at(-3), tokens.at(-2)]
  const syntax = (text: string) => ({ ...issue, message: `Syntax error: ${text}` })
  if (last?.text === '.') return [syntax("no viable alternative at input '.'")]
  if (last?.text === '!') return [syntax(`extraneous input '<EOF>' expecting ${operand}`)]
  const expecting = last?.text === '[' && endsOperand(before) ? optionalOperand : operand
  const mismatched = syntax(`mismatched input '<EOF>' expecting ${expecting}`)
  const isSign = last?.text === '-' && !endsOperand(before)
  return isSign ? [syntax("no viable alternative at input '-'"), mismatched] : [mismatched]
}

/** An unexpected token: "extraneous" if the text would parse without it, else "mismatched". */
function unexpected(tokens: readonly Token[], index: number): string {
  if (endsOperand(tokens[index - 1])) {
    const word = tokens[index + 1]?.kind === 'end' ? 'extraneous' : 'mismatched'
    return `${word} input '${textOf(tokens[index])}' expecting <EOF>`
  }
  const word = startsOperand(tokens[index + 1]) ? 'extraneous' : 'mismatched'
  return `${word} input '${textOf(tokens[index])}' expecting ${operand}`
}

/** A missing bracket or colon: "missing" if the rest would parse after inserting it. */
function notFound(tokens: readonly Token[], index: number, wanted: string): string {
  const found = textOf(tokens[index])
  const opened = openBrackets(tokens.slice(0, index))
  const isLiteral = wanted === '}' || (wanted === ']' && !endsOperand(tokens[(opened.at(-1) ?? 0) - 1]))
  if (isLiteral) return `mismatched input '${found}' expecting {'${wanted}', ','}`
  if (tokens[index + 1]?.text === wanted) return `extraneous input '${found}' expecting '${wanted}'`
  const isEnd = tokens[index]?.kind === 'end'
  const fits = wanted === ':' ? startsOperand(tokens[index]) : isEnd && opened.length === 1
  return fits ? `missing '${wanted}' at '${found}'` : `mismatched input '${found}' expecting '${wanted}'`
}

/** The positions of brackets that are not closed. */
function openBrackets(tokens: readonly Token[]): readonly number[] {
  const open: number[] = []
  for (const [index, { kind, text }] of tokens.entries()) {
    if (kind !== 'operator') continue
    if ('([{'.includes(text)) open.push(index)
    else if (')]}'.includes(text)) open.pop()
  }
  return open
}

function endsOperand(token: Token | undefined): boolean {
  if (!token || token.kind === 'end') return false
  return token.kind === 'operator' ? [')', ']', '}'].includes(token.text) : token.text !== 'in'
}

function startsOperand(token: Token | undefined): boolean {
  if (!token || token.kind === 'end') return false
  return token.kind === 'operator' ? ['[', '{', '(', '.', '-', '!'].includes(token.text) : token.text !== 'in'
}

function textOf(token: Token | undefined): string {
  return !token || token.kind === 'end' ? '<EOF>' : token.text
}

function offsetOf({ line, column }: Issue, source: string): number {
  const before = source.split('\n').slice(0, line - 1)
  return before.reduce((sum, each) => sum + each.length + 1, 0) + column - 1
}
