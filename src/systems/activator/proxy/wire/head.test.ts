import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { defaultHeadLimits, Head } from './head.ts'

function parse(text: string, limits = defaultHeadLimits) {
  const bytes = Buffer.from(`${text}\u00ff`, 'latin1')
  const head = new Head(limits)
  return { parsed: head.parseRequest(bytes, 0, bytes.length - 1), head, bytes }
}

function parseResponse(text: string) {
  const bytes = Buffer.from(`${text}\u00ff`, 'latin1')
  const head = new Head()
  return { parsed: head.parseResponse(bytes, 0, bytes.length - 1), head }
}

const get = 'GET /path?x=1 HTTP/1.1\r\nHost: app.test\r\n'

describe('a request head', () => {
  it('is understood when it is plain', () => {
    const { parsed, head, bytes } = parse(`${get}Accept: */*\r\n\r\nrest`)
    expect(parsed).toBe('complete')
    expect(bytes.toString('latin1', head.targetStart, head.targetEnd)).toBe('/path?x=1')
    expect(bytes.toString('latin1', head.valueStart(head.host), head.valueEnd(head.host))).toBe('app.test')
    expect(bytes.toString('latin1', head.end, bytes.length - 1)).toBe('rest')
    expect([head.count, head.minor, head.contentLength, head.chunked, head.clean]).toEqual([2, 1, -1, false, true])
  })

  it('asks for more wherever it is cut', () => {
    const whole = `${get}Content-Length: 5\r\nX: y\r\n\r\n`
    for (let length = 0; length < whole.length; length++) {
      expect(parse(whole.slice(0, length)).parsed, whole.slice(0, length)).toBe('incomplete')
    }
    expect(parse(whole).parsed).toBe('complete')
  })

  it('notes spacing that a copy must not keep', () => {
    expect(parse(`${get}X:  y \r\n\r\n`).head.clean).toBe(false)
    expect(parse(`${get}X:\ty\r\n\r\n`).head.clean).toBe(false)
    expect(parse(`${get}X:y\r\n\r\n`).head.clean).toBe(false)
  })

  it.each([
    ['both lengths', 'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n'],
    ['both lengths, turned round', 'Transfer-Encoding: chunked\r\nContent-Length: 5\r\n'],
    ['two lengths', 'Content-Length: 5\r\nContent-Length: 6\r\n'],
    ['two equal lengths', 'Content-Length: 5\r\nContent-Length: 5\r\n'],
    ['a signed length', 'Content-Length: +5\r\n'],
    ['a negative length', 'Content-Length: -5\r\n'],
    ['a list of lengths', 'Content-Length: 5,5\r\n'],
    ['a hexadecimal length', 'Content-Length: 0x5\r\n'],
    ['a length with a space inside', 'Content-Length: 5 5\r\n'],
    ['an empty length', 'Content-Length: \r\n'],
    ['a length beyond counting', 'Content-Length: 9999999999999999\r\n'],
    ['another coding', 'Transfer-Encoding: gzip\r\n'],
    ['a list of codings', 'Transfer-Encoding: gzip, chunked\r\n'],
    ['chunked twice in a list', 'Transfer-Encoding: chunked, chunked\r\n'],
    ['chunked in two fields', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n'],
    ['a quoted coding', 'Transfer-Encoding: "chunked"\r\n'],
    ['a coding with a parameter', 'Transfer-Encoding: chunked;q=1\r\n'],
    ['a coding with a vertical tab', 'Transfer-Encoding: \x0bchunked\r\n'],
    ['an empty coding', 'Transfer-Encoding:\r\n'],
    ['a space before the colon', 'Transfer-Encoding : chunked\r\n'],
    ['a tab before the colon', 'X\t: y\r\n'],
    ['a folded line', 'X: y\r\n z\r\n'],
    ['a line folded with a tab', 'X: y\r\n\tz\r\n'],
    ['a bare line feed', 'X: y\n'],
    ['a bare line feed before another field', 'X: y\nContent-Length: 5\r\n'],
    ['a bare carriage return', 'X: y\rz\r\n'],
    ['a NUL', 'X: y\0z\r\n'],
    ['a control character', 'X: y\x01z\r\n'],
    ['a DEL', 'X: y\x7fz\r\n'],
    ['an empty name', ': y\r\n'],
    ['a name with a space', 'X Y: z\r\n'],
    ['a name beyond ASCII', 'X\u00e9: z\r\n'],
    ['no colon', 'nonsense\r\n'],
    ['two hosts', 'Host: other.test\r\n'],
  ])('is refused with %s', (_, fields) => {
    expect(parse(`${get}${fields}\r\n`).parsed).toBe('malformed')
  })

  it.each([
    ['a lower-case version', 'GET / http/1.1\r\n'],
    ['version 2', 'GET / HTTP/2.0\r\n'],
    ['version 1.2', 'GET / HTTP/1.2\r\n'],
    ['version 1.10', 'GET / HTTP/1.10\r\n'],
    ['no version', 'GET /\r\n'],
    ['two spaces', 'GET  / HTTP/1.1\r\n'],
    ['a space in the target', 'GET /a b HTTP/1.1\r\n'],
    ['a space at the end', 'GET / HTTP/1.1 \r\n'],
    ['a tab between', 'GET\t/ HTTP/1.1\r\n'],
    ['a bare line feed', 'GET / HTTP/1.1\n'],
    ['a target beyond ASCII', 'GET /\u00e9 HTTP/1.1\r\n'],
    ['an empty line before it', '\r\nGET / HTTP/1.1\r\n'],
    ['a method with a colon', 'GE:T / HTTP/1.1\r\n'],
    ['no method', ' / HTTP/1.1\r\n'],
  ])('is refused when its first line has %s', (_, line) => {
    expect(parse(`${line}Host: a\r\n\r\n`).parsed).toBe('malformed')
  })

  it('is refused when HTTP/1.0 uses a transfer coding', () => {
    expect(parse('POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n').parsed).toBe('malformed')
  })

  it('is refused beyond its limits', () => {
    const limits = { headBytes: 200, fields: 3, targetBytes: 20 }
    expect(parse(`GET /${'a'.repeat(30)} HTTP/1.1\r\nHost: a\r\n\r\n`, limits).parsed).toBe('target-too-long')
    expect(parse(`GET / HTTP/1.1\r\n${'X: y\r\n'.repeat(4)}\r\n`, limits).parsed).toBe('too-large')
    expect(parse(`GET / HTTP/1.1\r\nX: ${'y'.repeat(200)}`, limits).parsed).toBe('too-large')
    expect(parse(`GET / HTTP/1.1\r\nX: ${'y'.repeat(200)}\r\n\r\n`, limits).parsed).toBe('too-large')
  })

  it('never reads what lies behind the bytes it was given', () => {
    const bytes = Buffer.from(`${get}Content-Length: 5\r\n\r\n`, 'latin1')
    const cut = bytes.indexOf('Length')
    expect(new Head().parseRequest(Buffer.from(bytes), 0, cut)).toBe('incomplete')
  })
})

describe('any bytes at all', () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    fc
      .string({
        unit: fc.constantFrom('G', 'E', 'T', ' ', '/', 'H', 'P', '1', '.', ':', '\r\n', '\n', 'Host', 'a', '\0'),
        maxLength: 60,
      })
      .map((text) => Buffer.from(`GET / HTTP/1.1\r\n${text}`, 'latin1')),
  )

  it('are understood, refused or too few, and the same whatever lies behind them (C58)', () => {
    fc.assert(
      fc.property(bytes, fc.uint8Array({ minLength: 1, maxLength: 20 }), (given, behind) => {
        const results = [behind, new Uint8Array(1)].map((rest) => {
          const room = Buffer.concat([given, rest])
          const head = new Head()
          return [head.parseRequest(room, 0, given.length), head.end, head.count, head.contentLength, head.chunked]
        })
        expect(results[0]).toEqual(results[1])
      }),
      { numRuns: 500 },
    )
  })

  it('that are refused stay refused when more follows, and what is complete was never refused before', () => {
    fc.assert(
      fc.property(bytes, fc.nat(), (given, cut) => {
        const room = () => Buffer.concat([given, new Uint8Array(1)])
        const whole = new Head().parseRequest(room(), 0, given.length)
        const part = new Head().parseRequest(room(), 0, cut % (given.length + 1))
        if (whole === 'complete') expect(part).not.toBe('malformed')
        if (part === 'malformed') expect(whole).toBe('malformed')
      }),
      { numRuns: 500 },
    )
  })
})

