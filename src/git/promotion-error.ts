import type { LastError } from '../apis/pipeline-status.ts'
import type { Because } from '../apis/pipeline-reasons.ts'

/** An error of a promotion, mostly from a git server or forge, classified by whether a retry can help. */
export class PromotionError extends Error {
  override readonly name = 'PromotionError'
  readonly kind: LastError['class']
  readonly because: Because
  readonly httpStatus: number | undefined
  /** The earliest time for a retry, if the server named one. */
  readonly retryAt: number | undefined

  constructor(
    kind: LastError['class'],
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

  /** The error as stored in a status: shortened, and without these secrets or anything that looks like a credential. */
  toRecord(secrets: Iterable<string> = []): LastError {
    const { kind, because, httpStatus } = this
    return {
      class: kind,
      reason: because,
      message: withoutSecrets(this.message, secrets).slice(0, maxMessage),
      ...(httpStatus === undefined ? {} : { httpStatus }),
    }
  }
}

type Details = ConstructorParameters<typeof PromotionError>[3]

/** An error that stays until a user changes something. */
export function permanent(because: Because, message: string, details?: Details): PromotionError {
  return new PromotionError('Permanent', because, message, details)
}

/** An error that a retry may overcome. */
export function transient(because: Because, message: string, details?: Details): PromotionError {
  return new PromotionError('Transient', because, message, details)
}

/** Any thrown value as a PromotionError. An unclassified one counts as transient. */
export function toPromotionError(error: unknown): PromotionError {
  if (error instanceof PromotionError) return error
  const message = error instanceof Error ? error.message || error.name : String(error)
  return transient('GitProviderUnavailable', message, { cause: error })
}

const maxMessage = 1024

/** Shorter secrets are not masked: they would also match ordinary text. */
const minSecretLength = 4

function withoutSecrets(text: string, secrets: Iterable<string>): string {
  let safe = text
  for (const secret of secrets) if (secret.length >= minSecretLength) safe = safe.replaceAll(secret, '…')
  return safe
    .replace(/\/\/[^/@\s]*@/g, '//')
    .replace(/\b(bearer|basic)\s+\S+/gi, '$1 …')
    .replace(/(token|password|secret|authorization)(["']?\s*[=:]["'\s]*)\S+/gi, '$1$2…')
}
