import { Worker } from 'node:worker_threads'
import { StatusError } from '../kube/status-error.ts'
import { threadEntry } from '../packaging/package-files.ts'
import { ParseRefusal, type RefusalReason } from './parse-refusal.ts'
import type { Question, Reply } from './serve-readings.ts'

/** A text to read in the thread. */
export interface Reading {
  /** Who reads it: a name in the table that the thread serves. */
  readonly reader: string
  /** What the reader gets, copied. */
  readonly input: unknown
  readonly timeMs: number
  /** Who sent the text; undefined for our own work, which waits for its turn however long the queue is. */
  readonly user?: string
}

interface Waiting extends Reading {
  readonly resolve: (json: string | undefined) => void
  readonly reject: (error: Error) => void
}

/** Texts of users that may wait at a time, and those of one user, the one being read included. */
const most = { waiting: 32, perUser: 4 }

/** How often a reading may get its time again because the machine gave the thread no processor meanwhile. */
const patience = 10

/**
 * One thread that reads foreign text, one after the other. It has little memory and each reading little time: what exceeds them is refused, the thread is
 * ended and another one started, and the rest of the process goes on.
 */
export class ParsingThread {
  readonly #entry: URL
  #worker: Worker | undefined
  readonly #queue: Waiting[] = []
  #current: { readonly waiting: Waiting; extensions: number } | undefined
  #timer: NodeJS.Timeout | undefined
  /** Processor time of the thread when the current reading began. */
  #usedBeforeMs = 0

  /** `entry` is the file that the thread runs. It calls `serveReadings`. */
  constructor(entry = threadEntry('parsing')) {
    this.#entry = entry
  }

  /** What the reader returns. Throws ParseRefusal, or TooManyRequests when too many texts wait. */
  async read<T>(reading: Reading): Promise<T> {
    this.#checkQueue(reading.user)
    const json = await new Promise<string | undefined>((resolve, reject) => {
      this.#queue.push({ ...reading, resolve, reject })
      this.#next()
    })
    return (json === undefined ? undefined : JSON.parse(json)) as T
  }

  /** Ends the thread. What it reads at the time is refused; a later reading starts another thread. */
  async close(): Promise<void> {
    await this.#end('lost', 'the parsing thread was ended')
  }

  #checkQueue(user: string | undefined): void {
    if (user === undefined) return
    const waiting = [...this.#queue, ...(this.#current ? [this.#current.waiting] : [])]
    const sent = waiting.filter((other) => other.user !== undefined)
    const own = sent.filter((other) => other.user === user).length
    if (sent.length < most.waiting && own < most.perUser) return
    throw new StatusError('TooManyRequests', 'too many bodies that take long to read are waiting: try again later', {
      details: { retryAfterSeconds: 1 },
    })
  }

  #next(): void {
    if (this.#current) return
    const waiting = this.#queue.shift()
    if (!waiting) return this.#worker?.unref()
    const worker = (this.#worker ??= this.#start())
    worker.ref()
    this.#current = { waiting, extensions: 0 }
    this.#arm(waiting.timeMs)
    worker.postMessage({ reader: waiting.reader, input: waiting.input } satisfies Question)
  }

  #start(): Worker {
    const worker = new Worker(this.#entry, {
      resourceLimits: { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 },
      execArgv: [],
      env: {},
    })
    this.#usedBeforeMs = 0
    worker.on('message', (reply: Reply) => {
      if (worker === this.#worker) this.#settle(reply)
    })
    worker.on('error', (error: NodeJS.ErrnoException) => {
      if (worker !== this.#worker) return
      if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') void this.#end('memory', 'reading it takes too much memory')
      else void this.#end('lost', `the parsing thread failed: ${error.message}`)
    })
    worker.on('exit', () => {
      if (worker === this.#worker) void this.#end('lost', 'the parsing thread was ended')
    })
    return worker
  }

  #settle(reply: Reply): void {
    const current = this.#current
    this.#usedBeforeMs = reply.usedMs
    if (!current) return
    if ('began' in reply) return this.#arm(current.waiting.timeMs)
    this.#current = undefined
    clearTimeout(this.#timer)
    const { resolve, reject } = current.waiting
    if ('json' in reply) resolve(reply.json)
    else if ('refused' in reply) reject(new ParseRefusal(reply.refused.because, reply.refused.message))
    else reject(new Error(`reading a text failed: ${reply.failed}`))
    this.#next()
  }

  #arm(delayMs: number): void {
    clearTimeout(this.#timer)
    // Real time, whatever clock the controllers live by.
    this.#timer = setTimeout(() => void this.#check(), delayMs)
  }

  /** The limit is processor time: on a busy machine a short text may take long. */
  async #check(): Promise<void> {
    const current = this.#current
    if (!current) return
    const { timeMs } = current.waiting
    const refuse = () => this.#end('time', `reading it takes longer than ${timeMs} ms`)
    // Native code does not tell how long it has taken.
    this.#timer = setTimeout(() => void refuse(), timeMs)
    const usedMs = await this.#usedMs()
    if (current !== this.#current) return
    if (usedMs >= timeMs || ++current.extensions >= patience) return refuse()
    this.#arm(Math.max(timeMs / patience, timeMs - usedMs))
  }

  /** Processor time of the current reading. */
  async #usedMs(): Promise<number> {
    const usage = await this.#worker?.cpuUsage().catch(() => undefined)
    return usage ? (usage.user + usage.system) / 1000 - this.#usedBeforeMs : Infinity
  }

  async #end(because: RefusalReason, message: string): Promise<void> {
    const worker = this.#worker
    const current = this.#current
    this.#worker = undefined
    this.#current = undefined
    clearTimeout(this.#timer)
    current?.waiting.reject(new ParseRefusal(because, message))
    this.#next()
    await worker?.terminate()
  }
}

/** The thread of this process. */
export const parsingThread = new ParsingThread()
