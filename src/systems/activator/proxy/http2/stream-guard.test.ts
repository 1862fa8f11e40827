import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { fieldBlock, flag, frame, frameClient, frameType, uint32 } from '../../../../../test/activator/http2-frames.ts'
import { startProxy } from '../../../../../test/activator/proxy.ts'

const { data, headers, priority, rstStream, ping, goAway, windowUpdate } = frameType
const { endStream, endHeaders, ack, padded } = flag
const whole = endStream | endHeaders
const fields = [
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', '/'],
  [':authority', 'app.test'],
] as const
const head = fieldBlock(fields)
const announcing = (length: string) => fieldBlock([...fields, ['content-length', length]])

/** A pod that answers each request, once it has all of it, with its body. */
async function startPod() {
  const server = http.createServer((request, response) => request.pipe(response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    address: { host: '127.0.0.1', port: (server.address() as AddressInfo).port },
    [Symbol.dispose]: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** A client of a proxy before that pod, with a request under way on stream 1. */
async function startSiblings() {
  const pod = await startPod()
  const it = await startProxy()
  it.warm(pod.address)
  const client = frameClient(it.port)
  client.send(frame(headers, endHeaders, 1, head))
  return {
    client,
    /** Ends the request on stream 1; answers what came back of it. */
    async finishFirst() {
      client.send(frame(data, endStream, 1, 'first'))
      return (await client.frame(data, 1)).payload.toString()
    },
    [Symbol.asyncDispose]: async () => {
      client[Symbol.dispose]()
      pod[Symbol.dispose]()
      await it[Symbol.asyncDispose]()
    },
  }
}

const faults = {
  'a body longer than it announced': [
    1,
    frame(headers, endHeaders, 3, announcing('2')),
    frame(data, endStream, 3, 'abc'),
  ],
  'a padded body longer than it announced': [
    1,
    frame(headers, endHeaders, 3, announcing('2')),
    frame(data, padded | endStream, 3, Buffer.from([1, 97, 98, 99, 0])),
  ],
  'a body shorter than it announced': [
    1,
    frame(headers, endHeaders, 3, announcing('5')),
    frame(data, endStream, 3, 'abc'),
  ],
  'no increment in a window update': [1, frame(headers, endHeaders, 3, head), frame(windowUpdate, 0, 3, uint32(0))],
  'a window beyond all bounds': [3, frame(headers, endHeaders, 3, head), frame(windowUpdate, 0, 3, uint32(0x7fffffff))],
  'data behind its end': [
    5,
    frame(headers, endHeaders, 3, head),
    frame(data, endStream, 3, 'a'),
    frame(data, 0, 3, 'b'),
  ],
  'fields behind its end': [5, frame(headers, whole, 3, head), frame(headers, whole, 3, head)],
  'a priority frame of a wrong size': [6, frame(headers, endHeaders, 3, head), frame(priority, 0, 3, 'abc')],
  'a field name in capitals': [1, frame(headers, whole, 3, fieldBlock([...fields, ['X-A', 'b']]))],
  'a field of the connection': [1, frame(headers, whole, 3, fieldBlock([...fields, ['connection', 'close']]))],
  'no path': [1, frame(headers, whole, 3, fieldBlock(fields.filter(([name]) => name !== ':path')))],
} as const satisfies Record<string, readonly [number, ...Buffer[]]>

describe('one bad stream', () => {
  it.each(Object.entries(faults))(
    'with %s is reset, and its siblings are answered',
    async (_fault, [code, ...frames]) => {
      await using it = await startSiblings()
      it.client.send(...frames)
      expect((await it.client.frame(rstStream, 3)).payload.readUInt32BE()).toBe(code)
      expect(await it.finishFirst()).toBe('first')
      it.client.send(frame(headers, whole, 5, head))
      expect((await it.client.frame(headers, 5)).payload.length).toBeGreaterThan(0)
      expect(it.client.frames.filter(({ type }) => type === goAway)).toEqual([])
    },
  )

  it('is found in however many pieces its frames arrive', async () => {
    await using it = await startSiblings()
    const [code, ...frames] = faults['a body longer than it announced']
    for (const byte of Buffer.concat(frames)) {
      it.client.socket.write(Buffer.from([byte]))
      await new Promise(setImmediate)
    }
    expect((await it.client.frame(rstStream, 3)).payload.readUInt32BE()).toBe(code)
    expect(await it.finishFirst()).toBe('first')
  })

  it('leaves the table of fields as both sides know it', async () => {
    await using it = await startSiblings()
    it.client.send(frame(headers, whole, 3, head), frame(headers, whole, 3, fieldBlock(fields, true)))
    expect((await it.client.frame(rstStream, 3)).payload.readUInt32BE()).toBe(5)
    // The four fields that the ignored block added, newest first.
    it.client.send(frame(headers, whole, 5, Buffer.from([0xc1, 0xc0, 0xbf, 0xbe])))
    expect((await it.client.frame(headers, 5)).payload.length).toBeGreaterThan(0)
    expect(await it.finishFirst()).toBe('first')
  })

  it('is followed by no end of the connection for an answer to no ping', async () => {
    await using it = await startSiblings()
    it.client.send(frame(ping, ack, 0, 'no  ping'), frame(ping, 0, 0, 'a   ping'))
    expect((await it.client.frame(ping, 0)).payload.toString()).toBe('a   ping')
    expect(await it.finishFirst()).toBe('first')
  })

  it('too many make an end of the connection', async () => {
    await using it = await startSiblings()
    for (let id = 3; id < 3 + 2 * 101; id += 2)
      it.client.send(frame(headers, endHeaders, id, head), frame(windowUpdate, 0, id, uint32(0)))
    expect((await it.client.frame(goAway, 0)).payload.readUInt32BE(4)).toBe(1)
    await it.client.closed()
  })
})

describe('errors of the connection', () => {
  it.each([
    ['fields that cannot be read', 9, frame(headers, whole, 3, Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff]))],
    ['data of a stream that was never opened', 1, frame(data, 0, 9, 'abc')],
    ['padding longer than its frame', 1, frame(data, padded, 1, Buffer.from([200, 1, 2]))],
    ['a frame that is too large', 6, frame(data, 0, 1, Buffer.alloc(16_385))],
  ])('still end it: %s', async (_fault, code, bad) => {
    await using it = await startSiblings()
    it.client.send(bad)
    expect((await it.client.frame(goAway, 0)).payload.readUInt32BE(4)).toBe(code)
    await it.client.closed()
  })
})
