import { namespaces } from '../../../kube/core-types.ts'
import type { PipelineSpec } from '../../../apis/pipeline.ts'
import type { TargetStatus } from '../../../apis/pipeline-status.ts'
import { isStatusError } from '../../../kube/status-error.ts'
import type { Clock } from '../../../runtime/time/clock.ts'
import type { Clusters } from '../../../runtime/clusters/clusters.ts'
import { adapterFor, type Adapter } from '../model/adapter.ts'
import type { Plan, TargetPlan } from '../model/plan.ts'
import { TargetSource, type Found } from './target-source.ts'

export interface ObservePorts {
  readonly clusters: Clusters
  readonly clock: Clock
  /** A target of these pipelines may look different now. */
  readonly changed: (pipelines: Iterable<string>) => void
  /** What is made of a target that was found. Defaults to itself. */
  readonly seenAs?: (target: TargetPlan, seen: TargetStatus) => TargetStatus
}

/** Beyond so many namespaces of one kind in one cluster, one cache for all of them is cheaper. */
const ownNamespaces = 16
const namespaceMemoryMs = 30_000

/** Every application object that pipelines point at, in whatever cluster: followed while used, never waited for. */
export class TargetObserver {
  readonly #ports: ObservePorts
  /** By cluster, kind and namespace; each has at least one user. */
  readonly #sources = new Map<string, Source>()
  /** What each pipeline uses, by pipeline. */
  readonly #uses = new Map<string, Use>()
  readonly #namespaces = new Map<string, { readonly exists: boolean | undefined; readonly at: number }>()

  constructor(ports: ObservePorts) {
    this.#ports = ports
  }

  /** How many caches are open. */
  get size(): number {
    return this.#sources.size
  }

