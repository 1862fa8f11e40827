import { describe, expect, it } from 'vitest'
import { cell, inFlightOf } from './routing/counters.ts'
import {
  aRoute,
  eventually,
  rawClient,
  roundTrip,
  startBackend,
  startEcho,
  startProxy,
} from '../../../../test/activator/proxy.ts'

const get = 'GET / HTTP/1.1\r\nHost: app.test\r\nConnection: close\r\n'
const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

describe('a cold request', () => {
  it('waits, wakes its workload once however many wait, and is told that it was cold (C30, C31, C45)', async () => {
    await using pod = await startEcho()
    await using it = await startProxy()
    const answers = Array.from({ length: 300 }, () => roundTrip(it.port, `${get}\r\n`))
    await eventually(() => it.proxy.loadOf('t').waiting === 300)
    // Once a second at most: on a busy machine it may take more than one until all have come.
    expect(new Set(it.woken)).toEqual(new Set(['t']))
    expect(it.woken.length).toBeLessThan(30)
    expect(inFlightOf(it.proxy.counters[0].slot(0))).toBe(300)
    it.warm(pod.address)
    for (const answer of await Promise.all(answers)) expect(answer).toMatch(/200 OK[^]*X-Cold-Start: \d+\r\n/)
    const cells = it.proxy.counters[0].slot(0)
    expect([inFlightOf(cells), cells[cell.waiting], cells[cell.coldStarts]]).toEqual([0, 0, 300])
    expect(await roundTrip(it.port, `${get}\r\n`)).not.toContain('X-Cold-Start')
  })

  it('gets no cold-start header where that is switched off (C30)', async () => {
    await using pod = await startEcho()
    await using it = await startProxy({ coldStartHeader: false })
    const answer = roundTrip(it.port, `${get}\r\n`)
    await eventually(() => it.woken.length > 0)
    it.warm(pod.address)
    expect(await answer).not.toContain('X-Cold-Start')
  })

  it('frees its place when its client leaves (C36, C60)', async () => {
    await using it = await startProxy()
    const client = rawClient(it.port)
    client.send(`${get}\r\n`)
    await eventually(() => it.proxy.loadOf('t').waiting === 1)
    client.socket.destroy()
    await eventually(() => it.proxy.loadOf('t').waiting === 0)
    const cells = it.proxy.counters[0].slot(0)
    expect([inFlightOf(cells), cells[cell.waiting], cells[cell.clientLeft]]).toEqual([0, 0, 1])
  })

  it('is told 504 at its own deadline, and the pod never sees it (C32, C62)', async () => {
    await using pod = await startEcho()
    await using it = await startProxy({ readinessTimeoutMs: 1 })
    expect(await roundTrip(it.port, `${get}\r\n`)).toMatch(/^HTTP\/1.1 504[^]*Retry-After: 1\r\n/)
    it.warm(pod.address)
    expect(pod.received).toEqual([])
  })

  it('waits no longer than anything may where its route sets no bound (C33, C34)', async () => {
    await using it = await startProxy({ readinessTimeoutMs: 0 }, { maxWaitMs: 1 })
    expect(await roundTrip(it.port, `${get}\r\n`)).toMatch(/^HTTP\/1.1 504/)
  })

  it('is refused at once when too many wait on its route (C60)', async () => {
    await using it = await startProxy({ maxWaiting: 2 })
    it.proxy.setRoute(aRoute({ id: 'other', slot: 1, hosts: ['other.test'] }))
    using first = rawClient(it.port)
    using second = rawClient(it.port)
    first.send(`${get}\r\n`)
    second.send(`${get}\r\n`)
    await eventually(() => it.proxy.loadOf('t').waiting === 2)
    expect(await roundTrip(it.port, `${get}\r\n`)).toMatch(/^HTTP\/1.1 503[^]*queue-full[^]*Retry-After/)
    using third = rawClient(it.port)
    third.send('GET / HTTP/1.1\r\nHost: other.test\r\n\r\n')
    await eventually(() => it.proxy.loadOf('t').waiting === 3)
  })

  it('is refused when too many wait in all, by count or by bytes', async () => {
    await using byCount = await startProxy({}, { maxWaiting: 0 })
    expect(await roundTrip(byCount.port, `${get}\r\n`)).toMatch(/^HTTP\/1.1 503/)
    await using byBytes = await startProxy({}, { maxWaitingBytes: 10 })
    expect(await roundTrip(byBytes.port, `${get}\r\n`)).toMatch(/^HTTP\/1.1 503/)
  })

  it('is refused with the reason when the workload cannot be woken (C63)', async () => {
    await using it = await startProxy()
    const answer = roundTrip(it.port, `${get}\r\n`)
    await eventually(() => it.woken.length > 0)
    it.proxy.setTarget('t', { is: 'refusing', because: 'wake-denied', retryAfterSeconds: 7 })
    expect(await answer).toMatch(/^HTTP\/1.1 503[^]*wake-denied[^]*Retry-After: 7/)
    expect(await roundTrip(it.port, `${get}\r\n`)).toContain('wake-denied')
    expect(it.woken).toEqual(['t'])
  })

  it('is refused when its route is removed while it waits (C67)', async () => {
    await using it = await startProxy()
    const answer = roundTrip(it.port, `${get}\r\n`)
    await eventually(() => it.woken.length > 0)
    it.proxy.removeRoute('r')
    expect(await answer).toMatch(/^HTTP\/1.1 503[^]*route-gone/)
    expect(await roundTrip(it.port, `${get}\r\n`)).toMatch(/^HTTP\/1.1 404/)
  })

  it('goes to the fallback when its workload is not ready in time (C35)', async () => {
    await using spare = await startEcho()
    await using it = await startProxy({ readinessTimeoutMs: 1, fallback: spare.address })
    expect(await roundTrip(it.port, `${get}\r\n`)).toContain('200 OK')
    expect(spare.received).toHaveLength(1)
  })

  it('never goes to the fallback when its workload is ready, and is told 504 when the fallback is not there (C35)', async () => {
    await using pod = await startEcho()
    const spare = await startEcho()
    await using it = await startProxy({ readinessTimeoutMs: 1, fallback: spare.address }, { dialTimeoutMs: 1 })
    it.warm(pod.address)
    expect(await roundTrip(it.port, `${get}\r\n`)).toContain('200 OK')
    expect(spare.received).toEqual([])
    await spare[Symbol.asyncDispose]()
    it.proxy.setTarget('t', { is: 'cold' })
    expect(await roundTrip(it.port, `${get}\r\n`)).toMatch(/^HTTP\/1.1 504/)
  })

  it('is not waited for longer by the fallback than that may take, whatever the workload may (C35)', async () => {
    await using silent = await startBackend(() => {})
    await using it = await startProxy({
      readinessTimeoutMs: 1,
      fallback: silent.address,
      fallbackTimeoutMs: 1,
      responseTimeoutMs: 600_000,
    })
    expect(await roundTrip(it.port, `${get}\r\n`)).toMatch(/^HTTP\/1.1 504[^]*upstream-timeout/)
    expect(aRoute().fallbackTimeoutMs).toBe(30_000)
  })

  it('is not disturbed by news of another workload (C37)', async () => {
    await using pod = await startEcho()
    await using it = await startProxy()
    it.proxy.setRoute(aRoute({ id: 'other', target: 'u', slot: 1, hosts: ['other.test'] }))
    using client = rawClient(it.port)
    client.send(`${get}\r\n`)
    await eventually(() => it.woken.length > 0)
    it.proxy.setTarget('u', { is: 'warm', endpoints: [pod.address] })
    expect(it.proxy.loadOf('t').waiting).toBe(1)
  })
})

