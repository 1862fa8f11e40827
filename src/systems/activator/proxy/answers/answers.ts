import type { Refusal } from '../routing/ports.ts'

/** Why the proxy responded itself: sent in `x-sojourn-because`, and counted in the metrics. */
export type Because =
  | Refusal
  | 'malformed-request'
  | 'head-too-large'
  | 'target-too-long'
  | 'bad-host'
  | 'unknown-host'
  | 'unsupported-method'
  | 'unsupported-expectation'
  | 'head-timeout'
  | 'upstream-failed'
  | 'upstream-timeout'
  | 'asleep'

const statusOf: Record<Because, number> = {
  'malformed-request': 400,
  'bad-host': 400,
  'unknown-host': 404,
  'unsupported-method': 405,
  'head-timeout': 408,
  'target-too-long': 414,
  'unsupported-expectation': 417,
  'head-too-large': 431,
  'upstream-failed': 502,
  'queue-full': 503,
  'wake-denied': 503,
  backoff: 503,
  'route-gone': 503,
  'target-gone': 503,
  'shutting-down': 503,
  asleep: 503,
  'not-ready-in-time': 504,
  'upstream-timeout': 504,
}

const sentences: Record<Because, string> = {
  'malformed-request': 'The request is not well-formed HTTP/1.1.',
  'bad-host': 'The request names no valid host.',
  'unknown-host': 'No route exists for this host.',
  'unsupported-method': 'This method cannot be forwarded.',
  'head-timeout': 'The request head took too long to arrive.',
  'target-too-long': 'The request target is too long.',
  'unsupported-expectation': 'This expectation cannot be met.',
  'head-too-large': 'The request head is too large.',
  'upstream-failed': 'The workload closed the connection or sent no valid response.',
  'queue-full': 'Too many requests are waiting for this workload.',
  'wake-denied': 'The workload could not be woken.',
  backoff: 'The workload did not become ready when last woken; try again in a moment.',
  'route-gone': 'The route was removed while the request waited.',
  'target-gone': 'The workload no longer exists.',
  'shutting-down': 'This proxy is shutting down.',
  asleep: 'The workload is asleep.',
  'not-ready-in-time': 'The workload was not ready in time.',
  'upstream-timeout': 'The workload took too long to answer.',
}

const reasonPhrases: Record<number, string> = {
  200: 'OK',
  204: 'No Content',
  400: 'Bad Request',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  414: 'URI Too Long',
  417: 'Expectation Failed',
  431: 'Request Header Fields Too Large',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
}

export interface AnswerOptions {
  readonly close: boolean
  readonly isHead?: boolean
  readonly retryAfterSeconds?: number
  /** Said behind the sentence. */
  readonly detail?: string | undefined
}

/** The status an answer of the proxy's own carries. */
export function statusFor(because: Because): number {
  return statusOf[because]
}

/** The explanation in the response body. */
export function sentenceFor(because: Because): string {
  return sentences[because]
}

/** The whole text of an answer by the proxy itself. */
export function answer(because: Because, options: AnswerOptions): string {
  const retry =
    options.retryAfterSeconds === undefined
      ? ''
      : `Retry-After: ${Math.max(1, Math.ceil(options.retryAfterSeconds))}\r\n`
  return page(statusOf[because], `${sentences[because]}${options.detail === undefined ? '' : ` ${options.detail}`}\n`, {
    ...options,
    type: 'text/plain; charset=utf-8',
    extra: `X-Sojourn-Because: ${because}\r\n${retry}`,
  })
}

/** The response to a health check while the workload sleeps. */
export function probeAnswer(status: number, options: AnswerOptions): string {
  return page(status, 'asleep\n', { ...options, type: 'text/plain', extra: 'X-Sojourn-Because: asleep\r\n' })
}

/** Whether an answer of this status may have a body. */
export function mayHaveBody(status: number): boolean {
  return status !== 204 && status !== 304
}

/** A complete response with a body of its own, of one character per byte. */
export function page(
  status: number,
  body: string,
  { type, extra = '', close, isHead = false }: AnswerOptions & { readonly type: string; readonly extra?: string },
): string {
  const hasBody = mayHaveBody(status)
  const about = hasBody ? `Content-Type: ${type}\r\nContent-Length: ${body.length}\r\n` : ''
  const head =
    `HTTP/1.1 ${status} ${reasonPhrases[status] ?? 'Status'}\r\n${about}` +
    `Cache-Control: no-store\r\n${extra}Connection: ${close ? 'close' : 'keep-alive'}\r\n\r\n`
  return isHead || !hasBody ? head : head + body
}
