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

/** Posts a body and resolves when the receiver has accepted it. Errors never contain the URL: it may be a secret. */
export async function post(
  url: string,
  {
    headers,
    body,
    signal,
  }: { readonly headers: Readonly<Record<string, string>>; readonly body: string; readonly signal: AbortSignal },
): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers,
    body,
    redirect: 'error',
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
  }).catch((error: unknown) => {
    const because =
      error instanceof Error && error.name === 'TimeoutError' ? 'did not answer in time' : 'cannot be reached'
    throw new Error(`the receiver ${because}`, { cause: error })
  })
  const answer = (await response.text().catch(() => '')).slice(0, 200)
  if (response.status === 429) {
    const seconds = Number(response.headers.get('retry-after') ?? '60')
    throw new RetryLater(
      (Number.isFinite(seconds) ? Math.max(1, seconds) : 60) * 1000,
      'the receiver answered 429 Too Many Requests',
    )
  }
  if (!response.ok) throw new Error(`the receiver answered ${response.status} ${answer}`)
}
