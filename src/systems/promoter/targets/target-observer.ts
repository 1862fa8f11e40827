import { namespaces } from '../../../kube/core-types.ts'
import type { PipelineSpec } from '../../../apis/pipeline.ts'
import type { TargetStatus } from '../../../apis/pipeline-status.ts'
import { isStatusError } from '../../../kube/status-error.ts'
import type { Clock } from '../../../runtime/time/clock.ts'
import type { Clusters } from '../../../runtime/clusters/clusters.ts'
import { adapterFor, compileAdapter, type Adapter } from '../model/adapter.ts'
import type { Plan, TargetPlan } from '../model/plan.ts'
import { TargetSource, type Lookup } from './target-source.ts'

export interface ObserverPorts {
  readonly clusters: Clusters
  readonly clock: Clock
  /** Called with the pipelines whose targets may have changed. */
  readonly onChange: (pipelines: Iterable<string>) => void
  /** Replaces the state of a target that was found. Defaults to the state as read. */
  readonly adjustTarget?: (target: TargetPlan, seen: TargetStatus) => TargetStatus
}

/** From this many namespaces of one kind in one cluster on, a single cache for all namespaces is cheaper. */
const maxNamespaceCaches = 16
const namespaceCacheMs = 30_000

/** Caches the application objects that pipelines target, in any cluster. Reads never block; unused caches are closed. */
export class TargetObserver {
  readonly #ports: ObserverPorts
  /** By cluster, kind and namespace. Each source has at least one user. */
  readonly #sources = new Map<string, Source>()
  /** The sources and adapters of each pipeline. */
  readonly #uses = new Map<string, Use>()
  readonly #namespaces = new Map<string, { readonly exists: boolean | undefined; readonly at: number }>()

  constructor(ports: ObserverPorts) {
    this.#ports = ports
  }

  /** Number of open caches. */
  get size(): number {
    return this.#sources.size
  }

