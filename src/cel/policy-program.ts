import { compile } from './compile.ts'
import type { Environment } from './environment.ts'
import { admissionEnvironment } from './environments.ts'
import { CelCompileError, CelError } from './errors.ts'
import { Budget } from './frame.ts'
import type { Program } from './program.ts'
import { dynType, objectType, type Type } from './types.ts'
import type { CelValue } from './values.ts'

/** A condition or variable by name. */
interface Named {
  readonly name: string
  readonly expression: string
}

/** What policies and webhooks say in CEL. */
export interface Expressions {
  readonly paramKind?: { readonly apiVersion: string; readonly kind: string } | undefined
  readonly matchConditions?: readonly Named[] | undefined
  readonly variables?: readonly Named[] | undefined
  /** Present in a MutatingAdmissionPolicy. */
  readonly mutations?: readonly unknown[] | undefined
}

/** kube-apiserver's limits: of one expression, and of all expressions of a policy. */
const expressionCost = 1_000_000
const policyCost = 10_000_000

/** The expressions of a policy or webhook, compiled on first use. */
export class PolicyProgram {
  readonly #spec: Expressions
  readonly #programs = new Map<string, Program | CelCompileError>()
  readonly variables: readonly (Named & { readonly program: Program | CelCompileError })[]
  readonly #environment: Environment

  /** `types` are those of the object, where they are known: then expressions are checked by them. */
  constructor(spec: Expressions, types: Readonly<Record<string, Type>> = {}) {
    this.#spec = spec
    const params: Readonly<Record<string, Type>> = spec.paramKind ? { params: dynType, ...types } : types
    const known: Record<string, Type> = {}
    const environment = () =>
      admissionEnvironment(
        spec.variables?.length ? { ...params, variables: objectType('kubernetes.variables', known) } : params,
        spec.mutations !== undefined,
      )
    this.variables = (spec.variables ?? []).map(({ name, expression }) => {
      const program = compile(expression, environment())
      known[name] = program instanceof CelCompileError ? dynType : program.type
      return { name, expression, program }
    })
    this.#environment = environment()
  }

  compiled(expression: string): Program | CelCompileError {
    return this.#programs.getOrInsertComputed(expression, () => compile(expression, this.#environment))
  }

  /** An evaluation for one request; all its expressions share a cost limit. */
  evaluation(bindings: Readonly<Record<string, unknown>>): Evaluation {
    const all = { ...bindings, variables: {} }
    let remaining = policyCost
    const run = (program: Program | CelCompileError): CelValue => {
      if (program instanceof CelCompileError) return new CelError(`compilation error: ${program.message}`)
      const budget = new Budget(Math.min(expressionCost, remaining))
      remaining -= budget.remaining
      const value = program.evaluate(all, { budget })
      remaining += Math.max(0, budget.remaining)
      return value
    }
    const evaluate = (expression: string): CelValue => {
      const value = run(this.compiled(expression))
      if (!(value instanceof CelError)) return value
      const text = value.kind === 'budget' ? 'operation cancelled: actual cost limit exceeded' : value.message
      return new CelError(`expression '${expression}' resulted in error: ${text}`)
    }
    for (const { name, program } of this.variables) {
      let value: CelValue | undefined
      // Evaluated when an expression reads it: an error of one that is not read does not matter.
      const get = () => (value ??= named(name, run(program)))
      Object.defineProperty(all.variables, name, { enumerable: true, get })
    }
    return {
      evaluate,
      matches: () => allHold((this.#spec.matchConditions ?? []).map((each) => evaluate(each.expression))),
    }
  }
}

/** One policy on one request. */
export interface Evaluation {
  evaluate(expression: string): CelValue
  /** Whether all match conditions hold. One that is false decides, even where others fail. */
  matches(): boolean | CelError
}

function allHold(values: readonly CelValue[]): boolean | CelError {
  return !values.includes(false) && (values.find((value) => value instanceof CelError) ?? true)
}

function named(name: string, value: CelValue): CelValue {
  if (!(value instanceof CelError)) return value
  return new CelError(`composited variable "${name}" fails to evaluate: ${value.message}`)
}
