import http2 from 'node:http2'
import { describe, expect, it } from 'vitest'
import { inFlightOf } from './routing/counters.ts'
import type { StaticAnswer } from './routing/static-answer.ts'
import { askHttp2 as ask, eventually, roundTrip, startEcho, startProxy } from '../../../../test/activator/proxy.ts'

const answers: readonly StaticAnswer[] = [
  { path: '/robots.txt', status: 200, type: 'text/plain', body: 'nobody', when: 'always' },
  { path: '/health', status: 204, type: 'text/plain', body: '', when: 'unavailable' },
]
const get = (path: string, method = 'GET') =>
  `${method} ${path} HTTP/1.1\r\nHost: app.test\r\nConnection: close\r\n\r\n`

describe('a static answer', () => {
  it('is given whether the workload is up or not, if it is one for always, and neither wakes nor counts (C53)', async () => {
    await using pod = await startEcho()
    await using it = await startProxy({ staticAnswers: answers })
    expect(await roundTrip(it.port, get('/robots.txt?x=1'))).toMatch(/^HTTP\/1.1 200[^]*static-answer[^]*nobody$/)
    expect(await roundTrip(it.port, get('/robots.txt', 'HEAD'))).toMatch(/Content-Length: 6[^]*\r\n\r\n$/)
    it.warm(pod.address)
    expect(await roundTrip(it.port, get('/robots.txt'))).toContain('nobody')
    expect([it.woken, pod.received, [...it.proxy.counters[0].slot(0)].slice(0, 2)]).toEqual([[], [], [0, 0]])
  })

  it('for when the workload is down leaves the rest to the workload (C53)', async () => {
    await using pod = await startEcho()
    await using it = await startProxy({ staticAnswers: answers })
    expect(await roundTrip(it.port, get('/health'))).toMatch(/^HTTP\/1.1 204 No Content\r\n(?![^]*Content-Length)/)
    expect(it.woken).toEqual([])
    it.warm(pod.address)
    expect(await roundTrip(it.port, get('/health'))).toContain('GET /health')
    expect(await roundTrip(it.port, get('/robots.txt', 'DELETE'))).toContain('DELETE /robots.txt')
    expect(it.proxy.counters[0].slot(0)[0]).toBe(2)
  })

  it('is given over HTTP/2 as well (C53)', async () => {
    await using it = await startProxy({ staticAnswers: answers })
    const session = http2.connect(`http://127.0.0.1:${it.port}`)
    const { headers, body } = await ask(session, { ':path': '/robots.txt' })
    expect([headers[':status'], headers['x-sojourn-because'], body]).toEqual([200, 'static-answer', 'nobody'])
    expect((await ask(session, { ':path': '/health' })).headers[':status']).toBe(204)
    expect([it.woken, inFlightOf(it.proxy.counters[0].slot(0))]).toEqual([[], 0])
    session.destroy()
  })
})

describe('a waiting page', () => {
  const customPage = { type: 'text/html; charset=utf-8', body: '<p>soon</p>' }
  const navigation = `GET / HTTP/1.1\r\nHost: app.test\r\nConnection: close\r\nAccept: text/html\r\nSec-Fetch-Mode: navigate\r\n\r\n`

  it('can be the user’s own, with files beside it that wake no workload (C52)', async () => {
    await using pod = await startEcho()
    const style: StaticAnswer = { path: '/style.css', status: 200, type: 'text/css', body: 'p{}', when: 'unavailable' }
    await using it = await startProxy(
      { waitingPage: true, customPage, staticAnswers: [style] },
      { waitingPageAfterMs: 0 },
    )
    expect(await roundTrip(it.port, get('/style.css'))).toMatch(/^HTTP\/1.1 200[^]*text\/css[^]*p{}$/)
    expect(it.woken).toEqual([])
    expect(await roundTrip(it.port, navigation)).toMatch(/^HTTP\/1.1 503[^]*Retry-After[^]*<p>soon<\/p>$/)
    it.warm(pod.address)
    expect(await roundTrip(it.port, get('/style.css'))).toContain('GET /style.css')
  })

  it('reaches browsers that speak HTTP/2, and no program that does (C52, C99)', async () => {
    await using pod = await startEcho()
    await using it = await startProxy({ waitingPage: true }, { waitingPageAfterMs: 0 })
    const session = http2.connect(`http://127.0.0.1:${it.port}`)
    const program = ask(session, { accept: '*/*' })
    const shown = await ask(session, { accept: 'text/html', 'sec-fetch-mode': 'navigate' })
    expect([shown.headers[':status'], shown.headers['x-sojourn-because']]).toEqual([503, 'waking'])
    expect(shown.body).toContain('http-equiv="refresh"')
    it.warm(pod.address)
    expect((await program).headers[':status']).toBe(200)
    session.destroy()
    await eventually(() => inFlightOf(it.proxy.counters[0].slot(0)) === 0)
  })

  it('is not for probes over HTTP/2, which wake no workload (C98)', async () => {
    await using it = await startProxy({ probePaths: ['/ping'] })
    const session = http2.connect(`http://127.0.0.1:${it.port}`)
    for (const headers of [{ 'user-agent': 'GoogleHC/1.0' }, { ':path': '/ping' }])
      expect((await ask(session, headers)).headers['x-sojourn-because']).toBe('asleep')
    expect([it.woken, it.proxy.counters[0].slot(0)[0]]).toEqual([[], 0])
    session.destroy()
  })
})
