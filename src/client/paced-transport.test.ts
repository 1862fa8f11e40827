import { describe, expect, it } from 'vitest'
import type { ApiResponse, Transport } from '../kube/transport.ts'
import { pacedTransport } from './paced-transport.ts'

const ok: ApiResponse = { status: 200, headers: {}, body: {} }
const get = { method: 'GET', path: '/' } as const

function paced(inner: Transport, options: { maxConcurrent?: number; tries?: number } = {}) {
  const slept: number[] = []
  const transport = pacedTransport(inner, {
    sleep: (ms) => {
      slept.push(ms)
      return Promise.resolve()
    },
    random: () => 0,
    ...options,
  })
  return { transport, slept }
}

describe('pacedTransport', () => {
  it('waits as long as the server asks, then tries again', async () => {
    const answers = [{ status: 429, headers: { 'retry-after': '7' }, body: {} }, ok]
    const { transport, slept } = paced(() => Promise.resolve(answers.shift() ?? ok))
    expect((await transport(get)).status).toBe(200)
    expect(slept).toEqual([7000])
  })

  it('hands on the refusal after its last try', async () => {
    const { transport, slept } = paced(() => Promise.resolve({ status: 429, headers: {}, body: {} }), { tries: 3 })
    expect((await transport(get)).status).toBe(429)
    expect(slept).toHaveLength(2)
  })

  it('hands on a 503 that names no time', async () => {
    const { transport, slept } = paced(() => Promise.resolve({ status: 503, headers: {}, body: 'down' }))
    expect((await transport(get)).status).toBe(503)
    expect(slept).toEqual([])
  })

  it('never has more under way than it may, and loses none', async () => {
    let inside = 0
    let most = 0
    const { transport } = paced(
      async () => {
        most = Math.max(most, ++inside)
        await new Promise((resolve) => setImmediate(resolve))
        inside--
        return ok
      },
      { maxConcurrent: 4 },
    )
    const answers = await Promise.all(Array.from({ length: 100 }, () => transport(get)))
    expect(answers).toHaveLength(100)
    expect(most).toBe(4)
  })

  it('frees the place of one who leaves while waiting', async () => {
    let release = () => {}
    const { transport } = paced(() => new Promise((resolve) => (release = () => resolve(ok))), { maxConcurrent: 1 })
    const first = transport(get)
    const leaving = new AbortController()
    const second = transport({ ...get, signal: leaving.signal })
    leaving.abort(new Error('left'))
    await expect(second).rejects.toThrow('left')
    const third = transport(get)
    release()
    await first
    await new Promise((resolve) => setImmediate(resolve))
    release()
    expect((await third).status).toBe(200)
  })
})
