import { dottedPath, isRootedPath, type Call, type Expr } from './ast.ts'
import { overloadsOf, type Environment } from './environment.ts'
import type { Overload } from './functions.ts'
import { typeType, type Type } from './types.ts'

/** What a name outside every comprehension means. */
export interface Global {
  readonly reference: { readonly kind: 'variable' | 'type'; readonly name: string }
  readonly type: Type
}

/** A function that a call may mean, and the arguments it then has. */
interface Callee {
  readonly overloads: readonly Overload[]
  /** The target of a member call comes first. */
  readonly args: readonly Expr[]
}

/** The variable or type name that a path means, tried in the container and then further out. */
export function findGlobal(environment: Environment, expr: Expr, path: string): Global | undefined {
  for (const name of candidates(environment, path, isRootedPath(expr))) {
    const variable = environment.variables.get(name)
    if (variable) return { reference: { kind: 'variable', name }, type: variable }
    const type = environment.typeNames.get(name)
    if (type) return { reference: { kind: 'type', name }, type: typeType(type) }
  }
  return undefined
}

/** The function a call means: one with a qualified name such as `math.abs`, or else a member of its target. */
export function findFunction(environment: Environment, { target, name, args, isRooted }: Call): Callee | undefined {
  const path = target ? dottedPath(target) : []
  const isAbsolute = isRooted || (target !== undefined && isRootedPath(target))
  for (const candidate of path ? candidates(environment, [...path, name].join('.'), isAbsolute) : []) {
    const overloads = overloadsOf(environment, candidate, false)
    if (overloads.length) return { overloads, args }
  }
  const overloads = target ? overloadsOf(environment, name, true) : []
  return target && overloads.length ? { overloads, args: [target, ...args] } : undefined
}

/** In container `a.b` the name `c` may be `a.b.c`, `a.c` or `c`. */
function candidates({ container }: Environment, name: string, isRooted: boolean): string[] {
  const parts = isRooted || !container ? [] : container.split('.')
  const prefixes = parts.map((_, index) => `${parts.slice(0, parts.length - index).join('.')}.${name}`)
  return [...prefixes, name]
}
