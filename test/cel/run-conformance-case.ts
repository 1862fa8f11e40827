import { compile } from '../../src/cel/compile.ts'
import { createEnvironment } from '../../src/cel/environment.ts'
import { extensionLibraries } from '../../src/cel/environments.ts'
import { CelCompileError, CelError } from '../../src/cel/errors.ts'
import { toJson } from '../../src/cel/json.ts'
import { entriesOf, isMap } from '../../src/cel/maps.ts'
import { typeNameOf } from '../../src/cel/type-of.ts'
import * as types from '../../src/cel/types.ts'
import type { Type } from '../../src/cel/types.ts'
import { overload } from '../../src/cel/functions.ts'
import type { Library, Overload } from '../../src/cel/functions.ts'
import { CelOptional } from '../../src/cel/values.ts'
import type { CelValue } from '../../src/cel/values.ts'
import { fromSpecType, fromSpecValue } from './conformance-cases.ts'
import type { Case } from './conformance-cases.ts'

/** Why a test does not pass; `undefined` when it does. */
export function failureOf({ test }: Case): string | undefined {
  const { resultMatcher } = test
  const outcome = outcomeOf(test)
  switch (resultMatcher.case) {
    case 'value':
      return difference(canonical(fromSpecValue(resultMatcher.value)), outcome.shown)
    case 'typedResult': {
      const { deducedType, result } = resultMatcher.value
      const type = deducedType && types.typeText(fromSpecType(deducedType))
      const mistyped = type === undefined ? undefined : difference(type, outcome.type)
      return mistyped ?? (result && difference(canonical(fromSpecValue(result)), outcome.shown))
    }
    case 'evalError':
    case 'anyEvalErrors':
      return outcome.isError ? undefined : `expected an error, got ${outcome.shown}`
    case undefined:
      return difference('bool true', outcome.shown)
    default:
      return 'unknowns are not supported'
  }
}

interface Outcome {
  readonly shown: string
  readonly type: string
  readonly isError: boolean
}

function outcomeOf(test: Case['test']): Outcome {
  const program = compile(test.expr, environmentOf(test))
  if (program instanceof CelCompileError) return { shown: `compile error ${program.message}`, type: '', isError: true }
  const bindings = Object.entries(test.bindings).map(([name, { kind }]): [string, CelValue] => [
    name,
    kind.case === 'value' ? fromSpecValue(kind.value) : new CelError('not a value'),
  ])
  const type = types.typeText(program.type)
  if (test.checkOnly) return { shown: '', type, isError: false }
  const value = program.evaluate(Object.fromEntries(bindings))
  return { shown: canonical(value), type, isError: value instanceof CelError }
}

function environmentOf({ typeEnv, bindings, container, disableCheck, disableMacros }: Case['test']) {
  const variables: Record<string, Type> = Object.fromEntries(Object.keys(bindings).map((name) => [name, types.dynType]))
  const functions: Overload[] = []
  for (const { name, declKind } of typeEnv) {
    if (declKind.case === 'ident' && declKind.value.type) variables[name] = fromSpecType(declKind.value.type)
    if (declKind.case === 'function') {
      for (const { params, resultType, isInstanceFunction } of declKind.value.overloads) {
        const parameters = params.map(fromSpecType)
        const result = resultType ? fromSpecType(resultType) : types.dynType
        const stub = overload('f() -> dyn', () => new CelError('unbound function'))
        functions.push({ ...stub, name, isMember: isInstanceFunction, parameters, result, isGeneric: true })
      }
    }
  }
  const declared: Library = { name: 'declared', overloads: functions }
  const environment = createEnvironment({
    libraries: [...extensionLibraries, declared],
    variables,
    container,
    isChecked: !disableCheck,
  })
  return disableMacros ? { ...environment, macros: new Set<string>() } : environment
}

function difference(expected: string, actual: string): string | undefined {
  return expected === actual ? undefined : `expected ${expected}, got ${actual}`
}

/** A text that two values share only when they are of the same type and value. */
export function canonical(value: CelValue): string {
  if (value instanceof CelError) return `error ${value.message}`
  if (Array.isArray(value)) return `[${(value as readonly CelValue[]).map(canonical).join(', ')}]`
  if (isMap(value)) {
    const entries = Array.from(entriesOf(value), ([key, entry]) => `${canonical(key)}: ${canonical(entry)}`)
    return `{${entries.toSorted().join(', ')}}`
  }
  if (value instanceof CelOptional) return value.value === undefined ? 'none' : `optional(${canonical(value.value)})`
  return `${typeNameOf(value)} ${JSON.stringify(toJson(value))}`
}
