import { compile } from '../../src/cel/compile.ts'
import { cleanerEnvironment } from '../../src/cel/environments.ts'
import { CelCompileError } from '../../src/cel/errors.ts'
import { hostileData, hostiles } from '../../test/cel/hostile.ts'
import { dynType } from '../../src/cel/types.ts'

/** How long the default budget lets each hostile expression go on, slowest first; the best of three evaluations. */
const data = hostileData()
const environment = cleanerEnvironment(Object.fromEntries(Object.keys(data).map((name) => [name, dynType])))
const rows = hostiles.map(({ name, source }) => {
  const began = performance.now()
  const program = compile(source, environment)
  const compileMs = performance.now() - began
  if (program instanceof CelCompileError) throw program
  const times = [1, 2, 3].map(() => elapsed(() => program.evaluate(data)))
  return { name, compileMs, ms: Math.min(...times) }
})
console.log(JSON.stringify(rows.toSorted((a, b) => b.ms - a.ms)))

function elapsed(work: () => unknown): number {
  const began = performance.now()
  work()
  return performance.now() - began
}
