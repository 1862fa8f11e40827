import { cases } from './cases.ts'
import { engines } from './engines.ts'
import type { EngineName } from './engines.ts'

/** Nanoseconds per operation of one engine in one case; `undefined` where the engine fails. */
export interface Figures {
  readonly compileNs: number
  readonly evalNs: number
  readonly limitedNs?: number
}

const [name, millis] = process.argv.slice(2)
console.log(JSON.stringify(measureAll(engines[name as EngineName](), Number(millis))))

function measureAll(engine: ReturnType<(typeof engines)[EngineName]>, span: number): Record<string, Figures> {
  const figures: Record<string, Figures> = {}
  for (const { name: caseName, source } of cases) {
    try {
      const evaluate = engine.compile(source)
      // A list case without a match is false, every other case true; a wrong result gives no figure.
      if (evaluate() !== !caseName.startsWith('filter')) continue
      const compileNs = measure(span, () => engine.compile(source))
      figures[caseName] = { compileNs, evalNs: measure(span, evaluate) }
    } catch (error) {
      console.error(`${name}: ${caseName}: ${(error as Error).message.slice(0, 100)}`)
    }
  }
  return figures
}

/** The best mean of batches that each take about a twentieth of the span, after one span to warm up. */
function measure(span: number, work: () => unknown): number {
  let count = 0
  for (const start = performance.now(); performance.now() - start < span; count++) work()
  const batch = Math.max(1, Math.floor(count / 20))
  let best = Number.POSITIVE_INFINITY
  for (const start = performance.now(); performance.now() - start < span;) {
    const began = performance.now()
    for (let turn = 0; turn < batch; turn++) work()
    best = Math.min(best, ((performance.now() - began) / batch) * 1e6)
  }
  return best
}
