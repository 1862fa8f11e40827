import { TransportError } from './transport-error.ts'

/** One JSON value per line of at most so many bytes, as bytes arrive. A line that is not JSON, or a cut-off last one, is an error, never skipped. */
export async function* jsonLines(
  chunks: AsyncIterable<Uint8Array>,
  { maxBytes, readJson }: { readonly maxBytes: number; readonly readJson: (line: Buffer) => unknown },
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
      if (line.length > 0) yield await valueOf(line, readJson)
    }
    if (start < chunk.length) rest.push(chunk.subarray(start))
    size += chunk.length - start
    if (size > maxBytes) throw new TransportError(`the stream sent a line of more than ${maxBytes} bytes`)
  }
  if (rest.length > 0) throw new TransportError('the stream ended in the middle of a line')
}

export function parseJson(bytes: Buffer): unknown {
  return JSON.parse(bytes.toString('utf8'))
}

async function valueOf(
  { buffer, byteOffset, byteLength }: Uint8Array,
  readJson: (line: Buffer) => unknown,
): Promise<unknown> {
  try {
    return await readJson(Buffer.from(buffer, byteOffset, byteLength))
  } catch (error) {
    throw new TransportError(`the stream sent a line that is not read as JSON (${byteLength} bytes)`, { cause: error })
  }
}

const newline = 10
