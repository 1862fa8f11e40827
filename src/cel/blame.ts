import { childrenOf, type Comprehension, type Expr } from './ast.ts'
import { check } from './checker.ts'
import { compileSteps } from './compiler.ts'
import { withVariables, type Environment } from './environment.ts'
import { CelError, issueAt } from './errors.ts'
import type { Budget } from './frame.ts'
import { parse } from './parser.ts'
import { Program, type Bindings } from './program.ts'
import { dynType } from './types.ts'
import type { CelValue } from './values.ts'

/** The part of an expression that decides its result, and the items of the lists it was evaluated for, outermost first. */
export interface Blame {
  readonly line: number
  readonly column: number
  readonly items: readonly number[]
}

type Result = 'true' | 'false' | 'error'

interface Search {
  readonly source: string
  readonly environment: Environment
  readonly bindings: Bindings
  readonly budget: Budget
  readonly items: readonly number[]
}

/**
 * Finds the innermost part that makes an expression false, or fail: a term of `&&`, the item that `all` fails for, the item that `!exists` finds. Undefined
 * when it is the expression as a whole. Values of the data are never part of the answer.
 */
export function blame(
  { source, environment }: { readonly source: string; readonly environment: Environment },
  given: { readonly bindings: Bindings; readonly budget: Budget; readonly result: Result },
): Blame | undefined {
  const root = parse(source, environment.macros, environment.limits)
  const found = descend(root, given.result, { source, environment, ...given, items: [] })
  if (!found || (found.expr === root && found.items.length === 0)) return undefined
  const { line, column } = issueAt(source, startOf(found.expr), '')
  return { line, column, items: found.items }
}

interface Found {
  readonly expr: Expr
  readonly items: readonly number[]
}

function descend(expr: Expr, wanted: Result, search: Search): Found | undefined {
  const self = { expr, items: search.items }
  switch (expr.kind) {
    case 'logical': {
      const decides = wanted === 'error' || (expr.operator === '&&') === (wanted === 'false')
      return decides ? first(expr.terms, wanted, search) : self
    }
    case 'unary':
      return expr.operator === '!' ? descend(expr.operand, opposite[wanted], search) : self
    case 'bind':
      return descend(expr.body, wanted, bound(search, { [expr.variable]: valueOf(expr.value, search) }))
    case 'comprehension':
      return descendItems(expr, wanted, search) ?? self
    default:
      return (wanted === 'error' ? first(childrenOf(expr), wanted, search) : undefined) ?? self
  }
}

const opposite = { true: 'false', false: 'true', error: 'error' } as const

function first(parts: readonly Expr[], wanted: Result, search: Search): Found | undefined {
  const part = parts.find((each) => resultOf(programOf(each, search), search) === wanted)
  return part && descend(part, wanted, search)
}

/** The first item that decides `all`, decides `exists`, or fails. */
function descendItems(expr: Comprehension, wanted: Result, search: Search): Found | undefined {
  const { macro, range, variables, predicate, result } = expr
  if (wanted === 'error' && resultOf(programOf(range, search), search) === 'error')
    return descend(range, wanted, search)
  const decides = wanted === 'error' || macro === (wanted === 'false' ? 'all' : 'exists')
  const values = valueOf(range, search)
  if (!decides || !Array.isArray(values)) return undefined
  const parts = [predicate, result].filter((part) => part !== undefined)
  const programs = parts.map((part) =>
    programOf(part, bound(search, Object.fromEntries(variables.map((name) => [name, null])))),
  )
  for (const [item, value] of values.entries()) {
    if ((search.budget.remaining -= costOfItem) < 0) return undefined
    const [one = '', two] = variables
    const element = value as CelValue
    const within = bound(search, two === undefined ? { [one]: element } : { [one]: BigInt(item), [two]: element })
    const at = programs.findIndex((program) => resultOf(program, within) === wanted)
    if (at >= 0) return descend(parts[at]!, wanted, { ...within, items: [...search.items, item] })
  }
  return undefined
}

const costOfItem = 10

function bound(search: Search, variables: Bindings): Search {
  const types = Object.fromEntries(Object.keys(variables).map((name) => [name, dynType]))
  const environment = withVariables(search.environment, types)
  return { ...search, environment, bindings: { ...search.bindings, ...variables } }
}

function valueOf(expr: Expr, search: Search): CelValue {
  return programOf(expr, search).evaluate(search.bindings, search)
}

function programOf(expr: Expr, { source, environment }: Search): Program {
  const checked = check(expr, environment)
  return new Program(source, checked, compileSteps(expr, checked))
}

function resultOf(program: Program, search: Search): Result | undefined {
  const value = program.evaluate(search.bindings, search)
  if (value instanceof CelError) return value.kind === 'evaluation' ? 'error' : undefined
  return typeof value === 'boolean' ? (value ? 'true' : 'false') : undefined
}

/** Where an expression begins: an operator stands behind its first operand. */
function startOf(expr: Expr): number {
  return Math.min(expr.at, ...childrenOf(expr).map(startOf))
}
