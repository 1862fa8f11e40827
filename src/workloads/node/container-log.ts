import { appendFileSync, existsSync, mkdirSync, readFileSync, renameSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { formatMicroTime, parseTime } from '../../kube/time.ts'
import { sleep, type Clock } from '../../runtime/clock.ts'

/** What one container has said, a line each with its time; the former run's is kept beside it. */
export class ContainerLog {
  readonly #path: string
  readonly #clock: Clock
  /** The beginning of a line whose end has not come yet, by stream. */
  readonly #partial = new Map<string, string>()

  constructor(path: string, clock: Clock) {
    this.#path = path
    this.#clock = clock
    mkdirSync(dirname(path), { recursive: true })
  }

  /** Sets the log aside for a new run. */
  turn(): void {
    if (existsSync(this.#path)) renameSync(this.#path, `${this.#path}.previous`)
    this.#partial.clear()
  }

  write(stream: 'stdout' | 'stderr', chunk: Buffer): void {
    const text = (this.#partial.get(stream) ?? '') + chunk.toString('utf8')
    const lines = text.split('\n')
    this.#partial.set(stream, lines.pop() ?? '')
    this.#append(lines)
  }

  /** Writes what was left without a line end. */
  end(): void {
    for (const rest of this.#partial.values()) if (rest) this.#append([rest])
    this.#partial.clear()
  }

  #append(lines: readonly string[]): void {
    if (lines.length === 0) return
    const at = formatMicroTime(this.#clock.now())
    appendFileSync(this.#path, lines.map((line) => `${at} ${line}\n`).join(''))
    if (statSync(this.#path).size > largestLog) this.turn()
  }
}

export interface LogQuery {
  readonly tailLines?: number
  readonly sinceMs?: number
  readonly timestamps: boolean
  readonly follow: boolean
  readonly previous: boolean
  readonly signal?: AbortSignal
  /** Whether the container still runs: a followed log ends with it. */
  isRunning(): boolean
}

/** Reads a log as `kubectl logs` asks for it. */
export async function* readLog(path: string, query: LogQuery, clock: Clock): AsyncGenerator<string, void, undefined> {
  const file = query.previous ? `${path}.previous` : path
  let text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const lines = text.split('\n').slice(0, -1)
  const recent =
    query.sinceMs === undefined
      ? lines
      : lines.filter((line) => (parseTime(line.slice(0, line.indexOf(' '))) ?? 0) >= (query.sinceMs ?? 0))
  const shown = query.tailLines === undefined ? recent : query.tailLines === 0 ? [] : recent.slice(-query.tailLines)
  if (shown.length > 0) yield shown.map((line) => show(line, query.timestamps)).join('')
  let read = Buffer.byteLength(text)
  while (query.follow && !query.signal?.aborted) {
    const isOver = !query.isRunning()
    text = existsSync(file) ? readFileSync(file).subarray(read).toString('utf8') : ''
    const whole = text.slice(0, text.lastIndexOf('\n') + 1)
    read += Buffer.byteLength(whole)
    if (whole)
      yield whole
        .split('\n')
        .slice(0, -1)
        .map((line) => show(line, query.timestamps))
        .join('')
    else if (isOver) return
    await sleep(clock, 100, query.signal).catch(() => {})
  }
}

const largestLog = 10 * 1024 * 1024

function show(line: string, timestamps: boolean): string {
  return `${timestamps ? line : line.slice(line.indexOf(' ') + 1)}\n`
}
