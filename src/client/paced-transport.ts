import { isStatusError, StatusError } from '../kube/status-error.ts'
import type { ApiResponse, Transport } from '../kube/transport.ts'

export interface PaceOptions {
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>
  random(): number
  /** How many requests may be under way at once when the server is happy. Defaults to 64. */
  readonly maxConcurrent?: number
  /** How often one request is tried before its refusal is handed on. Defaults to 5. */
  readonly tries?: number
}

/**
 * Lets the server set the pace: as many requests at once as it takes, half as many after each "too many", and a
 * refused request again after the time it asked for. Watches do not count: they last.
 */
export function pacedTransport(inner: Transport, options: PaceOptions): Transport {
  const { maxConcurrent = 64, tries = 5 } = options
  const gate = new Gate(maxConcurrent)

  return async (request) => {
    if (request.query?.watch === 'true') return inner(request)
    for (let attempt = 1; ; attempt++) {
      const response = await gate.pass(() => inner(request), request.signal)
      const waitMs = refusalMs(response)
      if (waitMs === undefined) {
        gate.widen()
        return response
      }
      gate.narrow()
      if (attempt >= tries) return response
      // Spread, so that those refused together do not come back together.
      await options.sleep(waitMs * (1 + options.random()), request.signal)
    }
  }
}

/** How long to wait before asking again, when the server said "not now": 429, or 503 with a time. */
function refusalMs({ status, headers, body }: ApiResponse): number | undefined {
  const seconds = Number(headers['retry-after'] ?? retryAfterOf(status, body) ?? Number.NaN)
  if (status === 429) return Math.min(Number.isFinite(seconds) ? seconds * 1000 : 1000, maxWaitMs)
  return status === 503 && Number.isFinite(seconds) ? Math.min(seconds * 1000, maxWaitMs) : undefined
}

function retryAfterOf(status: number, body: unknown): number | undefined {
  const error = StatusError.from(status, body)
  return isStatusError(error) ? error.details?.retryAfterSeconds : undefined
}

const maxWaitMs = 60_000

/** At most `width` at once; the width adds one per round of success and halves on refusal. */
class Gate {
  readonly #most: number
  #width: number
  #inside = 0
  /** Those who wait, oldest first. Empty unless `inside` has reached the width. */
  readonly #waiting = new Set<() => void>()

  constructor(most: number) {
    this.#most = most
    this.#width = most
  }

  async pass<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (this.#inside < Math.floor(this.#width)) this.#inside++
    else await this.#wait(signal)
    try {
      return await work()
    } finally {
      this.#inside--
      this.#admit()
    }
  }

  widen(): void {
    this.#width = Math.min(this.#most, this.#width + 1 / this.#width)
  }

  narrow(): void {
    this.#width = Math.max(1, this.#width / 2)
  }

  /** Counts each request before it runs, so that no other request can exceed the limit in between. */
  #admit(): void {
    for (const enter of this.#waiting) {
      if (this.#inside >= Math.floor(this.#width)) return
      this.#waiting.delete(enter)
      this.#inside++
      enter()
    }
  }

  #wait(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting.delete(enter)
        reject(signal?.reason as Error)
      }
      const enter = () => {
        signal?.removeEventListener('abort', leave)
        resolve()
      }
      this.#waiting.add(enter)
      signal?.addEventListener('abort', leave, { once: true })
    })
  }
}
