import { createServer, get, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { load } from 'js-yaml'
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
const keep = { isHead: false, acceptsGzip: false, onStall: () => () => {}, breathe: () => Promise.resolve() }

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

  const lists = [
    ['an empty list', []],
    ['empty chunks', [[], []]],
    ['several chunks', [[document(1), document(2)], [], [document(3)]]],
    ['a very large item', [[document(1), document(200_000)], [document(3)]]],
  ] as const
  const encodings = [undefined, 'pretty', 'yaml'] as const

  it.each(encodings.flatMap((encoding) => lists.map(([what, chunks]) => ({ what, chunks, encoding }))))(
    'writes $what as one value: $encoding',
    async ({ chunks, encoding }) => {
      const answer = { ...listAnswer(chunks), ...(encoding ? { encoding } : {}) }
      const incoming = await opened((response) => void writeAnswer(response, answer, keep))
      const text = (await read(incoming)).toString()
      expect(encoding === 'yaml' ? load(text) : JSON.parse(text)).toEqual({
        kind: 'ConfigMapList',
        apiVersion: 'v1',
        metadata: { resourceVersion: '7' },
        items: chunks.flat().map((each) => JSON.parse(each.text) as unknown),
      })
    },
  )

  it('indents a list as it does a single value', async () => {
    const answer = { ...listAnswer([[document(1), document(2)]]), encoding: 'pretty' as const }
    const incoming = await opened((response) => void writeAnswer(response, answer, keep))
    const text = (await read(incoming)).toString()
    expect(text).toBe(`${JSON.stringify(JSON.parse(text), undefined, 2)}\n`)
  })

  it.each([undefined, 'pretty', 'yaml', 'protobuf'] as const)(
    '130: lets other requests be served while it writes a long list as %s',
    async (encoding) => {
      const data = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`key${index}`, 'value']))
      const items = Array.from({ length: 1000 }, (_, index) => {
        const item = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `c${index}` }, data }
        return new Document(1, JSON.stringify(item))
      })
      let breaths = 0
      const breathe = () => Promise.resolve(void breaths++)
      // As a page of any length is read: in one piece.
      const answer = { ...listAnswer([items]), ...(encoding ? { encoding } : {}) }
      const incoming = await opened((response) => void writeAnswer(response, answer, { ...keep, breathe }))
      const body = await read(incoming)
      expect(breaths).toBeGreaterThan(15)
      if (encoding === 'protobuf') expect(body.toString('latin1')).toContain('ConfigMapList')
    },
  )

  it('130: writes a large value as JSON where YAML is wanted, which is YAML as well', async () => {
    const text = JSON.stringify({ paths: Array.from({ length: 20_000 }, () => ({ get: true })) })
    const answer = { status: 200, content: { is: 'json-text', text }, encoding: 'yaml' } as const
    const incoming = await opened((response) => void writeAnswer(response, answer, keep))
    expect(incoming.headers['content-type']).toBe('application/yaml')
    expect((await read(incoming)).toString()).toBe(`${text}\n`)
  })

  it('quotes what older YAML reads as something else', async () => {
    const value = { on: 'yes', at: '2026-01-01', ratio: '1:30', text: 'plain' }
    const answer = { status: 200, content: { is: 'json', value }, encoding: 'yaml' } as const
    const incoming = await opened((response) => void writeAnswer(response, answer, keep))
    expect((await read(incoming)).toString()).toBe(`at: '2026-01-01'\n'on': 'yes'\nratio: '1:30'\ntext: plain\n`)
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
