import { STATUS_CODES } from 'node:http'

/** Why the proxy responds itself, by what it says in `x-sojourn-because`: the status, and the explanation in the body. */
const reasons = {
  'malformed-request': [400, 'The request is not well-formed HTTP/1.1.'],
  'bad-host': [400, 'The request names no valid host.'],
  'unknown-host': [404, 'No route exists for this host.'],
  'unsupported-method': [405, 'This method cannot be forwarded.'],
  'head-timeout': [408, 'The request head took too long to arrive.'],
  'target-too-long': [414, 'The request target is too long.'],
  'unsupported-expectation': [417, 'This expectation cannot be met.'],
  'head-too-large': [431, 'The request head is too large.'],
  'upstream-failed': [502, 'The workload closed the connection or sent no valid response.'],
  'queue-full': [503, 'Too many requests are waiting for this workload.'],
  'wake-denied': [503, 'The workload could not be woken.'],
  backoff: [503, 'The workload did not become ready when last woken; try again in a moment.'],
  'route-gone': [503, 'The route was removed while the request waited.'],
  'target-gone': [503, 'The workload does not exist.'],
  'no-port': [503, 'The Service has no such port, or none at all.'],
  'not-ready-in-time': [504, 'The workload was not ready in time.'],
  'upstream-timeout': [504, 'The workload took too long to answer.'],
} as const satisfies Readonly<Record<string, readonly [number, string]>>

export type Because = keyof typeof reasons

export interface AnswerOptions {
  readonly close: boolean
  readonly isHead?: boolean
  readonly retryAfterSeconds?: number
  /** Said behind the sentence. */
  readonly detail?: string | undefined
}

/** The status an answer of the proxy's own carries. */
export function statusFor(because: Because): number {
  return reasons[because][0]
}

/** The explanation in the response body. */
export function sentenceFor(because: Because): string {
  return reasons[because][1]
}

/** The whole text of an answer by the proxy itself. */
export function answer(because: Because, options: AnswerOptions): string {
  const retry =
    options.retryAfterSeconds === undefined
      ? ''
      : `Retry-After: ${Math.max(1, Math.ceil(options.retryAfterSeconds))}\r\n`
  const [status, sentence] = reasons[because]
  return page(status, `${sentence}${options.detail === undefined ? '' : ` ${options.detail}`}\n`, {
    ...options,
    type: 'text/plain; charset=utf-8',
    extra: `X-Sojourn-Because: ${because}\r\n${retry}`,
  })
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
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Status'}\r\n${about}` +
    `Cache-Control: no-store\r\n${extra}Connection: ${close ? 'close' : 'keep-alive'}\r\n\r\n`
  return isHead || !hasBody ? head : head + body
}
