import { describe, expect, it } from 'vitest'
import type { Http } from '../runtime/http/http.ts'
import { ForgeApi, ResponseCache } from './forge-api.ts'
import { RateLimiter } from './rate-limiter.ts'

const base = 'https://forge.test/api'
const answering =
  (body: string, headers = {}): Http =>
  () =>
    Promise.resolve({ status: 200, headers, body: Buffer.from(body) })
const api = (http: Http, cache?: ResponseCache, token = 'a') =>
  new ForgeApi({ http, base, headers: { authorization: token }, ...(cache ? { cache } : {}) })

describe('133: the forge of a tenant', () => {
  it.each([
    ['millions of empty lists', `[${'[],'.repeat(2_000_000)}0]`],
    ['deep lists', '['.repeat(100_000) + ']'.repeat(100_000)],
    ['many numbers', `[${'1,'.repeat(20_000)}0]`],
  ])('133: fills no memory by %s', async (_, body) => {
    await expect(api(answering(body)).get('/x')).rejects.toMatchObject({ kind: 'Transient' })
  })

  it('133: is read whole where it answers as forges do', async () => {
    const pulls = Array.from({ length: 3000 }, (_, number) => ({
      number,
      title: 'a change of something',
      draft: false,
    }))
    await expect(api(answering(JSON.stringify(pulls))).get('/x')).resolves.toEqual(pulls)
  })

  it('133: fills no memory by a list that goes on and on', async () => {
    const page = JSON.stringify([{ body: 'b'.repeat(1_000_000) }])
    let pages = 0
    const http: Http = () => {
      pages++
      return Promise.resolve({
        status: 200,
        headers: { link: `<${base}/x?${pages}>; rel="next"` },
        body: Buffer.from(page),
      })
    }
    const read = (items: readonly object[]) => ({ items, next: '/x' })
    await expect(api(http).getAll('/x', read)).rejects.toThrow('lists more than')
    expect(pages).toBeLessThan(40)
  })

  it('133: fills no cache: long answers are not kept, and of short ones 16 MiB', async () => {
    const cache = new ResponseCache()
    const etag = { etag: '"1"' }
    await api(answering(JSON.stringify(['x'.repeat(100_000)]), etag), cache).get('/long')
    expect(cache.size).toBe(0)
    const short = JSON.stringify(['x'.repeat(60_000)])
    for (let index = 0; index < 300; index++) await api(answering(short, etag), cache).get(`/${index}`)
    expect(cache.size).toBeGreaterThan(250)
    expect(cache.size).toBeLessThan(280)
  })

  it('133: is asked with its own ETags only, by each credential', async () => {
    const cache = new ResponseCache()
    const sent: (string | undefined)[] = []
    const http: Http = ({ headers = {} }) => {
      sent.push(headers['if-none-match'])
      return Promise.resolve({ status: 200, headers: { etag: '"1"' }, body: Buffer.from('{}') })
    }
    for (const token of ['a', 'b', 'a']) await api(http, cache, token).get('/x')
    expect(sent).toEqual([undefined, undefined, '"1"'])
  })

  it('133: has its limits forgotten in time, however many hosts tenants name', () => {
    const limiter = new RateLimiter({ now: () => 0, burst: 1 })
    limiter.take('first.test', '')
    expect(() => limiter.take('first.test', '')).toThrow('rate limit')
    for (let index = 0; index < 10_000; index++) limiter.take(`h${index}.test`, '')
    expect(() => limiter.take('first.test', '')).not.toThrow()
  })
})
