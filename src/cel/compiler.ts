import { hasField, indexInto, indexOptional, selectOptional, selectorOf } from './access.ts'
import { negate } from './arithmetic.ts'
import { childrenOf } from './ast.ts'
import type { Bind, Call, Comprehension, Expr, Has, Index, OptionalMap, Select, Unary } from './ast.ts'
import { binaryStep } from './binary-steps.ts'
import { callStep } from './call-steps.ts'
import type { Checked } from './checker.ts'
import { comprehensionStep } from './comprehension-steps.ts'
import { CelError, noSuchOverload } from './errors.ts'
import { Budget, Frame, type Step } from './frame.ts'
import { listStep, mapStep } from './literal-steps.ts'
import { conditionalStep, logicalStep, notStep } from './logical-steps.ts'
import { optionalMapStep, otherwiseStep } from './optional-steps.ts'
import { CelOptional, CelType, type CelValue } from './values.ts'

/** A compiled expression and the number of slots it needs. */
export interface Compiled {
  readonly step: Step
  readonly slots: number
}

/** Turns a checked expression into closures that call each other. */
export function compileSteps(expr: Expr, checked: Checked): Compiled {
  const compiler = new Compiler(checked)
  return { step: compiler.step(expr), slots: compiler.slots }
}

interface Scope {
  readonly name: string
  readonly slot: number
  readonly outer: Scope | undefined
}

class Compiler {
  slots = 0
  readonly #checked: Checked
  #scope: Scope | undefined

  constructor(checked: Checked) {
    this.#checked = checked
  }

  step(expr: Expr): Step {
    switch (expr.kind) {
      case 'literal': {
        const { value } = expr
        return () => value
      }
      case 'name':
        return this.#name(expr, expr.name, expr.isRooted)
      case 'select':
        return this.#select(expr)
      case 'has':
        return this.#has(expr)
      case 'index':
        return this.#index(expr)
      case 'call':
        return this.#call(expr)
      case 'unary':
        return this.#unary(expr)
      case 'binary': {
        const literal = expr.right.kind === 'literal' ? expr.right.value : undefined
        return binaryStep(expr.operator, this.step(expr.left), this.step(expr.right), literal)
      }
      case 'logical':
        return logicalStep(
          expr.operator,
          expr.terms.map((term) => this.step(term)),
        )
      case 'conditional':
        return conditionalStep(this.step(expr.test), this.step(expr.yes), this.step(expr.no))
      case 'list':
        return listStep(expr.elements.map(({ value, isOptional }) => ({ value: this.step(value), isOptional })))
      case 'map':
        return mapStep(
          expr.entries.map(({ key, value, isOptional }) => ({
            key: this.step(key),
            value: this.step(value),
            isOptional,
          })),
        )
      case 'comprehension':
        return this.#comprehension(expr)
      case 'bind':
        return this.#bind(expr)
      case 'optional-map':
        return this.#optionalMap(expr)
    }
  }

