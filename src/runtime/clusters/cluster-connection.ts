import { namespaces } from '../../kube/core-types.ts'
import { createHash } from 'node:crypto'
import type { Client } from '../../client/client.ts'
import { TransportError } from '../../client/transport-error.ts'
import { isStatusError } from '../../kube/status-error.ts'
import { Attempt } from '../time/attempt.ts'
import { Backoff } from '../time/backoff.ts'
import { tracked, type Clock } from '../time/clock.ts'
import type { ClusterState } from './clusters.ts'
import { jittered, type Random } from '../time/random.ts'
import type { ApiReader } from '../cache/watch-stream.ts'

export interface ConnectionPorts {
  readonly connect: (kubeconfigText: string, cluster: string) => Client | Promise<Client>
  readonly disconnect: (client: Client) => void
  readonly clock: Clock
  readonly random: Random
  readonly probeMs: number
  /** Called when state or client have changed; `moved` when the client is another one. */
  readonly changed: (moved: boolean) => void
}

/** The way to one cluster: a client for its present kubeconfig, asked now and then whether it still answers. */
export class ClusterConnection {
  readonly #name: string
  readonly #ports: ConnectionPorts
  readonly #backoff: Backoff<'probe'>
  #client: Client | undefined
  /** Tells kubeconfigs apart without keeping them. */
  #fingerprint: string | undefined
  #state: ClusterState = { state: 'connecting' }
  #lastSeenAt: number | undefined
  /** Counts kubeconfigs: what belongs to a former one is void. */
  #generation = 0
  #stopProbing = () => {}
  /** Reads through whatever client there is at the time. */
  readonly reader: ApiReader

  constructor(name: string, ports: ConnectionPorts) {
    this.#name = name
    this.#ports = ports
    this.#backoff = new Backoff({ baseMs: 1000, capMs: ports.probeMs, growth: 'decorrelated', random: ports.random })
    this.reader = {
      cluster: name,
      list: async (type, options) => this.#connected().list(type, options),
      request: async (request) => this.#connected().request(request),
    }
  }

  get client(): Client | undefined {
    return this.#client
  }

  get state(): ClusterState {
    return this.#state
  }

  get lastSeenAt(): number | undefined {
    return this.#lastSeenAt
  }

  /** Uses this kubeconfig from now on; the same again changes nothing. */
  use(kubeconfigText: string): void {
    const fingerprint = createHash('sha256').update(kubeconfigText).digest('hex')
    if (fingerprint === this.#fingerprint) return
    this.#fingerprint = fingerprint
    const generation = ++this.#generation
    this.#stopProbing()
    this.#become({ state: 'connecting' })
    void this.#connect(kubeconfigText, generation)
  }

  /** Has no way to the cluster, for this reason. */
  drop(state: ClusterState): void {
    this.#generation++
    this.#fingerprint = undefined
    this.#stopProbing()
    const moved = this.#swap(undefined)
    if (moved || JSON.stringify(state) !== JSON.stringify(this.#state)) this.#become(state, moved)
  }

  async #connect(kubeconfigText: string, generation: number): Promise<void> {
    try {
      const client = await tracked(this.#ports.clock, async () => this.#ports.connect(kubeconfigText, this.#name))
      if (generation !== this.#generation) return this.#ports.disconnect(client)
      this.#swap(client)
      this.#become(this.#state, true)
      await this.#probe(generation)
    } catch (error) {
      if (generation !== this.#generation) return
      const moved = this.#swap(undefined)
      this.#become({ state: 'no-credentials', because: (error as Error).message }, moved)
    }
  }

  async #probe(generation: number): Promise<void> {
    const { clock, random, probeMs } = this.#ports
    const state = await this.#ask()
    if (generation !== this.#generation) return
    if (state.state === 'reachable') {
      this.#lastSeenAt = clock.now()
      this.#backoff.reset('probe')
    }
    if (JSON.stringify(state) !== JSON.stringify(this.#state)) this.#become(state)
    const waitMs = state.state === 'reachable' ? jittered(probeMs, 0.2, random) : this.#backoff.next('probe')
    this.#stopProbing = clock.after(waitMs, () => void this.#probe(generation))
  }

  /** Any answer shows that the cluster is there, except that our credentials are worthless or that it is not well. */
  async #ask(): Promise<ClusterState> {
    const { clock } = this.#ports
    const attempt = new Attempt(clock, probePatienceMs, new AbortController().signal)
    try {
      await attempt.run((signal) => tracked(clock, () => this.#connected().list(namespaces, { limit: 1, signal })))
      return { state: 'reachable' }
    } catch (error) {
      if (isStatusError(error, 'Unauthorized')) return { state: 'no-credentials', because: error.message }
      if (isStatusError(error) && error.code < 500 && error.code !== 429) return { state: 'reachable' }
      return { state: 'unreachable', because: (error as Error).message }
    } finally {
      attempt.end()
    }
  }

  #connected(): Client {
    if (!this.#client) throw new TransportError(`there is no connection to cluster ${this.#name}`)
    return this.#client
  }

  /** Puts another client in place; true when that makes a difference. */
  #swap(client: Client | undefined): boolean {
    const former = this.#client
    this.#client = client
    if (former) this.#ports.disconnect(former)
    return former !== client
  }

  #become(state: ClusterState, moved = false): void {
    this.#state = state
    this.#ports.changed(moved)
  }
}

/** With the interval between probes, a silent cluster is known within ten seconds. */
const probePatienceMs = 3500
