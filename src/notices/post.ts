import type { Http } from '../runtime/http/http.ts'
import { isDeniedAddress } from '../runtime/http/outgoing.ts'

/** The receiver answered 429 and asked to retry later. */
export class RetryLater extends Error {
  override readonly name = 'RetryLater'
  readonly afterMs: number

  constructor(afterMs: number, message: string) {
    super(message)
    this.afterMs = afterMs
  }
}

const timeoutMs = 15_000

/** Posts a body and resolves when the receiver has accepted it. Errors contain neither the URL, which may be a secret, nor the answer. */
export async function post(
  http: Http,
  url: string,
  message: { readonly headers: Readonly<Record<string, string>>; readonly body: string; readonly signal: AbortSignal },
): Promise<void> {
  const { headers, body, signal } = message
  const { status, headers: answered } = await http({
    method: 'POST',
    url,
    headers,
    body: Buffer.from(body),
    signal,
    timeoutMs,
  }).catch((error: unknown) => {
    const because = isDeniedAddress(error)
      ? 'has a link-local address, which only --allow-outgoing allows'
      : 'cannot be reached, or did not answer in time'
    throw new Error(`the receiver ${because}`, { cause: error })
  })
  if (status === 429) {
    const seconds = Number(answered['retry-after'] ?? '60')
    throw new RetryLater(
      (Number.isFinite(seconds) ? Math.max(1, seconds) : 60) * 1000,
      'the receiver answered 429 Too Many Requests',
    )
  }
  if (status < 200 || status > 299) throw new Error(`the receiver answered ${status}`)
}
