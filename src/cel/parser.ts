import type { BinaryOperator, Expr } from './ast.ts'
import { Builder, defaultLimits, type Limits } from './builder.ts'
import { SourceFault } from './errors.ts'
import { tokenize, type Token } from './lexer.ts'
import { literalOf } from './literal.ts'
import { expandMacro } from './macros.ts'

const reserved = new Set(
  'as break const continue else for function if import let loop package namespace return var void while'.split(' '),
)
const keywords = new Set(['true', 'false', 'null', 'in'])
const levels: readonly (readonly string[])[] = [
  ['==', '!=', '<', '<=', '>', '>=', 'in'],
  ['+', '-'],
  ['*', '/', '%'],
]

/** Whether a name can never be a variable of an expression. */
export function isReserved(name: string): boolean {
  return reserved.has(name) || keywords.has(name)
}

/** Parses an expression, expanding the macros named; throws SourceFault. */
export function parse(source: string, macros: ReadonlySet<string>, limits: Limits = defaultLimits): Expr {
  if (Buffer.byteLength(source) > limits.source) {
    throw new SourceFault(`expression is longer than ${limits.source} bytes`, 0)
  }
  return new Parser(source, macros, limits).whole()
}

class Parser {
  readonly #tokens: readonly Token[]
  readonly #macros: ReadonlySet<string>
  readonly #limits: Limits
  readonly #builder: Builder
  #next = 0
  #depth = 0

  constructor(source: string, macros: ReadonlySet<string>, limits: Limits) {
    this.#tokens = tokenize(source)
    this.#macros = macros
    this.#limits = limits
    this.#builder = new Builder(limits)
  }

  whole(): Expr {
    const expr = this.#expression()
    if (this.#token.kind !== 'end') throw this.#unexpected()
    return expr
  }

  get #token(): Token {
    return this.#tokens[this.#next] ?? this.#tokens.at(-1)!
  }

