import type { BinaryOperator } from './ast.ts'
import { parseSignature, type Signature } from './signature.ts'

const numbers = ['int', 'uint', 'double']
const ordered = [...numbers, 'string', 'bytes', 'bool', 'timestamp', 'duration']

/** What each operator takes and gives. */
export const operatorSignatures: Readonly<Record<BinaryOperator | '!' | 'negate', readonly Signature[]>> = {
  '==': signatures(['A, A -> bool']),
  '!=': signatures(['A, A -> bool']),
  '<': comparisons(),
  '<=': comparisons(),
  '>': comparisons(),
  '>=': comparisons(),
  in: signatures(['A, list(A) -> bool', 'A, map(A, B) -> bool']),
  '+': signatures([
    ...same([...numbers, 'string', 'bytes', 'duration']),
    'list(A), list(A) -> list(A)',
    'timestamp, duration -> timestamp',
    'duration, timestamp -> timestamp',
  ]),
  '-': signatures([
    ...same([...numbers, 'duration']),
    'timestamp, timestamp -> duration',
    'timestamp, duration -> timestamp',
  ]),
  '*': signatures(same(numbers)),
  '/': signatures(same(numbers)),
  '%': signatures(same(['int', 'uint'])),
  '!': signatures(['bool -> bool']),
  negate: signatures(['int -> int', 'double -> double']),
}

function same(names: readonly string[]): string[] {
  return names.map((name) => `${name}, ${name} -> ${name}`)
}

function comparisons(): Signature[] {
  const pairs = ordered.flatMap((left) =>
    ordered
      .filter((right) => left === right || (numbers.includes(left) && numbers.includes(right)))
      .map((right) => `${left}, ${right} -> bool`),
  )
  return signatures(pairs)
}

function signatures(texts: readonly string[]): Signature[] {
  return texts.map((text) => {
    const [parameters = '', result = ''] = text.split(' -> ')
    return parseSignature(`operator(${parameters}) -> ${result}`)
  })
}
