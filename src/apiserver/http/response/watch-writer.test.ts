import { EventEmitter } from 'node:events'
import { createServer, get, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import type { WatchEventText } from '../../objects/contract/request.ts'
import { Document } from '../../store/document.ts'
import { plainPresentation, tablePresentation } from './presentation.ts'
import { WatchLimit } from './watch-limit.ts'
import { WatchWriter } from './watch-writer.ts'

const plain = plainPresentation({
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  listKind: 'ConfigMapList',
  custom: undefined,
})

function event(type: WatchEventText['type'], size = 10): WatchEventText {
  const object = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'x', uid: 'u', resourceVersion: '7', creationTimestamp: '' },
    data: { filler: 'f'.repeat(size) },
  }
  const text = JSON.stringify(object)
  return { type, document: new Document(7, text), line: Buffer.from(`{"type":"${type}","object":${text}}\n`) }
}

const ignored = { onStall: () => () => {}, onWrite: () => {} }

describe('WatchLimit', () => {
  it('ends the watches that buffer most, once those of a user buffer too much together', () => {
    const limit = new WatchLimit(10)
    const watch = (megabytes: number) => {
      const response = Object.assign(new EventEmitter(), { writableLength: megabytes * 1024 * 1024, isEnded: false })
      return Object.assign(response, { destroy: () => (response.isEnded = true) })
    }
    const watches = [watch(60), watch(0), watch(70)]
    for (const each of watches) limit.take('u', each as unknown as ServerResponse)
    const other = watch(200)
    limit.take('v', other as unknown as ServerResponse)
    limit.wrote('u', 1000)
    expect(watches.some(({ isEnded }) => isEnded)).toBe(false)
    limit.wrote('u', 16 * 1024 * 1024)
    expect([...watches, other].map(({ isEnded }) => isEnded)).toEqual([false, false, true, false])
  })
})

describe('WatchWriter', () => {
  let server: Server
  afterEach(() => server.close().closeAllConnections())

  /** A response whose client reads only when told to. */
  function opened(): Promise<{ response: ServerResponse; read: () => Promise<string>; leave: () => void }> {
    return new Promise((resolve) => {
      let response: ServerResponse
      server = createServer((_, outgoing) => {
        response = outgoing
        outgoing.flushHeaders()
      }).listen(0, '127.0.0.1', () => {
        const request = get({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' }, (incoming) => {
          incoming.pause()
          const read = async () => {
            let text = ''
            for await (const chunk of incoming) text += String(chunk)
            return text
          }
          resolve({ response, read, leave: () => request.destroy() })
        })
        request.on('error', () => {})
      })
    })
  }

  it('sends the shared line of each event as it is', async () => {
    const { response, read } = await opened()
    const writer = new WatchWriter(response, { as: plain }, ignored)
    writer.attach({ resume: () => {}, close: () => {} })
    writer.deliver([event('ADDED'), event('DELETED')])
    writer.end()
    expect(await read()).toBe(`${event('ADDED').line.toString()}${event('DELETED').line.toString()}`)
  })

  it('names the columns of a table once', async () => {
    const { response, read } = await opened()
    const columns = { definitions: [], cells: () => ['x'] }
    const writer = new WatchWriter(
      response,
      { as: tablePresentation({ version: 'v1', columns, includeObject: 'None' }) },
      ignored,
    )
    writer.attach({ resume: () => {}, close: () => {} })
    writer.deliver([event('ADDED'), event('MODIFIED'), event('BOOKMARK')])
    writer.end()
    const lines = (await read())
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { object: Record<string, unknown> })
    expect(lines.map(({ object }) => object['columnDefinitions'])).toEqual([[], null, null])
    expect(lines.map(({ object }) => object['rows'])).toEqual([[{ cells: ['x'] }], [{ cells: ['x'] }], []])
  })

  it('reports full while the client does not read, and resumes when it does', async () => {
    const { response, read } = await opened()
    let stalls = 0
    let resumes = 0
    const writer = new WatchWriter(
      response,
      { as: plain },
      {
        ...ignored,
        onStall: () => {
          stalls++
          return () => void stalls--
        },
      },
    )
    writer.attach({ resume: () => void resumes++, close: () => {} })
    const size = 400_000
    let sent = 1
    while (writer.deliver([event('MODIFIED', size)])) sent++
    expect(response.writableLength).toBeLessThan(2_000_000)
    expect([stalls, resumes]).toEqual([1, 0])
    const reading = read()
    await expect.poll(() => resumes).toBeGreaterThan(0)
    expect(stalls).toBe(0)
    writer.end()
    expect((await reading).trim().split('\n')).toHaveLength(sent)
  })

  it('closes the watch when the client disconnects', async () => {
    const { response, leave } = await opened()
    let isClosed = false
    const writer = new WatchWriter(response, { as: plain }, ignored)
    writer.attach({ resume: () => {}, close: () => void (isClosed = true) })
    leave()
    await expect.poll(() => isClosed).toBe(true)
    expect(writer.deliver([event('ADDED')])).toBe(false)
  })
})
