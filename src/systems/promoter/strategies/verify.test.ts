import { expect, it } from 'vitest'
import { verify, type CheckPorts } from './verify.ts'

it.each(['internal-password=hunter2', 'null', '{"data": internal-password'])(
  '72: an answer that is no result of Prometheus is not quoted: %s',
  async (text) => {
    const ports = {
      http: () => Promise.resolve({ status: 200, headers: {}, body: Buffer.from(text) }),
      now: () => 0,
      signal: AbortSignal.timeout(60_000),
    } as unknown as CheckPorts
    const prometheus = { url: 'https://metrics.example.org', query: 'up > 0' }
    const plan = { checks: [{ prometheus }], intervalMs: 1000 } as unknown as Parameters<typeof verify>[0]
    const message = 'Prometheus https://metrics.example.org did not answer in JSON'
    expect(await verify(plan, ports)).toEqual({ result: 'unverified', message, retryAt: 1000 })
  },
)
