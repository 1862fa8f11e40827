import type { Client } from '../../../client/client.ts'
import { CascadeRecorder, type CascadeRoot, type Follower } from '../../../departures/records/cascade-recorder.ts'
import type { KeySource } from '../../../departures/records/record-keys.ts'
import {
  deleteDependent,
  type DeleteOutcome,
  type DependentDeleteOptions,
} from '../../../departures/subjects/own-machinery.ts'
import { placeOf, type OwnerReference, type ResourceType, type StoredObject } from '../../../kube/object.ts'
import { ignoring } from '../../../kube/status-error.ts'
import type { Clock } from '../../../runtime/time/clock.ts'

/** Direct access to the store of the embedded server, which the collector of `sojourn up` shares a process with. */
export interface InProcessDeleter {
  /** The complete object, if it exists. */
  read(type: ResourceType, object: StoredObject): StoredObject | undefined
  /** Deletes a dependent unless an owner keeps it, checked in the same transaction. Calls take effect in order: owners come before their dependents. */
  remove(type: ResourceType, object: StoredObject, options: DependentDeleteOptions): Promise<DeleteOutcome>
  /** Ends a foreground deletion, unless a blocking dependent other than these (by uid) exists, checked in the same transaction. */
  endForeground(type: ResourceType, object: StoredObject, settled: ReadonlySet<string>): Promise<void>
}

/** A dependent in the queue for the next batch. */
interface Queued extends Follower {
  readonly propagation: DependentDeleteOptions['propagation']
  readonly root: CascadeRoot | undefined
  readonly resolve: (outcome: DeleteOutcome) => void
  readonly reject: (error: unknown) => void
}

export interface DependentDeleterOptions {
  readonly inProcessDeleter?: InProcessDeleter | undefined
  /** The keys that encrypt the data of Secrets in records. Defaults to none. */
  readonly keys?: KeySource
  /** How many dependents go on one page of a record. Defaults to 500. */
  readonly batchSize?: number | undefined
}

/** Deletes dependents in batches: reads them, records them on one page of their root's record, then deletes them. */
export class DependentDeleter {
  readonly recorder: CascadeRecorder
  readonly #client: Client
  readonly #clock: Clock
  readonly #inProcessDeleter: InProcessDeleter | undefined
  readonly #batchSize: number
  #queue: Queued[] = []
  #isFlushing = false

  constructor(client: Client, clock: Clock, { inProcessDeleter, keys, batchSize = 500 }: DependentDeleterOptions = {}) {
    this.#client = client
    this.#clock = clock
    this.#inProcessDeleter = inProcessDeleter
    this.#batchSize = batchSize
    this.recorder = new CascadeRecorder({ client, clock, keys, read: (type, object) => this.#read(type, object) })
  }

  /** Records and deletes one dependent, together with others that are asked for at the same time. */
  delete(follower: Omit<Queued, 'resolve' | 'reject'>): Promise<DeleteOutcome> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ ...follower, resolve, reject })
      if (!this.#isFlushing) void this.#flush()
    })
  }

  /** Deletes a dependent that is recorded already. */
  deleteRecorded({ type, object }: Follower, options: DependentDeleteOptions): Promise<DeleteOutcome> {
    return this.#inProcessDeleter
      ? this.#inProcessDeleter.remove(type, object, options)
      : deleteDependent(this.#client, type, object, options)
  }

  /** Removes these owner references from an object, only in the version that was judged. Undefined when it has changed or is gone. */
  async dropReferences(
    type: ResourceType,
    { metadata }: StoredObject,
    references: readonly OwnerReference[],
  ): Promise<StoredObject | undefined> {
    const { resourceVersion, ownerReferences = [] } = metadata
    const kept = ownerReferences.filter((reference) => !references.includes(reference))
    return this.#patch(type, metadata, { resourceVersion, ownerReferences: kept.length > 0 ? kept : null })
  }

  /** Removes a finalizer from an object, only in the version that was judged. Undefined when it has changed or is gone. */
  async removeFinalizer(
    type: ResourceType,
    { metadata }: StoredObject,
    finalizer: string,
  ): Promise<StoredObject | undefined> {
    const { resourceVersion, finalizers = [] } = metadata
    return this.#patch(type, metadata, { resourceVersion, finalizers: finalizers.filter((name) => name !== finalizer) })
  }

  /** Ends the foreground deletion of an owner; `settled` are the dependents it need not wait for. Over the API, one created in this moment is not seen. */
  async endForeground(type: ResourceType, object: StoredObject, settled: ReadonlySet<string>): Promise<void> {
    if (this.#inProcessDeleter) await this.#inProcessDeleter.endForeground(type, object, settled)
    else await this.removeFinalizer(type, object, 'foregroundDeletion')
  }

  async #patch(
    type: ResourceType,
    { name, namespace }: StoredObject['metadata'],
    metadata: Readonly<Record<string, unknown>>,
  ): Promise<StoredObject | undefined> {
    const place = placeOf({ name, namespace })
    return this.#client.merge<StoredObject>(type, place, { metadata }).catch(ignoring('NotFound', 'Conflict'))
  }

  async #flush(): Promise<void> {
    this.#isFlushing = true
    while (this.#queue.length > 0) {
      // Dependents that are decided in the same turn of the event loop join the batch.
      await this.#clock.breathe()
      const batch = this.#queue.splice(0, this.#batchSize)
      const byRoot = Map.groupBy(batch, ({ root }) => root?.object.metadata.uid)
      await Promise.all(byRoot.values().map((followers) => this.#deleteBatch(followers, followers[0]?.root)))
    }
    this.#isFlushing = false
  }

  async #deleteBatch(followers: readonly Queued[], root: CascadeRoot | undefined): Promise<void> {
    try {
      const { counted, cascadeRecord } = await this.recorder.record(followers, root)
      const deleted = followers.map(async (follower) => {
        const { propagation, resolve, reject } = follower
        const outcome = await this.deleteRecorded(follower, { propagation, cascadeRecord }).catch(reject)
        if (outcome) await counted.then(() => resolve(outcome), reject)
      })
      await Promise.all(deleted)
    } catch (error) {
      for (const { reject } of followers) reject(error)
    }
  }

  async #read(type: ResourceType, object: StoredObject): Promise<StoredObject | undefined> {
    if (this.#inProcessDeleter) return this.#inProcessDeleter.read(type, object)
    const { name, namespace } = object.metadata
    return this.#client.get<StoredObject>(type, placeOf({ name, namespace })).catch(ignoring('NotFound'))
  }
}
