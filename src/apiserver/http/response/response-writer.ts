import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { constants, createGzip, gzip } from 'node:zlib'
import { promisify } from 'node:util'
import type { KubeObject } from '../../../kube/object.ts'
import { protobufList } from '../../schema/wire/protobuf-writer.ts'
import type { Document } from '../../store/document.ts'
import { contentType, contentValue, type Answer, type Content, type Encoding } from './answer.ts'
import { encodeValue, listForm, protobufType, yamlType, type ListForm } from './encoding.ts'
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
  /** Lets other requests be served. */
  readonly breathe: () => Promise<void>
}

/** Writes an answer other than a watch. Resolves when the socket has taken it, or the client has disconnected. */
export async function writeAnswer(
  response: ServerResponse,
  answer: Answer & { readonly content: Exclude<Content, { is: 'watch' }> },
  context: WriteContext,
): Promise<void> {
  const { content, encoding } = answer
  writeHead(response, answer)
  if (content.is === 'list') return writeList(response, { content, encoding }, context)
  if (encoding && encodable.has(content.is)) {
    const { body, type } = encodeValue(await contentValue(content), encoding)
    if (type) response.setHeader('content-type', type)
    return context.isHead ? void response.end() : writeText(response, body, context)
  }
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
    case 'stream':
      response.flushHeaders()
      return writeChunks(response, content.chunks, { ...context, acceptsGzip: false })
    case 'empty':
      return void response.end()
  }
}

const encodable: ReadonlySet<Content['is']> = new Set(['json', 'json-text', 'object'])

type List = Extract<Content, { is: 'list' }>

/** Writes a list in batches: a long list takes long to write, and other requests are served in between. */
async function writeList(
  response: ServerResponse,
  { content, encoding }: { readonly content: List; readonly encoding: Encoding | undefined },
  context: WriteContext,
): Promise<void> {
  const { list, as } = content
  const head = as.head(list.metadata)
  const protobuf = encoding === 'protobuf' ? protobufList(head) : undefined
  if (protobuf) response.setHeader('content-type', protobufType)
  else if (encoding === 'yaml') response.setHeader('content-type', yamlType)
  if (context.isHead) return void response.end()
  if (!protobuf) {
    const form = encoding ? encodedForm(as, head, encoding) : jsonForm(as, head)
    return writeChunks(response, listText(content, form, context), context)
  }
  const items: Buffer[] = []
  for await (const batch of batches(content, (document) => protobuf.item(as.item(document)), context))
    items.push(...batch)
  // The length of the whole stands in front of it.
  return writeText(response, protobuf.whole(items), context)
}

const batchSize = 64 * 1024

/** The items as they are written. */
async function* batches<T extends string | Buffer>(
  { list }: List,
  write: (document: Document) => T,
  { breathe }: WriteContext,
): AsyncGenerator<readonly T[]> {
  let batch: T[] = []
  let size = 0
  for await (const documents of list.items)
    for (const document of documents) {
      const item = write(document)
      batch.push(item)
      size += item.length
      if (size < batchSize) continue
      yield batch
      batch = []
      size = 0
      await breathe()
    }
  yield batch
}

/** Whether the client has disconnected; a response of HTTP/2 knows it by its stream. */
export function isClosed(response: ServerResponse): boolean {
  const { stream } = response as ServerResponse & { readonly stream?: { readonly destroyed: boolean } }
  return stream?.destroyed ?? response.destroyed
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

async function writeText(
  response: ServerResponse,
  text: string | Buffer,
  { acceptsGzip }: WriteContext,
): Promise<void> {
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
    if (isClosed(response)) return
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
  if (isClosed(response)) return
  const gone = new AbortController()
  const onClose = () => gone.abort()
  const onResume = onStall()
  response.once('close', onClose)
  try {
    await once(target, 'drain', { signal: gone.signal })
  } catch {
    // The client has disconnected; the caller's loop checks `isClosed`.
  } finally {
    onResume()
    response.off('close', onClose)
  }
}

async function* listText(content: List, form: ListForm<Document>, context: WriteContext): AsyncGenerator<string> {
  let lead = form.start
  for await (const batch of batches(content, form.item, context)) {
    if (batch.length === 0) continue
    yield lead + batch.join(form.between)
    lead = form.between
  }
  yield lead === form.start ? form.empty : form.end
}

type Head = Readonly<Record<string, unknown>>

function jsonForm(as: Presentation, head: Head): ListForm<Document> {
  const start = `${JSON.stringify(head).slice(0, -1)},${JSON.stringify(as.itemsField)}:[`
  return { start, between: ',', end: ']}', empty: `${start}]}`, item: (document) => itemText(as, document) }
}

/** Items of built-in kinds leave out what the list implies, as `itemText` does. */
function encodedForm(as: Presentation, head: Head, encoding: Encoding): ListForm<Document> {
  const form = listForm(head, as.itemsField, encoding === 'yaml')
  const shown = (document: Document) => {
    const value = as.item(document)
    if (!as.impliedStart) return value
    const { apiVersion: _, kind: __, ...item } = value as KubeObject
    return item
  }
  return { ...form, item: (document) => form.item(shown(document)) }
}

function itemText(as: Presentation, document: Document): string {
  const { impliedStart } = as
  if (!as.isPlain) return JSON.stringify(as.item(document))
  return impliedStart && document.text.startsWith(impliedStart)
    ? `{${document.text.slice(impliedStart.length)}`
    : document.text
}
