import { labelValueFaults, qualifiedNameFaults } from './names.ts'
import type { Requirement } from './selector.ts'
import { StatusError } from './status-error.ts'

type Sign = '(' | ')' | ',' | '!' | '=' | '==' | '!=' | '>' | '<'

interface Token {
  readonly kind: Sign | 'word' | 'end'
  readonly text: string
}

/** Reads a label selector as kube-apiserver does: what it takes, and the words in which it refuses the rest. */
export class LabelSelectorParser {
  readonly #tokens: readonly Token[]
  #at = 0

  constructor(text: string) {
    this.#tokens = tokensOf(text)
  }

  parse(): readonly Requirement[] {
    const requirements: Requirement[] = []
    while (this.#next.kind !== 'end') {
      if (!this.#startsRequirement())
        throw badRequest(`found '${this.#next.text}', expected: !, identifier, or 'end of string'`)
      requirements.push(this.#requirement())
      const { kind, text } = this.#take()
      if (kind === 'end') break
      if (kind !== ',') throw badRequest(`found '${text}', expected: ',' or 'end of string'`)
      if (!this.#startsRequirement()) throw badRequest(`found '${this.#next.text}', expected: identifier after ','`)
    }
    return requirements
  }

  get #next(): Token {
    return this.#tokens[this.#at] ?? end
  }

  #take(): Token {
    const token = this.#next
    this.#at++
    return token
  }

  #startsRequirement(): boolean {
    return this.#next.kind === 'word' || this.#next.kind === '!'
  }

  #requirement(): Requirement {
    const isNegated = this.#next.kind === '!'
    if (isNegated) this.#take()
    const key = this.#identifier()
    const faults = qualifiedNameFaults(key)
    if (faults.length > 0) throw unparsable(`<nil>: ${invalidValue(key, faults.join('; '))}`)
    if (isNegated) return { key, operator: 'DoesNotExist', values: [] }
    if (this.#next.kind === 'end' || this.#next.kind === ',') return { key, operator: 'Exists', values: [] }
    const operator = this.#operator()
    const values = operator.takes === 'set' ? this.#set() : [this.#value()]
    return checked({ key, operator: operator.name, values })
  }

  #operator(): (typeof operators)[keyof typeof operators] {
    const { text } = this.#take()
    if (Object.hasOwn(operators, text)) return operators[text as keyof typeof operators]
    throw unparsable(`found '${text}', expected: in, notin, =, ==, !=, gt, lt`)
  }

  #identifier(): string {
    const { kind, text } = this.#take()
    if (kind !== 'word') throw unparsable(`found '${text}', expected: identifier`)
    return text
  }

  #value(): string {
    return this.#next.kind === 'end' || this.#next.kind === ',' ? '' : this.#identifier()
  }

  /** `(a,b)`; between two commas, or a comma and a parenthesis, stands the empty value. */
  #set(): readonly string[] {
    const opening = this.#take()
    if (opening.kind !== '(') throw unparsable(`found '${opening.text}' expected: '('`)
    if (!['word', ',', ')'].includes(this.#next.kind))
      throw unparsable(`found '${this.#next.text}', expected: ',', ')' or identifier`)
    const values = new Set<string>()
    for (let isAfterValue = false; ;) {
      const { kind, text } = this.#take()
      if (kind === 'word' && !isAfterValue) {
        values.add(text)
        isAfterValue = true
      } else if (kind === ',' || kind === ')') {
        if (!isAfterValue) values.add('')
        if (kind === ')') return [...values].toSorted()
        isAfterValue = false
      } else throw unparsable(`found '${text}', expected: ${isAfterValue ? `',' or ')'` : `',', or identifier`}`)
    }
  }
}

/** The number a text is; undefined when it is no integer of 64 bits. */
export function integerOf(text: string): bigint | undefined {
  if (!/^[-+]?\d{1,63}$/.test(text)) return undefined
  const value = BigInt(text)
  return BigInt.asIntN(64, value) === value ? value : undefined
}

const operators = {
  in: { name: 'In', takes: 'set' },
  notin: { name: 'NotIn', takes: 'set' },
  '=': { name: 'In', takes: 'value' },
  '==': { name: 'In', takes: 'value' },
  '!=': { name: 'NotIn', takes: 'value' },
  '>': { name: 'Gt', takes: 'value' },
  '<': { name: 'Lt', takes: 'value' },
} as const

function checked(requirement: Requirement): Requirement {
  const { key, operator, values } = requirement
  const isNumeric = operator === 'Gt' || operator === 'Lt'
  const faults = values.flatMap((value, index) => [
    ...(isNumeric && integerOf(value) === undefined
      ? [`values[${index}]: ${invalidValue(value, "for 'Gt', 'Lt' operators, the value must be an integer")}`]
      : []),
    ...labelValueFaults(value).map((fault) => `values[${index}][${key}]: ${invalidValue(value, fault)}`),
  ])
  if (faults.length === 0) return requirement
  throw unparsable(faults.length === 1 ? (faults[0] ?? '') : `[${faults.join(', ')}]`)
}

const end: Token = { kind: 'end', text: '' }
const signs = /^(==|!=|[=!(),<>])/
const word = /^[^=!(),<> \t\r\n\0]+/
const blank = /^[ \t\r\n]+/

function tokensOf(text: string): readonly Token[] {
  const tokens: Token[] = []
  // In Go's reader a byte of zero ends a token, and where none has begun the whole text.
  for (let rest = text.replace(blank, ''); rest !== '' && rest[0] !== '\0'; rest = rest.replace(blank, '')) {
    const sign = signs.exec(rest)?.[0]
    const found = sign ?? word.exec(rest)?.[0] ?? rest
    tokens.push({ kind: (sign as Sign | undefined) ?? 'word', text: found })
    rest = rest.slice(found.length).replace(/^\0/, '')
  }
  return tokens
}

function invalidValue(value: string, why: string): string {
  return `Invalid value: ${JSON.stringify(value)}: ${why}`
}

function unparsable(why: string): StatusError {
  return badRequest(`unable to parse requirement: ${why}`)
}

function badRequest(message: string): StatusError {
  return new StatusError('BadRequest', message)
}