describe('a response head', () => {
  it('is understood', () => {
    const { parsed, head } = parseResponse('HTTP/1.1 404 Not Found\r\nContent-Length: 7\r\n\r\n')
    expect([parsed, head.status, head.contentLength, head.minor]).toEqual(['complete', 404, 7, 1])
  })

  it('may come without a reason', () => {
    expect(parseResponse('HTTP/1.1 200 \r\n\r\n').parsed).toBe('complete')
    const bare = parseResponse('HTTP/1.1 200\r\n\r\n')
    expect([bare.parsed, bare.head.clean]).toEqual(['complete', false])
  })

  it.each([
    ['both lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n'],
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n'],
    ['a status of two digits', 'HTTP/1.1 20 OK\r\n\r\n'],
    ['a status of letters', 'HTTP/1.1 2x0 OK\r\n\r\n'],
    ['a bare line feed', 'HTTP/1.1 200 OK\nX: y\r\n\r\n'],
    ['a folded line', 'HTTP/1.1 200 OK\r\nX: y\r\n z\r\n\r\n'],
    ['chunks in HTTP/1.0', 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'],
    ['something else entirely', 'SSH-2.0-OpenSSH_9.2\r\n\r\n'],
  ])('is refused with %s', (_, text) => {
    expect(parseResponse(text).parsed).toBe('malformed')
  })

  it('asks for more wherever it is cut', () => {
    const whole = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n'
    for (let length = 0; length < whole.length; length++) {
      expect(parseResponse(whole.slice(0, length)).parsed, whole.slice(0, length)).toBe('incomplete')
    }
  })
})
