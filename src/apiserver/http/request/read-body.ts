import type { IncomingMessage } from 'node:http'
import { StatusError } from '../../../kube/status-error.ts'

/** The most a body may hold, as kube-apiserver allows. */
export const bodyLimit = 3 * 1024 * 1024

/** The whole body; throws RequestEntityTooLarge, still able to answer, when it is more than the limit. */
export function readBody(request: IncomingMessage): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const onData = (chunk: Buffer) => {
      size += chunk.length
      if (size > bodyLimit) return refuse()
      chunks.push(chunk)
    }
    const refuse = () => {
      // Whatever still comes is thrown away; the connection ends after the answer.
      request.off('data', onData).resume()
      reject(
        new StatusError('RequestEntityTooLarge', `Request entity too large: limit is ${bodyLimit}`, { details: {} }),
      )
    }
    if (Number(request.headers['content-length'] ?? 0) > bodyLimit) return refuse()
    request.on('data', onData)
    request.once('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)))
    request.once('error', reject)
    request.once('close', () => {
      if (!request.readableEnded) reject(new StatusError('BadRequest', 'the request ended before its body did'))
    })
  })
}
