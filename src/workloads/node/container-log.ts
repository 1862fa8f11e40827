import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  statSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { formatMicroTime, parseTime } from '../../kube/time.ts'
import { sleep, type Clock } from '../../runtime/time/clock.ts'

/** The log file of one container: one line per entry, with its time. The log of the previous run is kept beside it. */
export class ContainerLog {
  readonly #path: string
  readonly #clock: Clock
  /** By stream: the last line, as long as it has no line end. */
  readonly #partial = new Map<string, string>()

  constructor(path: string, clock: Clock) {
    this.#path = path
    this.#clock = clock
    mkdirSync(dirname(path), { recursive: true })
  }

  /** Keeps the log as the previous one and starts a new one. */
  rotate(): void {
    if (existsSync(this.#path)) renameSync(this.#path, `${this.#path}.previous`)
    this.#partial.clear()
  }

  write(stream: 'stdout' | 'stderr', chunk: Buffer): void {
    const text = (this.#partial.get(stream) ?? '') + chunk.toString('utf8')
    const lines = text.split('\n')
    const rest = lines.pop() ?? ''
    const isTooLong = rest.length > maxLineLength
    this.#partial.set(stream, isTooLong ? '' : rest)
    this.#append(isTooLong ? [...lines, rest] : lines)
  }

  /** Writes the last line, even without a line end. */
  end(): void {
    for (const rest of this.#partial.values()) if (rest) this.#append([rest])
    this.#partial.clear()
  }

  /** The last lines, as long as a termination message may be. */
  tail(): string {
    const from = existsSync(this.#path) ? Math.max(0, statSync(this.#path).size - 4 * maxMessageLength) : 0
    const lines = readFrom(this.#path, from)
      .lines.slice(-80)
      .map((line) => shownLine(line, false))
    return lines.join('').slice(-maxMessageLength)
  }

  #append(lines: readonly string[]): void {
    if (lines.length === 0) return
    const at = formatMicroTime(this.#clock.now())
    try {
      appendFileSync(this.#path, lines.map((line) => `${at} ${line}\n`).join(''))
      if (statSync(this.#path).size > maxLogSize) this.rotate()
    } catch {
      // The disk is full or the Pod's directory is deleted: these lines are lost, other Pods are not affected.
    }
  }
}

export interface LogQuery {
  readonly tailLines?: number
  readonly sinceMs?: number
  readonly limitBytes?: number
  readonly timestamps: boolean
  readonly follow: boolean
  readonly previous: boolean
  readonly signal?: AbortSignal
  /** Whether the container still runs: a followed log ends with it. */
  isRunning(): boolean
}

/** Reads a log with the options of `kubectl logs`. */
export async function* readLog(path: string, query: LogQuery, clock: Clock): AsyncGenerator<string, void, undefined> {
  // Between two runs the log of the last one has not been rotated yet.
  const file = query.previous && query.isRunning() ? `${path}.previous` : path
  const bytes = existsSync(file) ? readFileSync(file) : Buffer.alloc(0)
  const lines = bytes.toString('utf8').split('\n').slice(0, -1)
  const recent =
    query.sinceMs === undefined
      ? lines
      : lines.filter((line) => (parseTime(line.slice(0, line.indexOf(' '))) ?? 0) >= (query.sinceMs ?? 0))
  const shown = query.tailLines === undefined ? recent : query.tailLines === 0 ? [] : recent.slice(-query.tailLines)
  const limit = new ByteLimit(query.limitBytes ?? Number.POSITIVE_INFINITY)
  const show = (each: readonly string[]) => limit.cut(each.map((line) => shownLine(line, query.timestamps)).join(''))
  if (shown.length > 0) yield show(shown)
  let offset = bytes.lastIndexOf(0x0a) + 1
  while (query.follow && !query.signal?.aborted && !limit.isReached) {
    const isOver = !query.isRunning()
    const more = readFrom(file, offset)
    offset = more.end
    if (more.lines.length > 0) yield show(more.lines)
    else if (isOver) return
    await sleep(clock, 100, query.signal).catch(() => {})
  }
}

const maxLogSize = 10 * 1024 * 1024
const maxMessageLength = 2048
/** A longer line becomes several, as with a container runtime. */
const maxLineLength = 16 * 1024

/** The complete lines after an offset, or from the beginning when the file was rotated. */
function readFrom(file: string, offset: number): { readonly lines: readonly string[]; readonly end: number } {
  if (!existsSync(file)) return { lines: [], end: 0 }
  const descriptor = openSync(file, 'r')
  try {
    const { size } = statSync(file)
    const start = size < offset ? 0 : offset
    const bytes = Buffer.alloc(size - start)
    readSync(descriptor, bytes, 0, bytes.length, start)
    const whole = bytes.subarray(0, bytes.lastIndexOf(0x0a) + 1)
    return { lines: whole.toString('utf8').split('\n').slice(0, -1), end: start + whole.length }
  } finally {
    closeSync(descriptor)
  }
}

/** Cuts text off after a number of bytes. */
class ByteLimit {
  #remaining: number

  constructor(bytes: number) {
    this.#remaining = bytes
  }

  get isReached(): boolean {
    return this.#remaining <= 0
  }

  cut(text: string): string {
    const size = Buffer.byteLength(text)
    const fitting = size <= this.#remaining ? text : Buffer.from(text).subarray(0, this.#remaining).toString('utf8')
    this.#remaining -= size
    return fitting
  }
}

function shownLine(line: string, timestamps: boolean): string {
  return `${timestamps ? line : line.slice(line.indexOf(' ') + 1)}\n`
}
