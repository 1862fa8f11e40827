import { Worker } from 'node:worker_threads'
import { threadEntry } from '../../../../packaging/package-files.ts'
import { systemClock } from '../../../../runtime/time/clock.ts'
import type { Certificate, CertificateFault } from '../tls/certificates.ts'
import { Counters } from '../routing/counters.ts'
import { sumOf, type DataPlane, type TargetLoad } from './data-plane.ts'
import type { OnAnswers, OwnAnswers } from '../routing/journal.ts'
import type { ProxyLimits, Wake } from '../routing/ports.ts'
import type { ListenOptions } from './proxy.ts'
import type { RouteConfig } from '../routing/route.ts'
import { shareOf } from '../routing/shares.ts'
import type { TargetState } from '../routing/target.ts'
import type { TlsPolicy } from '../tls/tls-policy.ts'

export interface ThreadedOptions {
  readonly threads: number
  readonly limits?: Partial<ProxyLimits>
  readonly tls?: TlsPolicy
  /** Write a line for every request to the standard output. Defaults to false. */
  readonly accessLog?: boolean
  /** A request waits for this target. */
  readonly onWake: Wake
  /** The proxy has answered requests itself. */
  readonly onAnswers?: OnAnswers
  /** A thread died; the proxy goes on with a new one. */
  readonly onCrash?: (error: Error) => void
}

const restMs = 200

/** What a thread is started with. */
export type WorkerStart = Required<Pick<ThreadedOptions, 'limits' | 'tls' | 'accessLog'>>

type Method = Exclude<keyof DataPlane, 'counters'>

/** Messages to a thread: memory for counters, or a method of its proxy to call. A call with an `id` gets an answer. */
export type ToWorker =
  | { readonly page: SharedArrayBuffer }
  | { readonly method: Method; readonly args: readonly unknown[]; readonly id?: number }

/** Messages from a thread. */
export type FromWorker =
  | { readonly wake: string; readonly fault: string | undefined }
  | { readonly answers: readonly OwnAnswers[] }
  | { readonly id: number; readonly answer: unknown }
  | { readonly id: number; readonly error: string }

/** The proxy on threads of its own that share one port; counters lie in memory that this thread reads directly. */
export class ThreadedDataPlane implements DataPlane {
  readonly #options: ThreadedOptions
  readonly #threads: Thread[]
  readonly #routes = new Map<string, RouteConfig>()
  readonly #targets = new Map<string, TargetState>()
  /** By port. */
  readonly #listening = new Map<number, ListenOptions>()
  #certificates: readonly Certificate[] = []
  #closing = false

  constructor(options: ThreadedOptions) {
    this.#options = options
    this.#threads = Array.from({ length: Math.max(1, options.threads) }, () => this.#start(new Counters()))
  }

  get counters(): readonly Counters[] {
    return this.#threads.map(({ counters }) => counters)
  }

  setRoute(config: RouteConfig): void {
    this.#routes.set(config.id, config)
    for (const thread of this.#threads) {
      thread.reserve(config.slot)
      thread.tell('setRoute', config)
    }
  }

