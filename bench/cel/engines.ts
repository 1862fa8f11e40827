import { celEnv, plan, parse as parseBuf } from '@bufbuild/cel'
import { strings } from '@bufbuild/cel/ext'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { Environment as MarcEnvironment } from '@marcbachmann/cel-js'
import { compile } from '../../src/cel/compile.ts'
import { cleanerEnvironment } from '../../src/cel/environments.ts'
import { CelCompileError } from '../../src/cel/errors.ts'
import { Budget } from '../../src/cel/frame.ts'
import { CelTimestamp } from '../../src/cel/moments.ts'
import { Trace } from '../../src/cel/trace.ts'
import { dynType, timestampType } from '../../src/cel/types.ts'
import { now, variables } from './cases.ts'

/** One engine: compiles a source to a function that evaluates it on the cases' variables. */
export interface Engine {
  compile(source: string): () => unknown
}

export type EngineName = 'sojourn' | 'sojourn, asked when' | '@marcbachmann/cel-js' | '@bufbuild/cel'

export const engines: Readonly<Record<EngineName, () => Engine>> = {
  sojourn: () => sojourn(undefined),
  'sojourn, asked when': () => sojourn(() => new Trace()),
  '@marcbachmann/cel-js': marcbachmann,
  '@bufbuild/cel': bufbuild,
}

function sojourn(trace: (() => Trace) | undefined): Engine {
  const data = variables()
  const names = Object.keys(data).map((name) => [name, dynType] as const)
  const environment = cleanerEnvironment({ ...Object.fromEntries(names), time: timestampType })
  const { seconds, nanos } = CelTimestamp.fromMilliseconds(Date.parse(now))
  const bindings = { ...data, time: new CelTimestamp(seconds, nanos, trace ? 1 : 0) }
  return {
    compile: (source) => {
      const program = compile(source, environment)
      if (program instanceof CelCompileError) throw program
      return () => program.evaluateTraced(bindings, new Budget(1_000_000), trace?.())
    },
  }
}

function marcbachmann(): Engine {
  const data = withBigints(variables()) as Record<string, unknown>
  const environment = new MarcEnvironment({ unlistedVariablesAreDyn: true }).registerVariable(
    'time',
    'google.protobuf.Timestamp',
  )
  const bindings = { ...data, time: new Date(now) }
  return {
    compile: (source) => {
      const program = environment.parse(source)
      return () => program(bindings) as unknown
    },
  }
}

function bufbuild(): Engine {
  const environment = celEnv({ funcs: [...strings] })
  const bindings = {
    ...(withBigints(variables()) as Record<string, never>),
    time: timestampFromMs(Date.parse(now)),
  }
  return {
    compile: (source) => {
      const program = plan(environment, parseBuf(source))
      return () => program(bindings)
    },
  }
}

/** Both other engines take only bigints for ints; the copy is made outside the measured time. */
function withBigints(value: unknown): unknown {
  if (typeof value === 'number') return BigInt(value)
  if (Array.isArray(value)) return value.map(withBigints)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withBigints(inner)]))
}