  /** Opens caches for the targets of a pipeline's plan, and releases those it no longer needs. */
  follow(pipeline: string, plan: Plan, adapter: PipelineSpec['adapter']): void {
    const wanted = JSON.stringify([plan.environments.map(({ targets }) => targets), adapter])
    if (this.#uses.get(pipeline)?.wanted === wanted) return
    const use: Use = { wanted, sources: new Set(), adapters: new Map() }
    const programs = compileAdapter(adapter)
    for (const { targets } of plan.environments)
      for (const target of targets) {
        this.#use(pipeline, use, target)
        const kind = kindOf(target)
        if (!use.adapters.has(kind)) use.adapters.set(kind, adapterFor(target.app, programs))
      }
    const before = this.#uses.get(pipeline)
    this.#uses.set(pipeline, use)
    if (before) this.#release(pipeline, before, plan)
  }

  /** Releases everything a pipeline uses. */
  forget(pipeline: string): void {
    const use = this.#uses.get(pipeline)
    if (!use) return
    this.#uses.delete(pipeline)
    this.#release(pipeline, use, undefined)
  }

  /** Whether a cache that the pipeline needs is still being filled for the first time. */
  isStarting(pipeline: string): boolean {
    return [...(this.#uses.get(pipeline)?.sources ?? [])].some(({ source }) => source.isStarting)
  }

  /** The state of a target now, from the cache; with a refusal, nothing of the object is looked at. */
  read(pipeline: string, target: TargetPlan, refusal?: string): TargetStatus {
    const use = this.#uses.get(pipeline)
    const base = {
      clusterAppRef: clusterAppRef(target),
      ...(target.cluster ? { cluster: target.cluster } : {}),
      namespace: target.namespace,
      kind: target.app.kind,
      name: target.app.name,
    }
    if (refusal !== undefined) return { ...base, ready: false, reason: 'Forbidden', message: refusal }
    const { source } = use ? this.#use(pipeline, use, target) : this.#sourceFor(target)
    const found = source.find(target.namespace, target.app.name)
    if (found.found === 'nothing') return { ...base, ready: false, ...this.#whyNothing(pipeline, target, found) }
    const adapter = use?.adapters.get(kindOf(target)) ?? adapterFor(target.app)
    const reading = adapter(found.object)
    if (reading.read === 'invalid') return { ...base, ready: false, reason: 'Invalid', message: reading.message }
    const { ready, revision, fresh } = reading
    const facts = { ...base, generationObserved: fresh, ...(revision === undefined ? {} : { revision }) }
    const { suspend } = (found.object.spec ?? {}) as { readonly suspend?: unknown }
    const suspended = suspend === true ? 'its spec.suspend is true, so that no new revision is applied' : undefined
    if (!fresh)
      return {
        ...facts,
        ready: false,
        reason: 'Stale',
        message: suspended ?? 'its status is about an older generation',
      }
    if (revision === undefined)
      return {
        ...facts,
        ready: false,
        reason: 'RevisionUnknown',
        ...(ready ? { message: 'it is ready but reports no revision' } : {}),
      }
    const why = suspended ?? (ready ? source.warning : (reading.message ?? 'it is not healthy'))
    const seen: TargetStatus = { ...facts, ready, reason: 'Found', ...(why ? { message: why } : {}) }
    return this.#ports.adjustTarget?.(target, seen) ?? seen
  }

  close(): void {
    for (const { source } of this.#sources.values()) source.close()
    this.#sources.clear()
    this.#uses.clear()
  }

  /** The source of a target can change: permission to read all namespaces may be revoked. */
  #use(pipeline: string, use: Use, target: TargetPlan): Source {
    const source = this.#sourceFor(target)
    const place = placeKey(target)
    const users = source.users.get(place) ?? new Set()
    if (!users.has(pipeline)) source.users.set(place, users.add(pipeline))
    use.sources.add(source)
    return source
  }

  /** The narrowest open cache for a target; opens one if there is none. */
  #sourceFor(target: TargetPlan): Source {
    const own = this.#sources.get(sourceKey(target, target.namespace))
    if (own) return own
    const wide = this.#sources.get(sourceKey(target, undefined))
    if (wide && !wide.source.isForbidden) return wide
    const isCrowded = !wide && this.#countSources(target) >= maxNamespaceCaches
    return this.#openSource(target, isCrowded ? undefined : target.namespace)
  }

  #countSources(target: TargetPlan): number {
    const prefix = sourceKey(target, undefined)
    let count = 0
    for (const key of this.#sources.keys()) if (key.startsWith(prefix)) count++
    return count
  }

  #openSource(target: TargetPlan, namespace: string | undefined): Source {
    const { clusters, clock, onChange } = this.#ports
    const users: Source['users'] = new Map()
    const opened: Source = {
      key: sourceKey(target, namespace),
      users,
      source: new TargetSource({
        handle: clusters.client(clusterKey(target)),
        app: target.app,
        namespace,
        clock,
        onChange: (place) => {
          if (place) onChange(users.get(JSON.stringify([place.namespace, place.name])) ?? [])
          else onChange(new Set([...users.values()].flatMap((pipelines) => [...pipelines])))
        },
      }),
    }
    this.#sources.set(opened.key, opened)
    return opened
  }

  /** Drops a pipeline's uses that its new plan no longer has, and closes caches without users. */
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

  /** Distinguishes a missing object from a missing namespace, by a lookup in the background. */
  #whyNothing(pipeline: string, target: TargetPlan, { reason, message }: Extract<Lookup, { found: 'nothing' }>) {
    if (reason !== 'NotFound') return { reason, message }
    if (this.#hasNamespace(pipeline, target)) return { reason, message }
    return { reason: 'NamespaceNotFound' as const, message: `namespace ${target.namespace} not found` }
  }

  /** False only when the namespace is known not to exist; the answer is cached and refreshed in the background. */
  #hasNamespace(pipeline: string, target: TargetPlan): boolean {
    const { clusters, clock, onChange } = this.#ports
    const key = `${target.cluster} ${target.namespace}`
    const known = this.#namespaces.get(key)
    const now = clock.now()
    if (known && now - known.at < namespaceCacheMs) return known.exists !== false
    this.#namespaces.set(key, { exists: known?.exists, at: now })
    const handle = clusters.client(clusterKey(target))
    const learn = (exists: boolean | undefined) => {
      this.#namespaces.set(key, { exists, at: now })
      handle.close()
      if (exists !== known?.exists) onChange([pipeline])
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
  /** Pipelines by the object they target. */
  readonly users: Map<string, Set<string>>
}

interface Use {
  readonly wanted: string
  readonly sources: Set<Source>
  readonly adapters: Map<string, Adapter>
}

/** Without a namespace, the prefix of all keys of the kind, and the key of the cache for all namespaces. */
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

/** The runtime's name of a cluster, `namespace.name`: a namespace contains no dots. */
function clusterKey({ cluster }: TargetPlan): string {
  return cluster.replace('/', '.')
}

function clusterAppRef({ cluster, app }: TargetPlan): NonNullable<TargetStatus['clusterAppRef']> {
  const [namespace = '', name = ''] = cluster.split('/')
  return { ...app, ...(cluster ? { clusterRef: { kind: 'GitopsCluster', name, namespace } } : {}) }
}