describe('a body that arrives while its request waits', () => {
  it('is taken in only up to the bound, then streamed (C64)', async () => {
    const size = 16_000_000
    let head = ''
    await using pod = await startBackend((text, socket) => {
      head ||= text.slice(0, text.indexOf('\r\n\r\n') + 4)
      if (socket.bytesRead === head.length + size) socket.write(ok)
    })
    await using it = await startProxy({}, { holdBytes: 65_536 })
    using client = rawClient(it.port)
    client.send(`POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: ${size}\r\nConnection: close\r\n\r\n`)
    client.socket.write(Buffer.alloc(size, 'x'))
    await eventually(() => it.woken.length > 0)
    await eventually(() => client.socket.bytesWritten > 65_536)
    // What the kernel's own buffers take is not ours; what is left in this process is most of the body.
    expect(client.socket.writableLength).toBeGreaterThan(size / 2)
    it.warm(pod.address)
    expect(await client.closed()).toContain('200 OK')
  })

  it('is not asked for before there is someone to read it (C65)', async () => {
    await using pod = await startBackend((text, socket) =>
      text.endsWith('body!') ? socket.write(ok) : socket.write('HTTP/1.1 100 Continue\r\n\r\n'),
    )
    await using it = await startProxy()
    using client = rawClient(it.port)
    client.send(
      'POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 5\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n',
    )
    await eventually(() => it.woken.length > 0)
    expect(client.text).toBe('')
    it.warm(pod.address)
    await client.until((text) => text.includes('100 Continue'))
    client.send('body!')
    expect(await client.closed()).toContain('200 OK')
  })

  it('is left unread when the time is up: 504 and the connection closes (C65)', async () => {
    await using it = await startProxy({ readinessTimeoutMs: 1 })
    const request = 'POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n'
    expect(await roundTrip(it.port, request)).toMatch(/^HTTP\/1.1 504[^]*Connection: close/)
  })
})

