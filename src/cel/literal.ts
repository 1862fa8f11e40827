import { CelError, SourceFault } from './errors.ts'
import type { Token } from './lexer.ts'
import { maxUint, toDouble, toInt, toUint } from './numbers.ts'
import type { CelValue } from './values.ts'

/** The value a literal token stands for. */
export function literalOf({ kind, text, at, value }: Token, sign: '' | '-'): CelValue {
  switch (kind) {
    case 'int':
      return inRange(toInt(sign ? -BigInt(text) : BigInt(text)), at)
    case 'uint':
      return inRange(BigInt(text) > maxUint ? new CelError('unsigned integer overflow') : toUint(BigInt(text)), at)
    case 'double':
      return toDouble(Number(sign + text))
    case 'string':
    case 'bytes':
      return value ?? ''
    default:
      return text === 'null' ? null : text === 'true'
  }
}

function inRange(value: CelValue | CelError, at: number): CelValue {
  if (value instanceof CelError) throw new SourceFault('integer literal out of range', at)
  return value
}
