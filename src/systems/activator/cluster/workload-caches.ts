import type { ProcessParts } from '../../../runtime/process-parts.ts'
import { cronJobs, deployments, replicaSets, statefulSets } from '../../../kube/core-types.ts'
import { kindKey, type Key } from '../../../kube/key.ts'
import { parseApiVersion, type ObjectRef, type ResourceType, type StoredObject } from '../../../kube/object.ts'
import type { Informer } from '../../../runtime/cache/informer.ts'
import { canSleep } from '../model/power-kinds.ts'
import { Scales } from '../model/scales.ts'

export interface WorkloadCachesPorts extends Pick<ProcessParts, 'client' | 'informers'> {
  /** Called for each newly opened cache. */
  readonly onOpen: (informer: Informer) => void
  /** Called when a workload's scale has been read. */
  readonly onScale: (workload: Key) => void
}

/** The caches of every kind of workload that can sleep: Deployments, StatefulSets and CronJobs always, others where served. */
export class WorkloadCaches {
  readonly #ports: WorkloadCachesPorts
  readonly #namespace: string | undefined
  readonly #byKind = new Map<string, Informer>()
  readonly #looking = new Set<string>()
  /** Kinds that the server did not have when first asked. */
  readonly #unserved = new Set<string>()
  readonly #scales: Scales

  constructor(ports: WorkloadCachesPorts, namespace: string | undefined) {
    this.#ports = ports
    this.#namespace = namespace
    this.#scales = new Scales(ports.client, ports.onScale)
  }

  openUsual(): void {
    for (const type of [deployments, statefulSets, cronJobs]) this.#open(type)
  }

  /** Opens a cache for every other kind that can sleep and may be read. Which kinds are served may change at any time. */
  async openServed(): Promise<void> {
    const { client } = this.#ports
    client.discovery.forget()
    for (const type of await client.discovery.all()) {
      const key = kindKey(type)
      if (this.#byKind.has(key) || !canSleep(type, type.subresources)) continue
      // A cache that may not be read would be tried for ever.
      if (
        await client.list(type, { limit: 1 }).then(
          () => true,
          () => false,
        )
      ) {
        if (!this.#byKind.has(key)) this.#open(type)
      }
    }
  }

  /** Every workload of a namespace that a rule of the namespace can put to sleep. */
  inNamespace(namespace: string | undefined): StoredObject[] {
    return [...this.#byKind.values()].flatMap((informer) => informer.list(namespace))
  }

  /** The object; `unknown` while it cannot be told whether there is one. */
  find(workload: ObjectRef): StoredObject | 'unknown' | 'absent' {
    const informer = this.#cacheOf(workload)
    if (!informer) return this.#unserved.has(kindOf(workload)) ? 'absent' : 'unknown'
    if (!informer.synced || informer.errorIn(workload.namespace ?? '')) return 'unknown'
    return informer.get(workload.namespace ?? '', workload.name) ?? 'absent'
  }

  /** What was last seen of it, however old. */
  lastSeen(workload: ObjectRef): StoredObject | undefined {
    return this.#cacheOf(workload)?.get(workload.namespace ?? '', workload.name)
  }

  /** How many replicas a workload asks for; undefined while that has to be found out. */
  replicas(object: StoredObject): number | undefined {
    const type = this.#typeOf(object)
    return type && this.#scales.of(type, object)
  }

  /** The same as was last seen of a workload, however old. */
  lastSeenReplicas(workload: ObjectRef): number | undefined {
    const object = this.lastSeen(workload)
    const type = object && this.#typeOf(object)
    return type && this.#scales.lastOf(type, object)
  }

  /** The type and cache of a workload's kind, if it is known by now. */
  of({ kind }: Pick<Key, 'kind'>): Informer | undefined {
    return this.#byKind.get(kind)
  }

  get synced(): boolean {
    return this.#usual.every((informer) => informer.synced)
  }

  async whenSynced(): Promise<void> {
    await Promise.all(this.#usual.map((informer) => informer.whenSynced()))
  }

  get #usual(): readonly Informer[] {
    return [deployments, statefulSets].flatMap((type) => this.#byKind.get(kindKey(type)) ?? [])
  }

  close(): void {
    for (const informer of this.#byKind.values()) informer.close()
    this.#byKind.clear()
  }

  #typeOf({ apiVersion, kind }: StoredObject): ResourceType | undefined {
    return this.#byKind.get(kindOf({ apiVersion, kind }))?.type
  }

  #cacheOf({ apiVersion, kind }: ObjectRef): Informer | undefined {
    const key = kindOf({ apiVersion, kind })
    const known = this.#byKind.get(key)
    if (known) return known
    if (apiVersion === 'apps/v1' && kind === 'ReplicaSet') return this.#open(replicaSets)
    this.#lookUp(apiVersion, kind, key)
    return undefined
  }

  #lookUp(apiVersion: string, kind: string, key: string): void {
    if (this.#looking.has(key)) return
    this.#looking.add(key)
    const { client } = this.#ports
    void client.discovery
      .typeOf({ apiVersion, kind })
      .then(
        (type) => {
          if (type) this.#open(type)
          else {
            this.#unserved.add(key)
            // It may come at any time, beside others of its group.
            client.discovery.forget()
          }
        },
        () => {},
      )
      .finally(() => this.#looking.delete(key))
  }

  #open(type: ResourceType): Informer {
    const key = kindKey(type)
    const { client, informers, onOpen } = this.#ports
    const informer = informers.open(client, type, this.#namespace === undefined ? {} : { namespace: this.#namespace })
    this.#byKind.set(key, informer)
    onOpen(informer)
    return informer
  }
}

function kindOf({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }): string {
  return kindKey({ ...parseApiVersion(apiVersion), kind })
}