  removeRoute(route: string): void {
    this.#routes.delete(route)
    for (const thread of this.#threads) thread.tell('removeRoute', route)
  }

  setTarget(target: string, state: TargetState): void {
    this.#targets.set(target, state)
    for (const thread of this.#threads) this.#tellTarget(thread, target, state)
  }

  async drain(target: string): Promise<TargetLoad> {
    this.#targets.set(target, { is: 'draining' })
    return sumOf(await Promise.all(this.#threads.map((thread) => thread.ask('drain', target))))
  }

  async setCertificates(certificates: readonly Certificate[]): Promise<readonly CertificateFault[]> {
    this.#certificates = certificates
    const [faults] = await Promise.all(this.#threads.map((thread) => thread.ask('setCertificates', certificates)))
    return faults ?? []
  }

  /** The first thread finds the port, the others join it. */
  async listen(options: ListenOptions): Promise<number> {
    const shared = { ...options, reusePort: this.#threads.length > 1 || options.reusePort === true }
    const [first, ...others] = this.#threads
    const port = await first!.ask('listen', shared)
    await Promise.all(others.map((thread) => thread.ask('listen', { ...shared, port })))
    this.#listening.set(port, { ...shared, port })
    return port
  }

  unlisten(port: number): void {
    this.#listening.delete(port)
    for (const thread of this.#threads) thread.tell('unlisten', port)
  }

  async close(withinMs = 0): Promise<void> {
    this.#closing = true
    await Promise.all(this.#threads.map((thread) => thread.close(withinMs)))
  }

  /** Each thread gets its share of pods that take only so many requests at a time. */
  #tellTarget(thread: Thread, target: string, state: TargetState): void {
    const senderIndex = { index: this.#threads.indexOf(thread), count: this.#threads.length }
    const share = state.is === 'warm' ? { ...state, endpoints: shareOf(state.endpoints, senderIndex) } : state
    thread.tell('setTarget', target, share)
  }

  #start(counters: Counters): Thread {
    const { limits = {}, tls = {}, accessLog = false, onWake, onAnswers = () => {} } = this.#options
    const thread: Thread = new Thread({ limits, tls, accessLog }, counters, {
      onWake,
      onAnswers,
      onExit: (error) => this.#replace(thread, error),
    })
    return thread
  }

  /** A crashed thread loses only its own connections: a new thread takes over its counters. */
  #replace(dead: Thread, error: Error): void {
    if (this.#closing) return
    this.#options.onCrash?.(error)
    dead.counters.forget()
    // The cause may crash the next thread, too: restart with a delay.
    systemClock.after(restMs, () => this.#closing || this.#revive(dead))
  }

  #revive(dead: Thread): void {
    const thread = this.#start(dead.counters)
    this.#threads[this.#threads.indexOf(dead)] = thread
    for (const config of this.#routes.values()) thread.tell('setRoute', config)
    for (const [target, state] of this.#targets) this.#tellTarget(thread, target, state)
    void thread.ask('setCertificates', this.#certificates).catch(() => {})
    for (const options of this.#listening.values()) void thread.ask('listen', options).catch(() => {})
  }
}

class Thread {
  readonly counters: Counters
  readonly #worker: Worker
  readonly #pending = new Map<number, PromiseWithResolvers<unknown>>()
  /** Why it is dead, once it is. */
  #failure: Error | undefined
  #nextId = 0
  #pages = 0

  constructor(
    start: WorkerStart,
    counters: Counters,
    on: { readonly onWake: Wake; readonly onAnswers: OnAnswers; readonly onExit: (error: Error) => void },
  ) {
    this.counters = counters
    this.#worker = new Worker(threadEntry('proxy'), { workerData: start })
    this.reserve(counters.pages.length === 0 ? 0 : counters.pages.length * 1024 - 1)
    let failure = new Error('the proxy thread ended')
    this.#worker.on('error', (error) => (failure = error instanceof Error ? error : new Error(String(error))))
    this.#worker.on('exit', () => {
      for (const { reject } of this.#pending.values()) reject(failure)
      this.#pending.clear()
      this.#failure = failure
      on.onExit(failure)
    })
    this.#worker.on('message', (message: FromWorker) => {
      if ('wake' in message) return on.onWake(message.wake, message.fault)
      if ('answers' in message) return on.onAnswers(message.answers)
      const pending = this.#pending.get(message.id)
      this.#pending.delete(message.id)
      if ('error' in message) pending?.reject(new Error(message.error))
      else pending?.resolve(message.answer)
    })
  }

  /** Gives the thread the memory for this slot. */
  reserve(slot: number): void {
    this.counters.slot(slot)
    for (; this.#pages < this.counters.pages.length; this.#pages++) {
      this.#post({ page: this.counters.pages[this.#pages]! })
    }
  }

  tell<M extends Method>(method: M, ...args: Parameters<DataPlane[M]>): void {
    this.#post({ method, args })
  }

  ask<M extends Method>(method: M, ...args: Parameters<DataPlane[M]>): Promise<Awaited<ReturnType<DataPlane[M]>>> {
    if (this.#failure) return Promise.reject(this.#failure)
    const id = this.#nextId++
    const pending = Promise.withResolvers<unknown>()
    this.#pending.set(id, pending)
    this.#post({ method, args, id })
    return pending.promise as Promise<Awaited<ReturnType<DataPlane[M]>>>
  }

  async close(withinMs: number): Promise<void> {
    await this.ask('close', withinMs).catch(() => {})
    await this.#worker.terminate()
  }

  #post(message: ToWorker): void {
    this.#worker.postMessage(message)
  }
}