  /** A variable of the environment, a type name, or a variable of an enclosing comprehension. */
  #name(expr: Expr, name: string, isRooted: boolean): Step {
    const reference = this.#checked.references.get(expr)
    if (reference?.kind === 'type') {
      const value = new CelType(reference.name)
      return () => value
    }
    const slot = reference || isRooted ? undefined : this.#slotOf(name)
    if (slot !== undefined) return (frame) => frame.slots[slot]!
    return variable(reference?.kind === 'variable' ? reference.name : name)
  }

  #slotOf(name: string): number | undefined {
    for (let scope = this.#scope; scope; scope = scope.outer) if (scope.name === name) return scope.slot
    return undefined
  }

  #select(expr: Select): Step {
    const reference = this.#checked.references.get(expr)
    if (reference?.kind === 'variable' || reference?.kind === 'type') return this.#name(expr, reference.name, true)
    const operand = this.step(expr.operand)
    const key = reference?.kind === 'field' ? reference.field.key : expr.field
    const adapt = reference?.kind === 'field' ? (reference.field.adapt as Adapt | undefined) : undefined
    if (expr.isOptional) return adapted((frame) => selectOptional(operand(frame), key), adapt)
    const select = selectorOf(key)
    return adapted((frame) => select(operand(frame)), adapt)
  }

  #has(expr: Has): Step {
    const reference = this.#checked.references.get(expr)
    const operand = this.step(expr.operand)
    const key = reference?.kind === 'field' ? reference.field.key : expr.field
    return (frame) => hasField(operand(frame), key)
  }

  #index({ operand, index, isOptional }: Index): Step {
    const container = this.step(operand)
    if (index.kind === 'literal' && typeof index.value === 'string' && !isOptional) {
      const select = selectorOf(index.value)
      return (frame) => select(container(frame))
    }
    const at = this.step(index)
    const read = isOptional ? indexOptional : indexInto
    return (frame) => {
      const value = container(frame)
      if (value instanceof CelError) return value
      const key = at(frame)
      return key instanceof CelError ? key : read(value, key)
    }
  }

  #call(expr: Call): Step {
    const reference = this.#checked.references.get(expr)
    if (reference?.kind !== 'call') return () => noSuchOverload
    const { overloads, args, isCertain } = reference
    const lazy = this.#lazyCall(expr, args)
    if (lazy) return lazy
    const call = callStep(
      overloads,
      args.map((arg) => this.step(arg)),
      isCertain,
    )
    const isConstant = overloads.length > 0 && overloads.every((overload) => overload.isConstant)
    if (!isConstant || !args.every((arg) => arg.kind === 'literal')) return call
    const value = call(new Frame({}, 0, new Budget(1e6), undefined))
    return () => value
  }

  /** `or` and `orValue` evaluate their argument only when the optional is empty. */
  #lazyCall({ name, target }: Call, args: readonly Expr[]): Step | undefined {
    const [first, second] = args
    if (!target || !first || !second || args.length !== 2 || (name !== 'or' && name !== 'orValue')) return undefined
    return otherwiseStep(this.step(first), this.step(second), name === 'orValue')
  }

  #unary({ operator, operand }: Unary): Step {
    const inner = this.step(operand)
    if (operator === '!') return notStep(inner)
    return (frame) => {
      const value = inner(frame)
      return value instanceof CelError ? value : negate(value)
    }
  }

  #comprehension(expr: Comprehension): Step {
    const range = this.step(expr.range)
    const outer = this.#scope
    const [first = 0, second] = expr.variables.map((name) => this.#declare(name))
    const predicate = expr.predicate && this.step(expr.predicate)
    const result = expr.result && this.step(expr.result)
    this.#scope = outer
    const cost = 1 + (bodySize(expr) >> 2)
    return comprehensionStep(expr.macro, { range, first, second, predicate, result, cost })
  }

  #bind({ variable: name, value, body }: Bind): Step {
    const bound = this.step(value)
    const outer = this.#scope
    const slot = this.#declare(name)
    const inner = this.step(body)
    this.#scope = outer
    return (frame) => {
      frame.slots[slot] = bound(frame)
      return inner(frame)
    }
  }

  #optionalMap({ target, variable: name, body, isFlat }: OptionalMap): Step {
    const optional = this.step(target)
    const outer = this.#scope
    const slot = this.#declare(name)
    const inner = this.step(body)
    this.#scope = outer
    return optionalMapStep(optional, inner, { slot, isFlat })
  }

  #declare(name: string): number {
    const slot = this.slots
    this.slots += 1
    this.#scope = { name, slot, outer: this.#scope }
    return slot
  }
}

type Adapt = (json: CelValue) => CelValue

function adapted(step: Step, adapt: Adapt | undefined): Step {
  if (!adapt) return step
  return (frame) => {
    const value = step(frame)
    if (value instanceof CelError) return value
    if (!(value instanceof CelOptional)) return adapt(value)
    return value.value === undefined ? value : new CelOptional(adapt(value.value))
  }
}

function variable(name: string): Step {
  const missing = new CelError(`no such variable: ${name}`)
  const read: Step = ({ bindings }) => (Object.hasOwn(bindings, name) ? (bindings[name] ?? null) : missing)
  // Only names every object inherits need the careful look.
  return name in {} ? read : (frame) => frame.bindings[name] ?? read(frame)
}

/** A function does more than an operator or a selection, and so does looking into a list or map. */
function weightOf({ kind }: Expr): number {
  if (kind === 'call') return 8
  return kind === 'index' ? 4 : 1
}

/** Nodes evaluated in one round, not counting the rounds of loops inside, which pay for themselves. */
function bodySize({ predicate, result }: Comprehension): number {
  const size = (expr: Expr): number =>
    expr.kind === 'comprehension'
      ? 1 + size(expr.range)
      : childrenOf(expr).reduce((sum, child) => sum + size(child), weightOf(expr))
  return (predicate ? size(predicate) : 0) + (result ? size(result) : 0)
}
