import type { PromotionError } from '../apis/pipeline-status.ts'
import type { Because } from '../apis/pipeline-reasons.ts'

/** A failure of something outside, classed by what helps against it. */
export class Trouble extends Error {
  override readonly name = 'Trouble'
  readonly kind: PromotionError['class']
  readonly because: Because
  readonly httpStatus: number | undefined
  /** Not to be tried again before this time. */
  readonly retryAt: number | undefined

  constructor(
    kind: PromotionError['class'],
    because: Because,
    message: string,
    options: ErrorOptions & { readonly httpStatus?: number; readonly retryAt?: number } = {},
  ) {
    super(message, options)
    this.kind = kind
    this.because = because
    this.httpStatus = options.httpStatus
    this.retryAt = options.retryAt
  }

  /** As it is kept in a status: shortened, and without these secrets or anything else that could be a credential. */
  toRecord(secrets: Iterable<string> = []): PromotionError {
    const { kind, because, httpStatus } = this
    return {
      class: kind,
      reason: because,
      message: withoutSecrets(this.message, secrets).slice(0, maxMessage),
      ...(httpStatus === undefined ? {} : { httpStatus }),
    }
  }
}

/** Anything thrown, as trouble: what is not classed yet may pass. */
export function troubleOf(error: unknown): Trouble {
  if (error instanceof Trouble) return error
  const message = error instanceof Error ? error.message || error.name : String(error)
  return new Trouble('Transient', 'GitProviderUnavailable', message, { cause: error })
}

const maxMessage = 1024

const shortestSecret = 4

function withoutSecrets(text: string, secrets: Iterable<string>): string {
  let safe = text
  for (const secret of secrets) if (secret.length >= shortestSecret) safe = safe.replaceAll(secret, '…')
  return safe
    .replace(/\/\/[^/@\s]*@/g, '//')
    .replace(/\b(bearer|basic)\s+\S+/gi, '$1 …')
    .replace(/(token|password|secret|authorization)(["']?\s*[=:]["'\s]*)\S+/gi, '$1$2…')
}
