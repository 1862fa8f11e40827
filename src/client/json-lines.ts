import { TransportError } from './transport-error.ts'

/** One JSON value per line of at most so many bytes, as bytes arrive. A line that is not JSON, or a cut-off last one, is an error, never skipped. */
export async function* jsonLines(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes = Infinity,
): AsyncGenerator<unknown, void, undefined> {
  let rest: Uint8Array[] = []
  let size = 0
  for await (const chunk of chunks) {
    let start = 0
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      const tail = chunk.subarray(start, end)
      const line = rest.length === 0 ? tail : Buffer.concat([...rest, tail])
      rest = []
      size = 0
      start = end + 1
      if (line.length > 0) yield parseLine(line)
    }
    if (start < chunk.length) rest.push(chunk.subarray(start))
    size += chunk.length - start
    if (size > maxBytes) throw new TransportError(`the stream sent a line of more than ${maxBytes} bytes`)
  }
  if (rest.length > 0) throw new TransportError('the stream ended in the middle of a line')
}

function parseLine(line: Uint8Array): unknown {
  const text = Buffer.from(line.buffer, line.byteOffset, line.byteLength).toString('utf8')
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new TransportError(`the stream sent a line that is not JSON (${text.length} characters)`, { cause: error })
  }
}

const newline = 10
