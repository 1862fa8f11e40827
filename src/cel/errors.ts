import { CelBox } from './box.ts'

/** Why an evaluation has no value: `evaluation` may pass when the data changes, the others will not by themselves. */
export type CelErrorKind = 'evaluation' | 'budget' | 'internal'

/** An evaluation error. It is a value, so `&&`, `||`, `exists` and `all` can absorb it, and costs no stack trace. */
export class CelError extends CelBox {
  readonly kind: CelErrorKind
  readonly message: string

  readonly #isSourceOnly: boolean

  /** `isSourceOnly`: the message holds nothing but text of the expression. Defaults to false. */
  constructor(message: string, kind: CelErrorKind = 'evaluation', isSourceOnly = false) {
    super()
    this.message = message
    this.kind = kind
    this.#isSourceOnly = isSourceOnly
  }

  /** The message without any value of the data, for people who cannot read that: what the error is, not of what. */
  get shown(): string {
    if (this.#isSourceOnly) return this.message
    const [what = ''] = this.message.split(': ')
    return what.replaceAll(/"(?:[^"\\]|\\.)*"?|-?\d+/g, '…')
  }
}

/** One thing wrong with an expression, and where; line and column count from 1. */
export interface Issue {
  readonly message: string
  readonly line: number
  readonly column: number
}

/** The expression can never be evaluated as written: it does not parse, or its types do not fit. */
export class CelCompileError extends Error {
  override readonly name = 'CelCompileError'
  readonly issues: readonly Issue[]

  constructor(issues: readonly Issue[]) {
    super(issues.map(({ message, line, column }) => `${line}:${column}: ${message}`).join('\n'))
    this.issues = issues
  }
}

/** A fault at an offset of the source; becomes an Issue once the source's lines are known. */
export class SourceFault extends Error {
  readonly offset: number

  constructor(message: string, offset: number) {
    super(message)
    this.offset = offset
  }
}

/** Turns offsets into lines and columns of this source. */
export function issueAt(source: string, offset: number, message: string): Issue {
  const before = source.slice(0, offset)
  const line = before.split('\n').length
  return { message, line, column: offset - before.lastIndexOf('\n') }
}

/** What every function answers when no overload takes such arguments. */
export const noSuchOverload = new CelError('no such overload')
