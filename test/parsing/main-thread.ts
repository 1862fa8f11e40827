import { threadCpuUsage } from 'node:process'
import { bytesBody } from '../../src/apiserver/http/request/body.ts'
import { objectTypes } from '../../src/apiserver/http/request/edge-request.ts'
import type { HostileText } from './hostile-texts.ts'

/** What reading a body cost, and whether it was refused. */
export interface Cost {
  readonly refused: string | undefined
  /** Processor time of the thread that asked. */
  readonly hereMs: number
  /** Until the answer. */
  readonly elapsedMs: number
}

/** Reads a body as the API server does. */
export async function costOf({ bytes, type }: Pick<HostileText, 'bytes' | 'type'>): Promise<Cost> {
  const before = threadCpuUsage()
  const startedMs = performance.now()
  const refused = await bytesBody(bytes, type)
    .decode({ types: objectTypes })
    .then(
      () => undefined,
      (error: Error) => error.message,
    )
  const { user, system } = threadCpuUsage(before)
  return { refused, hereMs: (user + system) / 1000, elapsedMs: performance.now() - startedMs }
}
