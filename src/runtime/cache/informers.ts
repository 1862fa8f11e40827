import { AsyncLocalStorage } from 'node:async_hooks'
import { kindKey } from '../../kube/key.ts'
import type { ResourceType, StoredObject } from '../../kube/object.ts'
import { ByteBudget, maxForeignBytes } from './byte-budget.ts'
import { cacheMetrics } from './cache-metrics.ts'
import type { Clock } from '../time/clock.ts'
import { Informer, type InformerOptions, type Trim } from './informer.ts'
import { silentLogger, type Logger } from '../observability/log.ts'
import { Metrics } from '../observability/metrics.ts'
import type { IndexFunction } from './object-cache.ts'
import { systemRandom, type Random } from '../time/random.ts'
import { Reflector, type Selection } from './reflector.ts'
import { ScopedReflector } from './scoped-reflector.ts'
import type { WatchScopes } from './watch-scopes.ts'
import { isStatusError } from '../../kube/status-error.ts'
import { SharedCache } from './shared-cache.ts'
import type { ApiReader } from './watch-stream.ts'

export interface InformersPorts {
  readonly clock: Clock
  /** Defaults to the machine's. */
  readonly random?: Random
  /** Defaults to silence. */
  readonly log?: Logger
  readonly metrics?: Metrics
}

export interface InformersOptions {
  /** Deep-freeze what is cached, so that a reader who writes is found out. For tests. Defaults to false. */
  readonly freeze?: boolean
  /** Ask for first pictures as streams, where the server can. Defaults to true. */
  readonly streams?: boolean
  /** Tells where kinds may be followed. Defaults to everywhere: what may not be is asked for again and again. */
  readonly scopes?: WatchScopes
}

interface Shared {
  readonly cache: SharedCache
  readonly reflector: Reflector | ScopedReflector
  readonly cluster: string
  uses: number
  close(): void
}

/** Every cache of the process: one per cluster, type and selection, however many use it. */
export class Informers {
  readonly #ports: Required<InformersPorts>
  readonly #options: InformersOptions
  /** By reader, then by what is selected and kept of it. Each is in use. */
  readonly #shared = new Map<ApiReader, Map<string, Shared>>()
  readonly #trims: Trim[] = []
  /** By the namespace whose GitopsClusters lead there. */
  readonly #budgets = new Map<string, ByteBudget>()
  /** Runs watches outside the asynchronous context of the first caller. */
  readonly #run: (reflector: Shared['reflector'], signal: AbortSignal) => void

  constructor(ports: InformersPorts, options: InformersOptions = {}) {
    this.#ports = { random: systemRandom, log: silentLogger, metrics: new Metrics(), ...ports }
    this.#options = options
    this.#run = AsyncLocalStorage.bind(
      (reflector: Shared['reflector'], signal: AbortSignal) => void reflector.run(signal),
    )
  }

  /** One more use of the cache of these objects, which starts with the first. */
  open<T extends StoredObject = StoredObject>(
    client: ApiReader,
    type: ResourceType,
    { indexes = {}, trim, ...where }: InformerOptions<T> = {},
  ): Informer<T> {
    const shared = this.#sharedFor(client, { ...where, type }, trim)
    shared.uses++
    return new Informer<T>({
      type,
      cluster: client.cluster,
      cache: shared.cache,
      indexes: indexes as Readonly<Record<string, IndexFunction>>,
      release: () => this.#release(shared),
    })
  }

  /** Lists everything of a cluster anew, for instance because it is reached by another way. */
  relist(cluster: string): void {
    for (const shared of this.#all()) if (shared.cluster === cluster) shared.reflector.relist('asked')
  }

  /** Ends every cache. */
  close(): void {
    for (const shared of this.#all()) shared.close()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  #all(): readonly Shared[] {
    return [...this.#shared.values()].flatMap((caches) => [...caches.values()])
  }

  #release(shared: Shared): void {
    if (--shared.uses === 0) shared.close()
  }

  #sharedFor(reader: ApiReader, selection: Selection, trim: Trim | undefined): Shared {
    const caches = this.#shared.getOrInsertComputed(reader, () => new Map<string, Shared>())
    const name = `${nameOf(selection)}${trim ? this.#numberOf(trim) : ''}`
    const forget = () => {
      caches.delete(name)
      if (caches.size === 0) this.#shared.delete(reader)
    }
    return caches.getOrInsertComputed(name, () => this.#start(reader, selection, { trim, forget }))
  }

  #numberOf(trim: Trim): number {
    if (!this.#trims.includes(trim)) this.#trims.push(trim)
    return this.#trims.indexOf(trim)
  }

  /** `cluster` is the namespace and name of a GitopsCluster, joined by a dot. */
  #budgetOf(cluster: string): ByteBudget | undefined {
    if (cluster === '') return undefined
    const [namespace = ''] = cluster.split('.', 1)
    return this.#budgets.getOrInsertComputed(namespace, () => new ByteBudget(maxForeignBytes))
  }

  #start(
    reader: ApiReader,
    selection: Selection,
    { trim, forget }: { readonly trim: Trim | undefined; readonly forget: () => void },
  ): Shared {
    const { cluster } = reader
    const { type } = selection
    const { clock, random } = this.#ports
    const { freeze = false, streams = true, scopes } = this.#options
    const control = new AbortController()
    const metrics = cacheMetrics(this.#ports.metrics, { cluster, type }, () => ({
      objects: cache.objects.size,
      isFailing: cache.lastError !== undefined && !isStatusError(cache.lastError, 'Forbidden'),
    }))
    const log = this.#ports.log.with({ kind: kindKey(type), ...(cluster ? { cluster } : {}) })
    const cache = new SharedCache({ type, freeze, trim, log, metrics, budget: this.#budgetOf(cluster) })
    const ports = { reader, clock, random, streams }
    const reflector =
      scopes && selection.namespace === undefined && selection.fieldSelector === undefined
        ? new ScopedReflector(selection, cache, { ...ports, scopes })
        : new Reflector(selection, cache, ports)
    this.#run(reflector, control.signal)
    const close = () => {
      control.abort(new Error('the cache is closed'))
      cache.close()
      metrics.close()
      forget()
    }
    return { cache, reflector, cluster, uses: 0, close }
  }
}

function nameOf({
  type,
  namespace = '',
  labelSelector = '',
  fieldSelector = '',
  metadataOnly = false,
}: Selection): string {
  return JSON.stringify([type.group, type.version, type.plural, namespace, labelSelector, fieldSelector, metadataOnly])
}
