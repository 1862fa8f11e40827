import type { IncomingMessage } from 'node:http'
import { StatusError } from '../../../kube/status-error.ts'

/** The maximum size of a body, as in kube-apiserver. */
const bodyLimit = 3 * 1024 * 1024

/** Reads the whole body. Throws RequestEntityTooLarge above the limit; the connection can still carry that answer. */
export function readBody(request: IncomingMessage, limit = bodyLimit): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const onData = (chunk: Buffer) => {
      size += chunk.length
      if (size > limit) return refuse()
      chunks.push(chunk)
    }
    const refuse = () => {
      // The rest is read and dropped, so that the client sees the answer instead of a reset.
      request.off('data', onData).resume()
      reject(new StatusError('RequestEntityTooLarge', `Request entity too large: limit is ${limit}`, { details: {} }))
    }
    if (Number(request.headers['content-length'] ?? 0) > limit) return refuse()
    request.on('data', onData)
    request.once('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)))
    request.once('error', reject)
    request.once('close', () => {
      if (!request.readableEnded) reject(new StatusError('BadRequest', 'the request ended before its body did'))
    })
  })
}
