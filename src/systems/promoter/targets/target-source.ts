import type { StoredObject } from '../../../kube/object.ts'
import { isStatusError } from '../../../kube/status-error.ts'
import { Attempt } from '../../../runtime/time/attempt.ts'
import type { Clock } from '../../../runtime/time/clock.ts'
import type { ClusterHandle } from '../../../runtime/clusters/clusters.ts'
import type { Informer } from '../../../runtime/cache/informer.ts'
import { servedType } from './target-access.ts'
import type { TargetReason } from '../../../apis/pipeline-status.ts'

/** The result of looking an object up: the object, or why there is none. */
export type Lookup =
  | { readonly found: 'object'; readonly object: StoredObject }
  | { readonly found: 'nothing'; readonly reason: TargetReason; readonly message: string }

interface Problem {
  readonly reason: TargetReason
  readonly message: string
}

export interface SourceOptions {
  readonly handle: ClusterHandle
  readonly app: { readonly apiVersion: string; readonly kind: string }
  /** Undefined for all namespaces. */
  readonly namespace: string | undefined
  readonly clock: Clock
  /** Called when this object may have changed; without a place, when all may have. */
  readonly onChange: (place?: { readonly namespace: string; readonly name: string }) => void
}

const retryMs = 15_000
const syncGraceMs = 10_000
const discoveryTimeoutMs = 10_000

/** A cache of one kind in one cluster, for one namespace or all. Retries until the cluster serves the kind. */
export class TargetSource {
  readonly #options: SourceOptions
  readonly #openedAt: number
  #informer: Informer | undefined
  #problem: Problem | undefined
  #warning: string | undefined
  #opening = false
  #closed = false
  #stopRetry = () => {}

  constructor(options: SourceOptions) {
    this.#options = options
    this.#openedAt = options.clock.now()
    options.handle.onChange(() => {
      this.#open()
      options.onChange()
    })
    this.#open()
  }

  /** Whether the first list is in progress: worth a short wait rather than a report. */
  get isStarting(): boolean {
    const cluster = this.#clusterProblem()
    if (cluster && cluster.reason !== 'NotSynced') return false
    if (this.#informer?.synced || this.#problem || this.#informerProblem()) return false
    return this.#options.clock.now() - this.#openedAt < syncGraceMs
  }

  /** Looks an object up in the cache. */
  find(namespace: string, name: string): Lookup {
    const problem = this.#clusterProblem() ?? this.#problem ?? this.#informerProblem(namespace)
    if (problem) return { found: 'nothing', ...problem }
    if (!this.#informer?.synced)
      return { found: 'nothing', reason: 'NotSynced', message: 'the cache is not synced yet' }
    const object = this.#informer.get(namespace, name)
    if (object) return { found: 'object', object }
    const { kind } = this.#options.app
    return { found: 'nothing', reason: 'NotFound', message: `${kind} ${namespace}/${name} not found` }
  }

  /** What users should change although the objects can be read. */
  get warning(): string | undefined {
    return this.#warning
  }

  /** Whether the promoter lacks permission to list this kind here. */
  get isForbidden(): boolean {
    return isStatusError(this.#informer?.lastError, 'Forbidden')
  }

  close(): void {
    this.#closed = true
    this.#stopRetry()
    this.#informer?.close()
    this.#options.handle.close()
  }

  /** Resolves the kind by discovery and opens the informer. At most one attempt at a time. */
  #open(): void {
    const { client } = this.#options.handle
    if (this.#closed || this.#informer || this.#opening || !client) return
    this.#opening = true
    // Without a timeout, a connection that never answers would block every later attempt.
    const attempt = new Attempt(this.#options.clock, discoveryTimeoutMs, new AbortController().signal)
    attempt
      .run(() => servedType(client, this.#options.app))
      .finally(() => attempt.end())
      .then((type) => {
        this.#opening = false
        if (this.#closed || this.#informer) return
        const { apiVersion, kind } = this.#options.app
        if (type) {
          const served = `${type.group}/${type.version}`
          if (served !== apiVersion && type.group)
            this.#warning = `${apiVersion} is not served here; set appRef.apiVersion to ${served}, which was read`
          return this.#follow(type)
        }
        this.#fail({ reason: 'KindNotFound', message: `the cluster does not serve ${kind} in ${apiVersion}` })
      })
      .catch((error: unknown) => {
        this.#opening = false
        client.discovery.forget()
        this.#fail(problemOf(error))
      })
  }

  /** Opens the informer and reports its changes. */
  #follow(type: Informer['type']): void {
    const { handle, namespace, onChange } = this.#options
    this.#problem = undefined
    const informer = handle.open(type, namespace === undefined ? {} : { namespace })
    this.#informer = informer
    informer.subscribe(({ object, initial }) => {
      // Objects of the first list are reported together once the cache is synced.
      if (!initial) onChange({ namespace: object.metadata.namespace ?? '', name: object.metadata.name })
    })
    informer.onError(() => onChange())
    informer.whenSynced().then(
      () => onChange(),
      () => {},
    )
  }

  /** Retries later: a CRD may be installed, a permission granted. */
  #fail(problem: Problem): void {
    if (this.#closed) return
    this.#problem = problem
    this.#options.onChange()
    this.#stopRetry = this.#options.clock.after(retryMs, () => {
      this.#options.handle.client?.discovery.forget()
      this.#open()
    })
  }

  #clusterProblem(): Problem | undefined {
    const { status, name } = this.#options.handle
    switch (status.state) {
      case 'reachable':
        return undefined
      case 'connecting':
        return { reason: 'NotSynced', message: `connecting to cluster ${name}` }
      case 'not-found':
        return { reason: 'ClusterNotFound', message: `GitopsCluster ${name.replace('.', '/')} not found` }
      case 'not-ready':
      case 'no-credentials':
        return {
          reason: 'ClusterNotReady',
          message: `cluster ${name.replace('.', '/')} is not ready: ${status.because}`,
        }
      case 'unreachable':
        return {
          reason: 'ClusterUnreachable',
          message: `cluster ${name.replace('.', '/')} cannot be reached: ${status.because}`,
        }
    }
  }

  #informerProblem(namespace?: string): Problem | undefined {
    const error = namespace === undefined ? this.#informer?.lastError : this.#informer?.errorIn(namespace)
    return error && problemOf(error)
  }
}

/** Maps an API error to a target reason. An unknown error counts as unreachable, never as absent. */
function problemOf(error: unknown): Problem {
  const message = error instanceof Error ? error.message : String(error)
  if (isStatusError(error, 'Forbidden', 'Unauthorized')) return { reason: 'Forbidden', message }
  if (isStatusError(error, 'NotFound', 'MethodNotAllowed')) return { reason: 'KindNotFound', message }
  return { reason: 'ClusterUnreachable', message }
}
