import http2, { type IncomingHttpHeaders, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import { mayHaveBody, sentenceFor, statusFor, type Because } from '../answers/answers.ts'
import type { StaticAnswer } from '../routing/static-answer.ts'

/** Answers a stream with a body of our own. */
export function giveStream(
  stream: ServerHttp2Stream,
  { status, type, body }: Pick<StaticAnswer, 'status' | 'type' | 'body'>,
  fields: OutgoingHttpHeaders,
): void {
  if (stream.destroyed || stream.headersSent) return
  const bytes = Buffer.from(body, 'latin1')
  if (!mayHaveBody(status)) return stream.respond({ ...fields, ':status': status }, { endStream: true })
  stream.respond({
    ...fields,
    ':status': status,
    'content-type': type,
    'content-length': bytes.length,
    'cache-control': 'no-store',
  })
  // Node omits the body of a response to HEAD.
  stream.end(bytes)
}

/** Responds to a stream in place of the workload; a gRPC client gets a gRPC status. */
export function answerStream(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  because: Because,
  retryAfterSeconds?: number,
): void {
  if (stream.destroyed || stream.headersSent) return stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR)
  if (headers['content-type']?.startsWith('application/grpc')) {
    const status = because === 'unknown-host' ? '12' : '14'
    stream.respond(
      {
        ':status': 200,
        'content-type': 'application/grpc',
        'grpc-status': status,
        'grpc-message': sentenceFor(because),
      },
      { endStream: true },
    )
    return
  }
  const answer: OutgoingHttpHeaders = {
    ':status': statusFor(because),
    'content-type': 'text/plain; charset=utf-8',
    'x-sojourn-because': because,
    'cache-control': 'no-store',
  }
  if (retryAfterSeconds !== undefined) answer['retry-after'] = String(Math.max(1, Math.ceil(retryAfterSeconds)))
  stream.respond(answer)
  stream.end(`${sentenceFor(because)}\n`)
}
