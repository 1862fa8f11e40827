import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

export interface Measured<T> {
  readonly result: T
  /** User and system time of this process. */
  readonly cpuMs: number
  /** How much more the heap held at the end, before and after everything that can go went. */
  readonly grownBytes: number
  readonly keptBytes: number
  /** How much more it held at the most, as far as was seen. */
  readonly peakBytes: number
}

/** Runs something once, on a heap that has just been swept. */
export async function measure<T>(work: () => Promise<T>): Promise<Measured<T>> {
  collect()
  const heap = process.memoryUsage().heapUsed
  const held = () => process.memoryUsage().heapUsed - heap
  let peakBytes = 0
  const looking = setInterval(() => (peakBytes = Math.max(peakBytes, held())), 20)
  const cpu = process.cpuUsage()
  const result = await work()
  const { user, system } = process.cpuUsage(cpu)
  clearInterval(looking)
  const grownBytes = held()
  collect()
  return { result, cpuMs: (user + system) / 1000, grownBytes, keptBytes: held(), peakBytes }
}

export function mebibytes(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(0)
}

/** What the heap holds when everything that can go is gone. */
export function heapMebibytes(): string {
  collect()
  return mebibytes(process.memoryUsage().heapUsed)
}

/** Says whether a figure is within its bound; the process fails when one is not. */
export function within(what: string, value: number, most: number): void {
  const holds = value < most
  console.log(`${what}: ${value.toFixed(1)}, wanted < ${most}: ${holds ? 'holds' : 'DOES NOT HOLD'}`)
  if (!holds) process.exitCode = 1
}