  /** Makes a pipeline use exactly the targets of its plan. */
  follow(pipeline: string, plan: Plan, adapter: PipelineSpec['adapter']): void {
    const wanted = JSON.stringify([plan.environments.map(({ targets }) => targets), adapter])
    if (this.#uses.get(pipeline)?.wanted === wanted) return
    const use: Use = { wanted, sources: new Set(), adapters: new Map() }
    for (const { targets } of plan.environments)
      for (const target of targets) {
        this.#use(pipeline, use, target)
        const kind = kindOf(target)
        if (!use.adapters.has(kind)) use.adapters.set(kind, adapterFor(target.app, adapter))
      }
    const before = this.#uses.get(pipeline)
    this.#uses.set(pipeline, use)
    if (before) this.#release(pipeline, before, plan)
  }

  /** Ends a pipeline's use of everything. */
  forget(pipeline: string): void {
    const use = this.#uses.get(pipeline)
    if (!use) return
    this.#uses.delete(pipeline)
    this.#release(pipeline, use, undefined)
  }

  /** Whether something that the pipeline needs is about to be known. */
  isStarting(pipeline: string): boolean {
    return [...(this.#uses.get(pipeline)?.sources ?? [])].some(({ source }) => source.isStarting)
  }

  /** What a target of a followed pipeline looks like now, from memory. */
  read(pipeline: string, target: TargetPlan): TargetStatus {
    const use = this.#uses.get(pipeline)
    const { source } = use ? this.#use(pipeline, use, target) : this.#sourceFor(target)
    const found = source.find(target.namespace, target.app.name)
    const base = {
      clusterAppRef: clusterAppRef(target),
      ...(target.cluster ? { cluster: target.cluster } : {}),
      namespace: target.namespace,
      kind: target.app.kind,
      name: target.app.name,
    }
    if (found.found === 'nothing') return { ...base, ready: false, ...this.#whyNothing(pipeline, target, found) }
    const adapter = use?.adapters.get(kindOf(target)) ?? adapterFor(target.app)
    const reading = adapter(found.object)
    if (reading.read === 'invalid') return { ...base, ready: false, reason: 'Invalid', message: reading.message }
    const { ready, revision, fresh } = reading
    const facts = { ...base, generationObserved: fresh, ...(revision === undefined ? {} : { revision }) }
    if (!fresh) return { ...facts, ready: false, reason: 'Stale', message: 'its status speaks of an older generation' }
    if (revision === undefined)
      return {
        ...facts,
        ready: false,
        reason: 'RevisionUnknown',
        ...(ready ? { message: 'ready, but without a revision' } : {}),
      }
    const seen: TargetStatus = { ...facts, ready, reason: 'Found' }
    return this.#ports.seenAs?.(target, seen) ?? seen
  }

  close(): void {
    for (const { source } of this.#sources.values()) source.close()
    this.#sources.clear()
    this.#uses.clear()
  }

  /** Where a target is read from may change: a right to see all namespaces can be taken away. */
  #use(pipeline: string, use: Use, target: TargetPlan): Source {
    const source = this.#sourceFor(target)
    const place = placeKey(target)
    const users = source.users.get(place) ?? new Set()
    if (!users.has(pipeline)) source.users.set(place, users.add(pipeline))
    use.sources.add(source)
    return source
  }

  #sourceFor(target: TargetPlan): Source {
    const own = this.#sources.get(sourceKey(target, target.namespace))
    if (own) return own
    const wide = this.#sources.get(sourceKey(target, undefined))
    if (wide && !wide.source.isForbidden) return wide
    const isCrowded = !wide && this.#count(target) >= ownNamespaces
    return this.#openSource(target, isCrowded ? undefined : target.namespace)
  }

  #count(target: TargetPlan): number {
    const prefix = sourceKey(target, undefined)
    let count = 0
    for (const key of this.#sources.keys()) if (key.startsWith(prefix)) count++
    return count
  }

  #openSource(target: TargetPlan, namespace: string | undefined): Source {
    const { clusters, clock, changed } = this.#ports
    const users: Source['users'] = new Map()
    const opened: Source = {
      key: sourceKey(target, namespace),
      users,
      source: new TargetSource({
        handle: clusters.client(clusterKey(target)),
        app: target.app,
        namespace,
        clock,
        changed: (place) => {
          if (place) changed(users.get(JSON.stringify([place.namespace, place.name])) ?? [])
          else changed(new Set([...users.values()].flatMap((pipelines) => [...pipelines])))
        },
      }),
    }
    this.#sources.set(opened.key, opened)
    return opened
  }

  #release(pipeline: string, use: Use, plan: Plan | undefined): void {
    const kept = new Set(
      plan?.environments.flatMap(({ targets }) =>
        targets.map((target) => JSON.stringify([this.#sourceFor(target).key, placeKey(target)])),
      ),
    )
    for (const source of use.sources) {
      for (const [place, pipelines] of source.users) {
        if (kept.has(JSON.stringify([source.key, place]))) continue
        pipelines.delete(pipeline)
        if (pipelines.size === 0) source.users.delete(place)
      }
      if (source.users.size > 0) continue
      source.source.close()
      this.#sources.delete(source.key)
    }
  }

  /** A missing object may be missing because its whole namespace is; that is asked for on the side. */
  #whyNothing(pipeline: string, target: TargetPlan, { reason, message }: Extract<Found, { found: 'nothing' }>) {
    if (reason !== 'NotFound') return { reason, message }
    if (this.#hasNamespace(pipeline, target)) return { reason, message }
    return { reason: 'NamespaceNotFound' as const, message: `namespace ${target.namespace} not found` }
  }

  #hasNamespace(pipeline: string, target: TargetPlan): boolean {
    const { clusters, clock, changed } = this.#ports
    const key = `${target.cluster} ${target.namespace}`
    const known = this.#namespaces.get(key)
    const now = clock.now()
    if (known && now - known.at < namespaceMemoryMs) return known.exists !== false
    this.#namespaces.set(key, { exists: known?.exists, at: now })
    const handle = clusters.client(clusterKey(target))
    const learn = (exists: boolean | undefined) => {
      this.#namespaces.set(key, { exists, at: now })
      handle.close()
      if (exists !== known?.exists) changed([pipeline])
    }
    if (!handle.client) learn(undefined)
    else
      handle.client.get(namespaces, { name: target.namespace }).then(
        () => learn(true),
        (error: unknown) => learn(isStatusError(error, 'NotFound') ? false : undefined),
      )
    return known?.exists !== false
  }
}

interface Source {
  readonly key: string
  readonly source: TargetSource
  /** Which pipelines want which object. */
  readonly users: Map<string, Set<string>>
}

interface Use {
  readonly wanted: string
  readonly sources: Set<Source>
  readonly adapters: Map<string, Adapter>
}

function sourceKey({ cluster, app }: TargetPlan, namespace: string | undefined): string {
  const prefix = `${cluster} ${app.apiVersion} ${app.kind} `
  return namespace === undefined ? prefix : `${prefix}${namespace}`
}

function kindOf({ app }: TargetPlan): string {
  return `${app.apiVersion} ${app.kind}`
}

function placeKey({ namespace, app }: TargetPlan): string {
  return JSON.stringify([namespace, app.name])
}

/** As the runtime names clusters: a namespace has no dots. */
function clusterKey({ cluster }: TargetPlan): string {
  return cluster.replace('/', '.')
}

function clusterAppRef({ cluster, app }: TargetPlan): NonNullable<TargetStatus['clusterAppRef']> {
  const [namespace = '', name = ''] = cluster.split('/')
  return { ...app, ...(cluster ? { clusterRef: { kind: 'GitopsCluster', name, namespace } } : {}) }
}
