import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ChunkedBody } from './chunked-body.ts'

function follow(text: string, pieces = [text.length]) {
  const body = new ChunkedBody()
  const bytes = Buffer.from(text, 'latin1')
  let at = 0
  let content = ''
  for (const size of [...pieces, bytes.length]) {
    const end = Math.min(bytes.length, at + size)
    const stopped = body.follow(bytes, at, end)
    for (let i = 0; i < body.runs.length; i += 2) content += text.slice(body.runs[i], body.runs[i + 1])
    at = stopped
    if (body.done || body.broken) break
  }
  return { done: body.done, broken: body.broken, at, content }
}

describe('a chunked body', () => {
  it('ends where its last chunk ends', () => {
    expect(follow('5\r\nhello\r\n0\r\n\r\nGET /')).toEqual({ done: true, broken: false, at: 15, content: 'hello' })
  })

  it.each(['5;a=b', '5;name="a; b"', '5 ', '5 \t; a', '00005;a'])('ignores extensions and padding: %s', (size) => {
    expect(follow(`${size}\r\nhello\r\n0;last\r\n\r\n`)).toMatchObject({ done: true, content: 'hello' })
  })

  it('may carry trailers', () => {
    expect(follow('0\r\nChecksum: abc\r\nX-Y: z\r\n\r\n').done).toBe(true)
  })

  it.each([
    ['a line feed in an extension', '5;a=b\nhello\r\n0\r\n\r\n'],
    ['a carriage return in an extension', '5;a\rb\r\nhello\r\n0\r\n\r\n'],
    ['a NUL in an extension', '5;a=\0\r\nhello\r\n0\r\n\r\n'],
    ['an extension that never ends', `5;${'a'.repeat(5000)}\r\nhello\r\n0\r\n\r\n`],
    ['many short extensions', `${'1;aaaaaaa\r\nx\r\n'.repeat(600)}0\r\n\r\n`],
    ['a second size', '5 5\r\nhello\r\n0\r\n\r\n'],
    ['an extension without a size', ';a=b\r\nhello\r\n0\r\n\r\n'],
    ['a space before the size', ' 5\r\nhello\r\n0\r\n\r\n'],
    ['a signed size', '+5\r\nhello\r\n0\r\n\r\n'],
    ['a prefixed size', '0x5\r\nhello\r\n0\r\n\r\n'],
    ['no size', '\r\nhello\r\n0\r\n\r\n'],
    ['a bare line feed behind the size', '5\nhello\r\n0\r\n\r\n'],
    ['a bare line feed behind the data', '5\r\nhello\n0\r\n\r\n'],
    ['data longer than its size', '4\r\nhello\r\n0\r\n\r\n'],
    ['data shorter than its size', '6\r\nhello\r\n0\r\n\r\n'],
    ['a size that overflows', `${'f'.repeat(17)}\r\nhello`],
    ['a bare carriage return in the size', '5\rX\nhello\r\n0\r\n\r\n'],
    ['a length among the trailers', '0\r\nContent-Length: 5\r\n\r\n'],
    ['a coding among the trailers', '0\r\nTransfer-Encoding: chunked\r\n\r\n'],
    ['a host among the trailers', '0\r\nHost: evil\r\n\r\n'],
    ['a folded trailer', '0\r\nX: y\r\n z\r\n\r\n'],
    ['a trailer ended by a bare line feed', '0\r\nX: y\n\r\n'],
    ['a trailer without a colon', '0\r\nnonsense\r\n\r\n'],
    ['endless trailers', `0\r\nX: ${'y'.repeat(9000)}`],
  ])('is broken by %s', (_, text) => {
    expect(follow(text)).toMatchObject({ done: false, broken: true })
  })

  it('is the same however it is cut', () => {
    const chunk = fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 40 })
    fc.assert(
      fc.property(fc.array(chunk), fc.array(fc.integer({ min: 1, max: 7 })), (chunks, pieces) => {
        const text = `${chunks.map((each) => `${each.length.toString(16)}\r\n${each}\r\n`).join('')}0\r\n\r\n`
        expect(follow(`${text}more`, pieces)).toEqual({
          done: true,
          broken: false,
          at: text.length,
          content: chunks.join(''),
        })
      }),
    )
  })
})
