import { formatMicroTime } from '../../../../kube/time.ts'
import type { Clock } from '../../../../runtime/time/clock.ts'

/** Requests of a quarter of a second that the proxy answered itself, or could not finish, for one reason. */
export interface OwnAnswers {
  readonly because: string
  /** What the client got. */
  readonly status: number
  /** The route, if one was found. */
  readonly route?: string | undefined
  /** What the pod did, and at which address. */
  readonly detail?: string | undefined
  readonly count: number
}

export type OnAnswers = (answers: readonly OwnAnswers[]) => void

/** One request, as the access log tells it. */
export interface AccessEntry {
  readonly client: string
  readonly protocol: 'HTTP/1.0' | 'HTTP/1.1' | 'HTTP/2'
  readonly method?: string | undefined
  readonly host?: string | undefined
  /** With its query and fragment, which are left out: they may hold secrets. */
  readonly target?: string | undefined
  readonly route?: string | undefined
  readonly status: number
  /** Bytes of the answer, its head included. */
  readonly bytes?: number
  readonly durationMs?: number
  /** Why the proxy answered itself. */
  readonly because?: string | undefined
  readonly clientLeft?: true | undefined
}

export interface JournalPorts {
  readonly clock: Clock
  /** Takes what the proxy answered itself since the last report. Defaults to nothing. */
  readonly report?: OnAnswers
  /** Takes lines of the access log; without it none are written. */
  readonly accessLog?: (lines: string) => void
}

const maxLines = 65_536

/** What one thread tells about requests: its own answers, by reason, and every request where an access log is kept. */
export class Journal {
  readonly #ports: JournalPorts
  readonly #answers = new Map<string, OwnAnswers>()
  #lines = ''
  readonly keepsAccessLog: boolean

  constructor(ports: JournalPorts) {
    this.#ports = ports
    this.keepsAccessLog = ports.accessLog !== undefined
  }

  noteAnswer(answer: Omit<OwnAnswers, 'count'>): void {
    const key = `${answer.because} ${answer.route} ${answer.status} ${answer.detail}`
    this.#answers.set(key, { ...answer, count: (this.#answers.get(key)?.count ?? 0) + 1 })
  }

  noteAccess({ target, durationMs, ...entry }: AccessEntry): void {
    if (!this.keepsAccessLog) return
    const path = target?.split(/[?#]/, 1)[0]
    const seconds = durationMs === undefined ? {} : { durationSeconds: Math.round(durationMs * 1000) / 1e6 }
    const time = formatMicroTime(this.#ports.clock.now())
    this.#lines += `${JSON.stringify({ time, level: 'info', message: 'request', ...entry, path, ...seconds })}\n`
    if (this.#lines.length > maxLines) this.#writeLines()
  }

  /** Hands over what has been noted. */
  flush(): void {
    if (this.#lines !== '') this.#writeLines()
    if (this.#answers.size === 0) return
    this.#ports.report?.([...this.#answers.values()])
    this.#answers.clear()
  }

  #writeLines(): void {
    this.#ports.accessLog?.(this.#lines)
    this.#lines = ''
  }
}
