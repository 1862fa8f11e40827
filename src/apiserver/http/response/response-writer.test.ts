import { createServer, get, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import { Document } from '../../store/document.ts'
import type { Answer, Content } from './answer.ts'
import { plainPresentation } from './presentation.ts'
import { warningValue, writeAnswer } from './response-writer.ts'

const as = plainPresentation({
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  listKind: 'ConfigMapList',
  custom: undefined,
})
const keep = { isHead: false, acceptsGzip: false, onStall: () => () => {} }

function listAnswer(chunks: readonly (readonly Document[])[]): Answer & { content: Exclude<Content, { is: 'watch' }> } {
  async function* items() {
    yield* chunks
  }
  return { status: 200, content: { is: 'list', as, list: { metadata: { resourceVersion: '7' }, items: items() } } }
}

const document = (size: number) => new Document(1, JSON.stringify({ filler: 'f'.repeat(size) }))

describe('writeAnswer', () => {
  let server: Server
  afterEach(() => server.close().closeAllConnections())

  /** Serves one request with this function; the client's side is paused until it is read. */
  function opened(serve: (response: ServerResponse) => void): Promise<IncomingMessage> {
    return new Promise((resolve) => {
      server = createServer((_, response) => serve(response)).listen(0, '127.0.0.1', () => {
        const { port } = server.address() as AddressInfo
        get({ port, host: '127.0.0.1' }, (incoming) => resolve(incoming.pause())).on('error', () => {})
      })
    })
  }

  async function read(incoming: IncomingMessage): Promise<Buffer> {
    const chunks: Buffer[] = []
    for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk)
    return Buffer.concat(chunks)
  }

  it.each([
    ['an empty list', []],
    ['empty chunks', [[], []]],
    ['several chunks', [[document(1), document(2)], [], [document(3)]]],
  ])('writes %s as one JSON value', async (_, chunks) => {
    const incoming = await opened((response) => void writeAnswer(response, listAnswer(chunks), keep))
    const value = JSON.parse((await read(incoming)).toString()) as unknown
    expect(value).toEqual({
      kind: 'ConfigMapList',
      apiVersion: 'v1',
      metadata: { resourceVersion: '7' },
      items: chunks.flat().map((each) => JSON.parse(each.text) as unknown),
    })
  })

  it('compresses a long list from its first byte', async () => {
    const chunks = Array.from({ length: 5 }, () => [document(100_000)])
    const incoming = await opened(
      (response) => void writeAnswer(response, listAnswer(chunks), { ...keep, acceptsGzip: true }),
    )
    expect(incoming.headers['content-encoding']).toBe('gzip')
    const { items } = JSON.parse(gunzipSync(await read(incoming)).toString()) as { items: unknown[] }
    expect(items).toHaveLength(5)
  })

  it('reads no further than the client does, and stops when it is cut off', async () => {
    let made = 0
    let ended: Promise<void> = Promise.resolve()
    async function* items() {
      for (; made < 1000; made++) yield [document(100_000)]
    }
    const answer = {
      ...listAnswer([]),
      content: { is: 'list' as const, as, list: { metadata: { resourceVersion: '7' }, items: items() } },
    }
    await opened((response) => {
      const onStall = () => {
        const timer = setTimeout(() => response.destroy(), 100)
        return () => clearTimeout(timer)
      }
      ended = writeAnswer(response, answer, { ...keep, onStall })
    })
    await ended
    expect(made).toBeLessThan(200)
  })
})

describe('warningValue', () => {
  it.each([
    ['plain', '299 - "plain"'],
    ['say "no"', String.raw`299 - "say \"no\""`],
    ['two\r\nlines', '299 - "two  lines"'],
  ])('makes %j safe for a header', (text, expected) => expect(warningValue(text)).toBe(expected))
})
