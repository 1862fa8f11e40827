const httpCode = {
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  NotAcceptable: 406,
  AlreadyExists: 409,
  Conflict: 409,
  Expired: 410,
  Gone: 410,
  RequestEntityTooLarge: 413,
  UnsupportedMediaType: 415,
  Invalid: 422,
  TooManyRequests: 429,
  InternalError: 500,
  ServiceUnavailable: 503,
  Timeout: 504,
  ServerTimeout: 500,
} as const

/** Why a request failed, in the API's own words. */
export type StatusReason = keyof typeof httpCode

/** One cause of a failure: which field, what kind of fault, what to say. */
export interface StatusCause {
  readonly reason?: string
  readonly message?: string
  readonly field?: string
}

export interface StatusDetails {
  readonly name?: string
  readonly group?: string
  readonly kind?: string
  readonly uid?: string
  readonly causes?: readonly StatusCause[]
  readonly retryAfterSeconds?: number
}

/** The wire form of a failure. */
export interface Status {
  readonly apiVersion: 'v1'
  readonly kind: 'Status'
  readonly metadata: Record<string, unknown>
  readonly status: 'Failure' | 'Success'
  readonly message?: string
  readonly reason?: string
  readonly details?: StatusDetails
  readonly code: number
}

/** A failure both sides of the wire speak: the API server throws it, the client rethrows it. */
export class StatusError extends Error {
  override readonly name = 'StatusError'
  readonly reason: StatusReason
  readonly details: StatusDetails | undefined
  readonly code: number

  constructor(
    reason: StatusReason,
    message: string,
    options: ErrorOptions & { details?: StatusDetails; code?: number } = {},
  ) {
    super(message, options)
    this.reason = reason
    this.details = options.details
    this.code = options.code ?? httpCode[reason]
  }

  toStatus(): Status {
    const { reason, message, details, code } = this
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message,
      reason,
      ...(details ? { details } : {}),
      code,
    }
  }

  /** Reads a failure off the wire; what is not a Status becomes the reason its HTTP code stands for. */
  static from(code: number, body: unknown): StatusError {
    if (isStatus(body)) {
      const reason =
        body.reason !== undefined && body.reason in httpCode ? (body.reason as StatusReason) : reasonOf(code)
      return new StatusError(reason, body.message ?? reason, {
        ...(body.details ? { details: body.details } : {}),
        code,
      })
    }
    return new StatusError(reasonOf(code), `the server answered ${code} with something other than a Status`, { code })
  }
}

/** Turns failures with one of these reasons into `undefined`: `await client.delete(…).catch(ignoring('NotFound'))`. */
export function ignoring(...reasons: readonly StatusReason[]): (error: unknown) => undefined {
  return (error) => {
    if (isStatusError(error, ...reasons)) return undefined
    throw error
  }
}

/** Whether this is a StatusError, with one of these reasons if any are named. */
export function isStatusError(error: unknown, ...reasons: readonly StatusReason[]): error is StatusError {
  return error instanceof StatusError && (reasons.length === 0 || reasons.includes(error.reason))
}

/** Whether nothing can be created in a namespace because it is on its way out. */
export function isNamespaceTerminating(error: unknown): boolean {
  return (
    isStatusError(error, 'Forbidden') &&
    (error.details?.causes ?? []).some(({ reason }) => reason === 'NamespaceTerminating')
  )
}

/** A failure of a named object, worded as the API words it. */
export function notFound(resource: { readonly group: string; readonly plural: string }, name: string): StatusError {
  const { group, plural } = resource
  return new StatusError('NotFound', `${group ? `${plural}.${group}` : plural} "${name}" not found`, {
    details: { name, ...(group ? { group } : {}), kind: plural },
  })
}

function isStatus(body: unknown): body is Status {
  return typeof body === 'object' && body !== null && (body as { kind?: unknown }).kind === 'Status'
}

function reasonOf(code: number): StatusReason {
  for (const [reason, itsCode] of Object.entries(httpCode)) {
    if (itsCode === code && reason !== 'AlreadyExists' && reason !== 'Expired') return reason as StatusReason
  }
  return code >= 500 ? 'InternalError' : 'BadRequest'
}

/** What was thrown, as a text. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
