import { describe, expect, it } from 'vitest'
import { cell, inFlightOf } from '../routing/counters.ts'
import { ThreadedDataPlane } from './threaded-data-plane.ts'
import { aRoute, eventually, roundTrip, startEcho } from '../../../../../test/activator/proxy.ts'

const get = 'GET / HTTP/1.1\r\nHost: app.test\r\nConnection: close\r\n\r\n'

describe('the proxy on threads', () => {
  it('serves one port with all of them, and adds up what they counted', async () => {
    await using pod = await startEcho()
    const woken: string[] = []
    const plane = new ThreadedDataPlane({ threads: 2, onWake: (target) => woken.push(target) })
    const port = await plane.listen({ host: '127.0.0.1', port: 0 })
    plane.setRoute(aRoute({ slot: 3000 }))
    const answers = Array.from({ length: 60 }, () => roundTrip(port, get))
    const cells = () => plane.counters.map((counters) => counters.slot(3000))
    const total = (index: number) => cells().reduce((sum, each) => sum + each[index]!, 0)
    await eventually(() => total(cell.waiting) === 60)
    await eventually(() => woken.length > 0)
    expect(new Set(woken)).toEqual(new Set(['t']))
    expect(await plane.drain('t')).toEqual({ busy: 0, waiting: 60 })
    plane.setTarget('t', { is: 'warm', endpoints: [pod.address] })
    for (const answer of await Promise.all(answers)) expect(answer).toContain('200 OK')
    expect([total(cell.started), total(cell.success)]).toEqual([60, 60])
    expect(cells().every((each) => each[cell.started]! > 0 && inFlightOf(each) === 0)).toBe(true)
    await plane.close()
  })

  it('replaces a thread that dies: routes, states and listeners come back, and nothing stays in flight', async () => {
    await using pod = await startEcho()
    const crashes: Error[] = []
    const plane = new ThreadedDataPlane({ threads: 1, onWake: () => {}, onCrash: (error) => crashes.push(error) })
    const port = await plane.listen({ host: '127.0.0.1', port: 0 })
    plane.setRoute(aRoute())
    const held = roundTrip(port, get)
    await eventually(() => plane.counters[0]!.slot(0)[cell.waiting] === 1)
    // A message that no thread can handle, and that is not remembered.
    plane.setTarget('t', { is: 'warm', endpoints: undefined as never })
    plane.setTarget('t', { is: 'warm', endpoints: [pod.address] })
    expect(await held).toBe('')
    await eventually(() => crashes.length === 1)
    expect(inFlightOf(plane.counters[0]!.slot(0))).toBe(0)
    await expect(plane.drain('t')).rejects.toThrow()
    plane.setTarget('t', { is: 'warm', endpoints: [pod.address] })
    let answer = ''
    while (!answer.includes('200 OK')) answer = await roundTrip(port, get)
    await plane.close()
  })

  it('says when it cannot listen', async () => {
    const plane = new ThreadedDataPlane({ threads: 1, onWake: () => {} })
    const port = await plane.listen({ host: '127.0.0.1', port: 0 })
    const other = new ThreadedDataPlane({ threads: 1, onWake: () => {} })
    await expect(other.listen({ host: '127.0.0.1', port })).rejects.toThrow('EADDRINUSE')
    await Promise.all([plane.close(), other.close()])
  })
})
