import { hasKey } from './access.ts'
import { add, numeric, subtract } from './arithmetic.ts'
import type { BinaryOperator } from './ast.ts'
import { CelError, noSuchOverload } from './errors.ts'
import { isEqual } from './equality.ts'
import type { Frame, Step } from './frame.ts'
import { isMap } from './maps.ts'
import { isAtMost, isLess } from './ordering.ts'
import type { CelValue } from './values.ts'

type Operation = (frame: Frame, a: CelValue, b: CelValue) => CelValue

const operations: Readonly<Record<BinaryOperator, Operation>> = {
  '==': isEqual,
  '!=': (frame, a, b) => !isEqual(frame, a, b),
  '<': isLess,
  '<=': isAtMost,
  '>': (frame, a, b) => isLess(frame, b, a),
  '>=': (frame, a, b) => isAtMost(frame, b, a),
  in: isIn,
  '+': add,
  '-': subtract,
  '*': (frame, a, b) => numeric(frame, '*', a, b),
  '/': (frame, a, b) => numeric(frame, '/', a, b),
  '%': (frame, a, b) => numeric(frame, '%', a, b),
}

/** A step for `left operator right`; `literal` is the right side's value when it is written out. */
export function binaryStep(operator: BinaryOperator, left: Step, right: Step, literal: CelValue | undefined): Step {
  if (typeof literal === 'string' && operator === '==') return equalsText(left, literal)
  if (typeof literal === 'string' && operator === '!=') return differsFromText(left, literal)
  return strict(operations[operator], left, right)
}

function strict(operation: Operation, left: Step, right: Step): Step {
  return (frame) => {
    const a = left(frame)
    if (a instanceof CelError) return a
    const b = right(frame)
    return b instanceof CelError ? b : operation(frame, a, b)
  }
}

function equalsText(left: Step, text: string): Step {
  return (frame) => {
    const value = left(frame)
    if (typeof value === 'string') return value === text
    return value instanceof CelError ? value : false
  }
}

function differsFromText(left: Step, text: string): Step {
  return (frame) => {
    const value = left(frame)
    if (typeof value === 'string') return value !== text
    return value instanceof CelError ? value : true
  }
}

function isIn(frame: Frame, element: CelValue, container: CelValue): CelValue {
  if (Array.isArray(container)) {
    frame.charge(container.length >> 1)
    return (container as readonly CelValue[]).some((other) => isEqual(frame, element, other))
  }
  return isMap(container) ? hasKey(container, element) : noSuchOverload
}
