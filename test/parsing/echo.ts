import { exit } from 'node:process'
import { threadId } from 'node:worker_threads'

/** What a test asks of the thread. */
interface Asked {
  readonly say?: unknown
  readonly parse?: string
  readonly do?: 'spin' | 'sleep' | 'hoard' | 'exit' | 'fail'
  readonly ms?: number
}

/** Behaves in the parsing thread as a test asks. */
export function read(asked: Asked): unknown {
  if (asked.parse !== undefined) return JSON.parse(asked.parse)
  switch (asked.do) {
    case 'spin':
      for (;;) if (threadId < 0) return 0
    case 'sleep':
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, asked.ms)
      return 'slept'
    case 'hoard': {
      const hoard: unknown[] = []
      for (;;) hoard.push(Array.from<number>({ length: 1_000_000 }).fill(1.5))
    }
    case 'exit':
      return exit(0)
    case 'fail':
      throw new TypeError('a bug')
    default:
      return asked.say
  }
}
