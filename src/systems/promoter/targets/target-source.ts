import { TransportError } from '../../../client/transport-error.ts'
import type { StoredObject } from '../../../kube/object.ts'
import { isStatusError } from '../../../kube/status-error.ts'
import { Attempt } from '../../../runtime/time/attempt.ts'
import type { Clock } from '../../../runtime/time/clock.ts'
import type { ClusterHandle } from '../../../runtime/clusters/clusters.ts'
import type { Informer } from '../../../runtime/cache/informer.ts'
import type { TargetReason } from '../../../apis/pipeline-status.ts'

/** What can be said of a target without reading what it says of itself. */
export type Found =
  | { readonly found: 'object'; readonly object: StoredObject }
  | { readonly found: 'nothing'; readonly reason: TargetReason; readonly message: string }

export interface SourceOptions {
  readonly handle: ClusterHandle
  readonly app: { readonly apiVersion: string; readonly kind: string }
  /** Absent: all of them. */
  readonly namespace: string | undefined
  readonly clock: Clock
  /** Something about these objects may be different now; all of them when no name is given. */
  readonly changed: (place?: { readonly namespace: string; readonly name: string }) => void
}

const retryMs = 15_000
const syncGraceMs = 10_000
const patienceMs = 10_000

/** The applications of one kind in one cluster, in one namespace or in all: followed while anybody uses it. */
export class TargetSource {
  readonly #options: SourceOptions
  readonly #openedAt: number
  #informer: Informer | undefined
  #problem: { readonly reason: TargetReason; readonly message: string } | undefined
  #opening = false
  #closed = false
  #stopRetry = () => {}

  constructor(options: SourceOptions) {
    this.#options = options
    this.#openedAt = options.clock.now()
    options.handle.onChange(() => {
      this.#open()
      options.changed()
    })
    this.#open()
  }

  /** Not known yet, but may well be in a moment: worth waiting for rather than reporting. */
  get isStarting(): boolean {
    const cluster = this.#clusterTrouble()
    if (cluster && cluster.reason !== 'NotSynced') return false
    if (this.#informer?.synced || this.#problem || this.#trouble()) return false
    return this.#options.clock.now() - this.#openedAt < syncGraceMs
  }

  find(namespace: string, name: string): Found {
    const trouble = this.#clusterTrouble() ?? this.#problem ?? this.#trouble()
    if (trouble) return { found: 'nothing', ...trouble }
    if (!this.#informer?.synced) return { found: 'nothing', reason: 'NotSynced', message: 'not synced yet' }
    const object = this.#informer.get(namespace, name)
    if (object) return { found: 'object', object }
    const { kind } = this.#options.app
    return { found: 'nothing', reason: 'NotFound', message: `${kind} ${namespace}/${name} not found` }
  }

  /** The cluster has no permission for all namespaces at once. */
  get isForbidden(): boolean {
    return isStatusError(this.#informer?.trouble, 'Forbidden')
  }

  close(): void {
    this.#closed = true
    this.#stopRetry()
    this.#informer?.close()
    this.#options.handle.close()
  }

  #open(): void {
    const { client } = this.#options.handle
    if (this.#closed || this.#informer || this.#opening || !client) return
    this.#opening = true
    // A connection that swallows everything must not be waited for: what comes later would never be asked.
    const attempt = new Attempt(this.#options.clock, patienceMs, new AbortController().signal)
    attempt
      .run(() => client.discovery.typeOf(this.#options.app))
      .finally(() => attempt.end())
      .then((type) => {
        this.#opening = false
        if (this.#closed || this.#informer) return
        if (type) return this.#follow(type)
        const { apiVersion, kind } = this.#options.app
        this.#fail({ reason: 'KindNotFound', message: `the cluster does not serve ${kind} in ${apiVersion}` })
      })
      .catch((error: unknown) => {
        this.#opening = false
        client.discovery.forget()
        this.#fail(problemOf(error))
      })
  }

  #follow(type: Informer['type']): void {
    const { handle, namespace, changed } = this.#options
    this.#problem = undefined
    const informer = handle.open(type, namespace === undefined ? {} : { namespace })
    this.#informer = informer
    informer.subscribe(({ object, initial }) => {
      // What is there at the start is told at once when the cache is complete.
      if (!initial) changed({ namespace: object.metadata.namespace ?? '', name: object.metadata.name })
    })
    informer.onTrouble(() => changed())
    informer.whenSynced().then(
      () => changed(),
      () => {},
    )
  }

  /** Tried again after a while: a CRD may come, a right may be granted. */
  #fail(problem: { readonly reason: TargetReason; readonly message: string }): void {
    if (this.#closed) return
    this.#problem = problem
    this.#options.changed()
    this.#stopRetry = this.#options.clock.after(retryMs, () => {
      this.#options.handle.client?.discovery.forget()
      this.#open()
    })
  }

  #clusterTrouble(): { readonly reason: TargetReason; readonly message: string } | undefined {
    const { status, name } = this.#options.handle
    switch (status.state) {
      case 'reachable':
        return undefined
      case 'connecting':
        return { reason: 'NotSynced', message: `cluster ${name} is being connected` }
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

  #trouble(): { readonly reason: TargetReason; readonly message: string } | undefined {
    const trouble = this.#informer?.trouble
    return trouble && problemOf(trouble)
  }
}

function problemOf(error: unknown): { readonly reason: TargetReason; readonly message: string } {
  const message = error instanceof Error ? error.message : String(error)
  if (isStatusError(error, 'Forbidden', 'Unauthorized')) return { reason: 'Forbidden', message }
  if (isStatusError(error, 'NotFound', 'MethodNotAllowed')) return { reason: 'KindNotFound', message }
  if (error instanceof TransportError) return { reason: 'ClusterUnreachable', message }
  return { reason: 'ClusterUnreachable', message }
}