  #is(text: string): boolean {
    const { kind, text: actual } = this.#token
    return actual === text && (kind === 'operator' || (kind === 'name' && text === 'in'))
  }

  #take(text: string): boolean {
    if (!this.#is(text)) return false
    this.#next += 1
    return true
  }

  #need(text: string): void {
    if (!this.#take(text)) throw new SourceFault(`expected '${text}', found ${shown(this.#token)}`, this.#token.at)
  }

  #unexpected(): SourceFault {
    return new SourceFault(`unexpected ${shown(this.#token)}`, this.#token.at)
  }

  #expression(): Expr {
    this.#depth += 1
    if (this.#depth > this.#limits.depth) {
      throw new SourceFault(`expression nests deeper than ${this.#limits.depth}`, this.#token.at)
    }
    const test = this.#logical('||')
    const { at } = this.#token
    const expr = this.#take('?') ? this.#branches(test, at) : test
    this.#depth -= 1
    return expr
  }

  #branches(test: Expr, at: number): Expr {
    const yes = this.#logical('||')
    this.#need(':')
    return this.#builder.node({ kind: 'conditional', at, test, yes, no: this.#expression() })
  }

  #logical(operator: '&&' | '||'): Expr {
    const { at } = this.#token
    const terms = [this.#term(operator)]
    while (this.#take(operator)) terms.push(this.#term(operator))
    return terms.length === 1 ? terms[0]! : this.#builder.node({ kind: 'logical', at, operator, terms })
  }

  #term(operator: '&&' | '||'): Expr {
    return operator === '||' ? this.#logical('&&') : this.#binary(0)
  }

  #binary(level: number): Expr {
    const operators = levels[level]
    if (!operators) return this.#unary()
    let left = this.#binary(level + 1)
    for (;;) {
      const { at, text } = this.#token
      if (!operators.includes(text) || !this.#take(text)) return left
      const operator = text as BinaryOperator
      left = this.#builder.node({ kind: 'binary', at, operator, left, right: this.#binary(level + 1) })
    }
  }

  #unary(): Expr {
    const { at, text } = this.#token
    if (!this.#is('!') && !this.#is('-')) return this.#member(this.#primary())
    const operator = text as '!' | '-'
    const signs: number[] = []
    for (let here = at; this.#take(operator); here = this.#token.at) signs.push(here)
    // The sign belongs to the literal, or the least int could not be written.
    const isSigned = operator === '-' && ['int', 'double'].includes(this.#token.kind)
    if (isSigned) signs.pop()
    let expr = this.#member(isSigned ? this.#literal('-') : this.#primary())
    for (const here of signs.toReversed()) {
      expr = this.#builder.node({ kind: 'unary', at: here, operator, operand: expr })
    }
    return expr
  }

  #literal(sign: '' | '-'): Expr {
    const token = this.#token
    this.#next += 1
    return this.#builder.node({ kind: 'literal', at: token.at, value: literalOf(token, sign) })
  }

  #member(start: Expr): Expr {
    let expr = start
    for (;;) {
      const { at } = this.#token
      if (this.#take('.')) expr = this.#selection(expr, at)
      else if (this.#take('[')) {
        const isOptional = this.#take('?')
        const index = this.#expression()
        this.#need(']')
        expr = this.#builder.node({ kind: 'index', at, operand: expr, index, isOptional })
      } else if (this.#is('{') && (expr.kind === 'name' || expr.kind === 'select')) {
        if (!this.#macros.has(objectsAsMaps)) throw new SourceFault('message construction is not supported', at)
        this.#need('{')
        expr = this.#builder.node({ kind: 'map', at, entries: this.#entries(() => this.#fieldName()) })
      } else return expr
    }
  }

  #selection(operand: Expr, at: number): Expr {
    const isOptional = this.#take('?')
    const { kind, text } = this.#token
    if ((kind !== 'name' && kind !== 'field') || (kind === 'name' && keywords.has(text))) throw this.#unexpected()
    this.#next += 1
    // The place of a call is its bracket, as in other implementations' messages.
    const bracket = this.#token.at
    if (kind === 'name' && !isOptional && this.#take('(')) {
      return this.#call({ target: operand, name: text, at: bracket, isRooted: false })
    }
    return this.#builder.node({ kind: 'select', at, operand, field: text, isOptional })
  }

  #primary(): Expr {
    const { kind, text, at } = this.#token
    if (['int', 'uint', 'double', 'string', 'bytes'].includes(kind)) return this.#literal('')
    if (kind === 'name' && ['true', 'false', 'null'].includes(text)) return this.#literal('')
    if (kind === 'name' && text !== 'in') return this.#name(false)
    if (this.#take('.')) return this.#name(true)
    if (this.#take('(')) {
      const expr = this.#expression()
      this.#need(')')
      return expr
    }
    if (this.#take('[')) return this.#builder.node({ kind: 'list', at, elements: this.#elements() })
    if (this.#take('{')) return this.#builder.node({ kind: 'map', at, entries: this.#entries() })
    throw this.#unexpected()
  }

  #name(isRooted: boolean): Expr {
    const { kind, text, at } = this.#token
    if (kind !== 'name' || keywords.has(text)) throw this.#unexpected()
    this.#next += 1
    const bracket = this.#token.at
    if (this.#take('(')) return this.#call({ target: undefined, name: text, at: bracket, isRooted })
    if (reserved.has(text)) throw new SourceFault(`'${text}' is a reserved word`, at)
    return this.#builder.node({ kind: 'name', at, name: text, isRooted })
  }

  #call(head: { target: Expr | undefined; name: string; at: number; isRooted: boolean }): Expr {
    const args: Expr[] = []
    while (!this.#is(')')) {
      args.push(this.#expression())
      if (!this.#take(',')) break
      if (this.#is(')')) throw this.#unexpected()
    }
    this.#need(')')
    const call = { ...head, kind: 'call' as const, args }
    return expandMacro(call, this.#macros, this.#builder) ?? this.#builder.node(call)
  }

  #elements(): { value: Expr; isOptional: boolean }[] {
    const elements: { value: Expr; isOptional: boolean }[] = []
    while (!this.#is(']')) {
      const isOptional = this.#take('?')
      elements.push({ value: this.#expression(), isOptional })
      if (!this.#take(',')) break
    }
    this.#need(']')
    return elements
  }

  #fieldName(): Expr {
    const { kind, text, at } = this.#token
    if (kind !== 'name' && kind !== 'field') throw this.#unexpected()
    this.#next += 1
    return this.#builder.node({ kind: 'literal', at, value: text })
  }

  #entries(readKey = () => this.#expression()): { key: Expr; value: Expr; isOptional: boolean }[] {
    const entries: { key: Expr; value: Expr; isOptional: boolean }[] = []
    while (!this.#is('}')) {
      const isOptional = this.#take('?')
      const key = readKey()
      this.#need(':')
      entries.push({ key, value: this.#expression(), isOptional })
      if (!this.#take(',')) break
    }
    this.#need('}')
    return entries
  }
}

/** Named among the macros, it lets `Object.spec{replicas: 1}` stand for `{'replicas': 1}`, as mutations write it. */
export const objectsAsMaps = 'Object{}'

function shown({ kind, text }: Token): string {
  return kind === 'end' ? text : `'${text.length > 40 ? `${text.slice(0, 40)}…` : text}'`
}