describe('draining', () => {
  it('holds new requests and closes idle connections, until told otherwise (C84)', async () => {
    await using pod = await startEcho()
    await using it = await startProxy()
    it.warm(pod.address)
    using client = rawClient(it.port)
    client.send('GET /1 HTTP/1.1\r\nHost: app.test\r\n\r\n')
    await client.until((text) => text.includes('GET /1'))
    it.proxy.setTarget('t', { is: 'draining' })
    await eventually(() => pod.sockets[0]!.destroyed || pod.sockets[0]!.readableEnded)
    client.send('GET /2 HTTP/1.1\r\nHost: app.test\r\n\r\n')
    await eventually(() => it.proxy.loadOf('t').waiting === 1)
    expect(it.woken).toEqual([])
    it.warm(pod.address)
    expect(await client.until((text) => text.includes('GET /2'))).not.toContain('X-Cold-Start')
  })

  it('turns into a wake for requests that came meanwhile (C84)', async () => {
    await using pod = await startEcho()
    await using it = await startProxy()
    it.warm(pod.address)
    it.proxy.setTarget('t', { is: 'draining' })
    const answer = roundTrip(it.port, `${get}\r\n`)
    await eventually(() => it.proxy.loadOf('t').waiting === 1)
    it.proxy.setTarget('t', { is: 'cold' })
    await eventually(() => it.woken.length === 1)
    it.warm(pod.address)
    expect(await answer).toContain('200 OK')
  })

  it('lets what is in flight end', async () => {
    let finish = () => {}
    await using pod = await startBackend((_, socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab')
      finish = () => void socket.write('cd')
    })
    await using it = await startProxy()
    it.warm(pod.address)
    using client = rawClient(it.port)
    client.send('GET / HTTP/1.1\r\nHost: app.test\r\n\r\n')
    await client.until((text) => text.endsWith('ab'))
    it.proxy.setTarget('t', { is: 'draining' })
    expect(it.proxy.loadOf('t').busy).toBe(1)
    finish()
    await client.until((text) => text.endsWith('abcd'))
    expect(it.proxy.loadOf('t').busy).toBe(0)
  })
})

describe('probes', () => {
  it.each(['kube-probe/1.33', 'GoogleHC/1.0', 'ELB-HealthChecker/2.0'])(
    '%s neither wakes nor waits (C98)',
    async (agent) => {
      await using it = await startProxy()
      expect(await roundTrip(it.port, `${get}User-Agent: ${agent}\r\n\r\n`)).toMatch(/^HTTP\/1.1 200/)
      expect(it.woken).toEqual([])
    },
  )

  it('pass through while it is awake, and do not count as use (C98)', async () => {
    await using pod = await startEcho()
    await using it = await startProxy()
    it.warm(pod.address)
    expect(await roundTrip(it.port, `${get}User-Agent: kube-probe/1.33\r\n\r\n`)).toContain('200 OK')
    expect(it.proxy.counters[0].slot(0)[cell.started]).toBe(0)
    expect(await roundTrip(it.port, `${get}User-Agent: keen/1\r\n\r\n`)).toContain('200 OK')
    expect(it.proxy.counters[0].slot(0)[cell.started]).toBe(1)
  })

  it('of a configured path are answered with 200 while it sleeps, and by the pod while it is awake (C98)', async () => {
    await using pod = await startEcho()
    await using it = await startProxy({ probePaths: ['/health'] })
    const probe = 'GET /health HTTP/1.1\r\nHost: app.test\r\nConnection: close\r\n\r\n'
    expect(await roundTrip(it.port, probe)).toMatch(/^HTTP\/1.1 200[^]*\r\n\r\nasleep\n$/)
    expect(it.woken).toEqual([])
    it.warm(pod.address)
    expect(await roundTrip(it.port, probe)).toContain('GET /health')
  })
})

