import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

export interface Measured<T> {
  readonly result: T
  /** User and system time of this process. */
  readonly cpuMs: number
  /** How much more the heap held at the end, with everything that can go gone before. */
  readonly grownBytes: number
}

/** Runs something once, on a heap that has just been swept. */
export async function measure<T>(work: () => Promise<T>): Promise<Measured<T>> {
  collect()
  const heap = process.memoryUsage().heapUsed
  const cpu = process.cpuUsage()
  const result = await work()
  const { user, system } = process.cpuUsage(cpu)
  return { result, cpuMs: (user + system) / 1000, grownBytes: process.memoryUsage().heapUsed - heap }
}

export function mebibytes(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(0)
}

/** What the heap holds when everything that can go is gone. */
export function heapMebibytes(): string {
  collect()
  return mebibytes(process.memoryUsage().heapUsed)
}
