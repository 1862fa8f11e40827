import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { constants, createGzip, gzip } from 'node:zlib'
import { promisify } from 'node:util'
import { contentType, type Answer, type Content } from './answer.ts'
import type { Presentation } from './presentation.ts'

/** Shorter answers are not compressed, as in kube-apiserver. */
const gzipThreshold = 128 * 1024

/** What the request says about how to write its answer. */
export interface WriteContext {
  readonly acceptsGzip: boolean
  /** Whether to leave out the body (HEAD). */
  readonly isHead: boolean
  /** Called when the client stops reading; its result is called when the client reads on. */
  readonly onStall: () => () => void
}

/** Writes an answer other than a watch. Resolves when the socket has taken it, or the client has disconnected. */
export async function writeAnswer(
  response: ServerResponse,
  answer: Answer & { readonly content: Exclude<Content, { is: 'watch' }> },
  context: WriteContext,
): Promise<void> {
  const { content } = answer
  writeHead(response, answer)
  if (context.isHead) return void response.end()
  switch (content.is) {
    case 'json':
      return writeText(response, JSON.stringify(content.value), context)
    case 'json-text':
    case 'text':
      return writeText(response, content.text, context)
    case 'object': {
      const { as, document } = content
      return writeText(response, as.isPlain ? document.text : JSON.stringify(as.one(document)), context)
    }
    case 'list':
      return writeChunks(response, listText(content), context)
    case 'stream':
      response.flushHeaders()
      return writeChunks(response, content.chunks, { ...context, acceptsGzip: false })
    case 'empty':
      return void response.end()
  }
}

/** Sets status and headers; content-length is set where the body's length is known. */
export function writeHead(response: ServerResponse, { status, headers = {}, warnings = [], content }: Answer): void {
  response.statusCode = status
  const type = contentType(content)
  if (type) response.setHeader('content-type', type)
  response.setHeader('cache-control', 'no-cache, private')
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  if (warnings.length > 0) response.setHeader('warning', warnings.map(warningValue))
}

/** `299 - "text"` (RFC 7234 §5.5), with characters escaped that would end the header or the quotes. */
export function warningValue(text: string): string {
  const safe = text.replaceAll(/[^\x20-\x7e\u00a0-\uffff]/g, ' ').replaceAll(/["\\]/g, '\\$&')
  return `299 - "${Buffer.from(safe).toString('latin1')}"`
}

async function writeText(response: ServerResponse, text: string, { acceptsGzip }: WriteContext): Promise<void> {
  if (!acceptsGzip || text.length < gzipThreshold) {
    response.setHeader('content-length', Buffer.byteLength(text))
    // As a string: Node then sends headers and body in one write.
    response.end(text)
    return
  }
  const compressed = await promisify(gzip)(text, { level: constants.Z_BEST_SPEED })
  response.setHeader('content-encoding', 'gzip')
  response.setHeader('vary', 'Accept-Encoding')
  response.setHeader('content-length', compressed.length)
  response.end(compressed)
}

/** Sends small lists at once and large ones as they are read from the store, at the client's pace. */
async function writeChunks(
  response: ServerResponse,
  chunks: AsyncIterable<Uint8Array | string>,
  { acceptsGzip, onStall }: WriteContext,
): Promise<void> {
  let target: NodeJS.WritableStream = response
  let size = 0
  let head = ''
  for await (const chunk of chunks) {
    if (response.destroyed) return
    size += chunk.length
    if (acceptsGzip && typeof chunk === 'string' && target === response && !response.headersSent) {
      head += chunk
      if (size < gzipThreshold) continue
      response.setHeader('content-encoding', 'gzip')
      response.setHeader('vary', 'Accept-Encoding')
      const zip = createGzip({ level: constants.Z_BEST_SPEED })
      zip.pipe(response)
      target = zip
      if (!zip.write(head)) await waitForDrain(zip, response, onStall)
      continue
    }
    if (!target.write(chunk)) await waitForDrain(target, response, onStall)
  }
  if (response.headersSent || target !== response) target.end()
  else response.end(head)
}

async function waitForDrain(
  target: NodeJS.WritableStream,
  response: ServerResponse,
  onStall: () => () => void,
): Promise<void> {
  const gone = new AbortController()
  const onClose = () => gone.abort()
  const onResume = onStall()
  response.once('close', onClose)
  try {
    await once(target, 'drain', { signal: gone.signal })
  } catch {
    // The client has disconnected; the caller's loop checks `destroyed`.
  } finally {
    onResume()
    response.off('close', onClose)
  }
}

async function* listText({ list, as }: Extract<Content, { is: 'list' }>): AsyncGenerator<string> {
  const head = JSON.stringify(as.head(list.metadata))
  let lead = `${head.slice(0, -1)},${JSON.stringify(as.itemsField)}:[`
  for await (const documents of list.items) {
    if (documents.length === 0) continue
    yield lead + documents.map((document) => itemText(as, document)).join(',')
    lead = ','
  }
  yield `${lead === ',' ? '' : lead}]}`
}

function itemText(as: Presentation, document: Parameters<Presentation['item']>[0]): string {
  const { impliedStart } = as
  if (!as.isPlain) return JSON.stringify(as.item(document))
  return impliedStart && document.text.startsWith(impliedStart)
    ? `{${document.text.slice(impliedStart.length)}`
    : document.text
}