describe('a browser', () => {
  const navigation = `${get}Accept: text/html,*/*;q=0.8\r\nSec-Fetch-Mode: navigate\r\n\r\n`

  it('gets the page only while it sleeps: the pod answers once it is up (C52)', async () => {
    await using pod = await startEcho()
    await using it = await startProxy({ waitingPage: true }, { waitingPageAfterMs: 0 })
    expect(await roundTrip(it.port, navigation)).toMatch(/^HTTP\/1.1 503[^]*Content-Type: text\/html/)
    it.warm(pod.address)
    expect(await roundTrip(it.port, navigation)).toMatch(/^HTTP\/1.1 200/)
  })

  it('is told how long it usually takes, though only browsers ever waited', async () => {
    await using pod = await startEcho()
    await using it = await startProxy({ waitingPage: true }, { waitingPageAfterMs: 0 })
    expect(await roundTrip(it.port, navigation)).toContain('It has not been timed yet.')
    it.warm(pod.address)
    it.proxy.setTarget('t', { is: 'cold' })
    expect(await roundTrip(it.port, navigation)).toMatch(/It usually takes about \d+ second/)
  })

  it('gets one wake for a page and its fifty assets (C99)', async () => {
    await using pod = await startEcho()
    await using it = await startProxy({ waitingPage: true }, { waitingPageAfterMs: 0 })
    const page = roundTrip(it.port, navigation)
    const assets = Array.from({ length: 50 }, () => roundTrip(it.port, `${get}Accept: image/avif,*/*\r\n\r\n`))
    expect(await page).toContain('text/html')
    await eventually(() => it.proxy.loadOf('t').waiting === 50)
    expect(new Set(it.woken)).toEqual(new Set(['t']))
    it.warm(pod.address)
    for (const asset of await Promise.all(assets)) expect(asset).toMatch(/^HTTP\/1.1 200/)
  })

  it('gets a page that reloads itself, where the route says so (C99)', async () => {
    await using it = await startProxy({ waitingPage: true }, { waitingPageAfterMs: 1 })
    const text = await roundTrip(it.port, navigation)
    expect(text).toMatch(/^HTTP\/1.1 503[^]*Content-Type: text\/html[^]*http-equiv="refresh"/)
    expect(it.woken).toEqual(['t'])
  })

  it.each([
    ['an asset', 'Accept: image/avif,*/*\r\nSec-Fetch-Mode: no-cors\r\n'],
    ['a script that asks for HTML', 'Accept: text/html\r\nSec-Fetch-Mode: cors\r\n'],
    ['a program', 'Accept: */*\r\n'],
  ])('never gets it for %s (C99)', async (_, fields) => {
    await using pod = await startEcho()
    await using it = await startProxy({ waitingPage: true }, { waitingPageAfterMs: 0 })
    using client = rawClient(it.port)
    client.send(`${get}${fields}\r\n`)
    await eventually(() => it.woken.length > 0)
    // A navigation beside it has had its page: time enough for this one to have been mistaken.
    await roundTrip(it.port, navigation)
    expect(client.text).toBe('')
    it.warm(pod.address)
    expect(await client.closed()).toContain('200 OK')
  })

  it('is held where the route does not say so', async () => {
    await using pod = await startEcho()
    await using it = await startProxy({}, { waitingPageAfterMs: 0 })
    const answer = roundTrip(it.port, navigation)
    await eventually(() => it.woken.length > 0)
    it.warm(pod.address)
    expect(await answer).toContain('200 OK')
  })
})
