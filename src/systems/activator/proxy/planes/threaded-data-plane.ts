import { Worker } from 'node:worker_threads'
import { threadEntry } from '../../../../packaging/package-files.ts'
import { systemClock } from '../../../../runtime/time/clock.ts'
import type { Certificate, CertificateFault } from '../tls/certificates.ts'
import { Counters } from '../routing/counters.ts'
import type { DataPlane, TargetLoad } from './data-plane.ts'
import type { ProxyLimits, Wake } from '../routing/ports.ts'
import type { ListenOptions } from './proxy.ts'
import type { RouteConfig } from '../routing/route.ts'
import { shareOf } from '../routing/shares.ts'
import type { TargetState } from '../routing/target.ts'
import type { TlsPolicy } from '../tls/tls-policy.ts'
import type { FromWorker, ToWorker, WorkerStart } from './worker-messages.ts'

export interface ThreadedOptions {
  readonly threads: number
  readonly limits?: Partial<ProxyLimits>
  readonly tls?: TlsPolicy
  /** A request waits for this target. */
  readonly onWake: Wake
  /** A thread died; the proxy goes on with a new one. */
  readonly onCrash?: (error: Error) => void
}

const restMs = 200

type Answer = Exclude<FromWorker, { did: 'wake' }>
type Question = Extract<ToWorker, { id: number }>
type Unnumbered<Q> = Q extends Question ? Omit<Q, 'id'> : never

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
      thread.tell({ do: 'set-route', config })
    }
  }

  removeRoute(route: string): void {
    this.#routes.delete(route)
    for (const thread of this.#threads) thread.tell({ do: 'remove-route', route })
  }

  setTarget(target: string, state: TargetState): void {
    this.#targets.set(target, state)
    for (const thread of this.#threads) this.#tellTarget(thread, target, state)
  }

  async drain(target: string): Promise<TargetLoad> {
    this.#targets.set(target, { is: 'draining' })
    const loads = await Promise.all(
      this.#threads.map(async (thread) => (await thread.ask<'drain'>({ do: 'drain', target })).load),
    )
    return {
      busy: loads.reduce((sum, { busy }) => sum + busy, 0),
      waiting: loads.reduce((sum, { waiting }) => sum + waiting, 0),
    }
  }

  async setCertificates(certificates: readonly Certificate[]): Promise<readonly CertificateFault[]> {
    this.#certificates = certificates
    const answers = await Promise.all(
      this.#threads.map((thread) => thread.ask<'certificates'>({ do: 'certificates', certificates })),
    )
    return answers[0]?.faults ?? []
  }

  /** The first thread finds the port, the others join it. */
  async listen(options: ListenOptions): Promise<number> {
    const shared = { ...options, reusePort: this.#threads.length > 1 || options.reusePort === true }
    const [first, ...others] = this.#threads
    const { port } = await first!.ask<'listen'>({ do: 'listen', options: shared })
    await Promise.all(others.map((thread) => thread.ask<'listen'>({ do: 'listen', options: { ...shared, port } })))
    this.#listening.set(port, { ...shared, port })
    return port
  }

  unlisten(port: number): void {
    this.#listening.delete(port)
    for (const thread of this.#threads) thread.tell({ do: 'unlisten', port })
  }

  async close(withinMs = 0): Promise<void> {
    this.#closing = true
    await Promise.all(this.#threads.map((thread) => thread.close(withinMs)))
  }

  /** Each thread gets its share of pods that take only so many requests at a time. */
  #tellTarget(thread: Thread, target: string, state: TargetState): void {
    const senderIndex = { index: this.#threads.indexOf(thread), count: this.#threads.length }
    const share = state.is === 'warm' ? { ...state, endpoints: shareOf(state.endpoints, senderIndex) } : state
    thread.tell({ do: 'set-target', target, state: share })
  }

  #start(counters: Counters): Thread {
    const { limits = {}, tls = {}, onWake } = this.#options
    const thread: Thread = new Thread({ limits, tls }, counters, {
      onWake,
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
    for (const config of this.#routes.values()) thread.tell({ do: 'set-route', config })
    for (const [target, state] of this.#targets) this.#tellTarget(thread, target, state)
    void thread.ask({ do: 'certificates', certificates: this.#certificates }).catch(() => {})
    for (const options of this.#listening.values()) void thread.ask({ do: 'listen', options }).catch(() => {})
  }
}

class Thread {
  readonly counters: Counters
  readonly #worker: Worker
  readonly #pending = new Map<number, { resolve: (answer: Answer) => void; reject: (error: Error) => void }>()
  /** Why it is dead, once it is. */
  #failure: Error | undefined
  #nextId = 0
  #pages = 0

  constructor(
    start: WorkerStart,
    counters: Counters,
    on: { readonly onWake: Wake; readonly onExit: (error: Error) => void },
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
      if (message.did === 'wake') on.onWake(message.target, message.fault)
      else this.#answered(message)
    })
  }

  /** Gives the thread the memory for this slot. */
  reserve(slot: number): void {
    this.counters.slot(slot)
    for (; this.#pages < this.counters.pages.length; this.#pages++) {
      this.tell({ do: 'page', page: this.counters.pages[this.#pages]! })
    }
  }

  tell(message: ToWorker): void {
    this.#worker.postMessage(message)
  }

  ask<D extends Answer['did']>(question: Unnumbered<Question>): Promise<Extract<Answer, { did: D }>> {
    if (this.#failure) return Promise.reject(this.#failure)
    const id = this.#nextId++
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve: resolve as (answer: Answer) => void, reject })
      this.tell({ ...question, id } as ToWorker)
    })
  }

  async close(withinMs: number): Promise<void> {
    await this.ask({ do: 'close', withinMs }).catch(() => {})
    await this.#worker.terminate()
  }

  #answered(message: Answer): void {
    const pending = this.#pending.get(message.id)
    this.#pending.delete(message.id)
    if (message.did === 'fail') pending?.reject(new Error(message.message))
    else pending?.resolve(message)
  }
}
