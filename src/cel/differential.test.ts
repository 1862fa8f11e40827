import { celEnv, celUint, isCelError, isCelList, isCelMap, isCelType, isCelUint, parse, plan } from '@bufbuild/cel'
import { isMessage } from '@bufbuild/protobuf'
import type { ReflectMessage } from '@bufbuild/protobuf/reflect'
import { isReflectMessage } from '@bufbuild/protobuf/reflect'
import { DurationSchema, TimestampSchema } from '@bufbuild/protobuf/wkt'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { compile } from './compile.ts'
import { createEnvironment } from './environment.ts'
import { CelCompileError, CelError } from './errors.ts'
import { canonical } from '../../test/cel/run-conformance-case.ts'
import { standardLibrary } from './libraries/standard.ts'
import { durationOf, timestampOf } from './moments.ts'
import { toDouble, toInt } from './numbers.ts'
import { CelMap } from './maps.ts'
import { randomExpression, randomVariables } from '../../test/cel/random-expression.ts'
import { dynType } from './types.ts'
import { CelType, CelUint } from './values.ts'
import type { CelValue } from './values.ts'

const runs = Number(process.env['SOJOURN_CEL_RUNS'] ?? 500)
const names = [...Object.keys(randomVariables), 'u']
const environment = createEnvironment({
  libraries: [standardLibrary],
  variables: Object.fromEntries(names.map((name) => [name, dynType])),
  isChecked: false,
})
const theirEnvironment = celEnv()
const bindings = { ...randomVariables, u: new CelUint(7n) }
const theirBindings = { ...(withBigints(randomVariables) as Record<string, never>), u: celUint(7n) }

it(`agrees with another implementation on ${runs} random expressions`, { timeout: 3_600_000 }, () => {
  fc.assert(
    fc.property(randomExpression, (source) => {
      expect(ours(source)).toBe(theirs(source))
    }),
    // The same expressions in every run of the suite: the other implementation has faults of its own to be found.
    { numRuns: runs, ...(process.env['SOJOURN_CEL_RUNS'] ? {} : { seed: 1 }) },
  )
})

function ours(source: string): string {
  const program = compile(source, environment)
  if (program instanceof CelCompileError) return 'error'
  const value = program.evaluate(bindings)
  return value instanceof CelError ? 'error' : canonical(value)
}

function theirs(source: string): string {
  try {
    const value = plan(theirEnvironment, parse(source))(theirBindings)
    return isCelError(value) ? 'error' : canonical(fromTheirs(value))
  } catch {
    return 'error'
  }
}

function fromTheirs(value: unknown): CelValue {
  if (typeof value === 'bigint') return toInt(value)
  if (typeof value === 'number') return toDouble(value)
  if (isCelUint(value)) return new CelUint(value.value)
  if (isCelType(value)) return new CelType(value.name)
  if (isCelList(value)) return Array.from(value, fromTheirs)
  if (isCelMap(value)) {
    const map = new CelMap()
    for (const [key, entry] of value) map.add(fromTheirs(key), fromTheirs(entry))
    return map
  }
  const message = isReflectMessage(value) ? (value as ReflectMessage).message : value
  if (isMessage(message, TimestampSchema)) return timestampOf(Number(message.seconds), message.nanos)
  if (isMessage(message, DurationSchema)) return durationOf(Number(message.seconds), message.nanos)
  return value as CelValue
}

function withBigints(value: unknown): unknown {
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value) : value
  if (Array.isArray(value)) return value.map(withBigints)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withBigints(inner)]))
}
