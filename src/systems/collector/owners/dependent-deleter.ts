import type { Client } from '../../../client/client.ts'
import { CascadeRecorder, type CascadeRoot } from '../../../departures/records/cascade-recorder.ts'
import { isRecreatedByController } from '../../../departures/subjects/contents.ts'
import {
  deleteDependent,
  type DependentDeleteOptions,
  type DeleteOutcome,
} from '../../../departures/subjects/delete-dependent.ts'
import { type ResourceType, type StoredObject, placeOf } from '../../../kube/object.ts'
import { ignoring } from '../../../kube/status-error.ts'
import type { Clock } from '../../../runtime/time/clock.ts'

/** The server's own inProcessDeleter, where it is in reach. */
export interface InProcessDeleter {
  /** The whole object, if it is there. */
  read(type: ResourceType, object: StoredObject): StoredObject | undefined
  /** Deletes one dependent if its owners are gone at that moment; called for owners before their dependents. */
  remove(type: ResourceType, object: StoredObject, manner: DependentDeleteOptions): Promise<DeleteOutcome>
}

/** One dependent that is to follow its owners. */
interface Follower {
  readonly type: ResourceType
  readonly object: StoredObject
  /** Whether others live by it. */
  readonly isOwner: boolean
}

/** How far the record of a batch has got. */
export interface Recorded {
  /** Resolves when the record speaks of the batch, which nobody has to wait for before they delete. */
  readonly told: Promise<unknown>
  /** `namespace/name` of the record, where there is one. */
  readonly cascadeRecord?: string | undefined
}

/** One that waits for company. */
interface Waiting extends Follower {
  readonly propagation: DependentDeleteOptions['propagation']
  readonly root: CascadeRoot | undefined
  readonly resolve: (result: DeleteOutcome) => void
  readonly reject: (error: unknown) => void
}

export interface DependentDeleterOptions {
  readonly inProcessDeleter?: InProcessDeleter | undefined
  /** How many go on one page. Defaults to 500. */
  readonly batchSize?: number | undefined
}

/** Carries out what was decided. Dependents of one root go in batches: read, recorded on one page, deleted. */
export class DependentDeleter {
  readonly #client: Client
  readonly #clock: Clock
  readonly #recorder: CascadeRecorder
  readonly #inProcessDeleter: InProcessDeleter | undefined
  readonly #batchSize: number
  #waiting: Waiting[] = []
  #isFlushing = false

  constructor(client: Client, clock: Clock, { inProcessDeleter, batchSize = 500 }: DependentDeleterOptions = {}) {
    this.#client = client
    this.#clock = clock
    this.#inProcessDeleter = inProcessDeleter
    this.#batchSize = batchSize
    this.#recorder = new CascadeRecorder(client, clock, { wholeOf: (root) => this.#wholeOf(root) })
  }

  /** Lets a dependent go, in company. */
  remove(follower: Omit<Waiting, 'resolve' | 'reject'>): Promise<DeleteOutcome> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...follower, resolve, reject })
      if (!this.#isFlushing) void this.#flush()
    })
  }

  /** Deletes many whose record was written. */
  deleteAll(followers: readonly Follower[], { cascadeRecord }: Recorded): Promise<readonly DeleteOutcome[]> {
    return Promise.all(
      followers.map((follower) => this.#delete(follower, { propagation: 'Background', cascadeRecord })),
    )
  }

  /** Takes references out of an object: only from the version that was judged. */
  async dropReferences(
    type: ResourceType,
    { metadata }: StoredObject,
    uids: readonly string[],
  ): Promise<StoredObject | undefined> {
    const { name, namespace, resourceVersion, ownerReferences = [] } = metadata
    const kept = ownerReferences.filter(({ uid }) => !uids.includes(uid))
    const body = { metadata: { resourceVersion, ownerReferences: kept.length > 0 ? kept : null } }
    return this.#client
      .patch<StoredObject>(type, placeOf({ name, namespace }), { type: 'merge', body })
      .catch(ignoring('NotFound', 'Conflict'))
  }

  /** Takes a finalizer off: only from the version that was judged. */
  async release(type: ResourceType, { metadata }: StoredObject, finalizer: string): Promise<StoredObject | undefined> {
    const { name, namespace, resourceVersion, finalizers = [] } = metadata
    const body = { metadata: { resourceVersion, finalizers: finalizers.filter((present) => present !== finalizer) } }
    return this.#client
      .patch<StoredObject>(type, placeOf({ name, namespace }), { type: 'merge', body })
      .catch(ignoring('NotFound', 'Conflict'))
  }

  async #flush(): Promise<void> {
    this.#isFlushing = true
    while (this.#waiting.length > 0) {
      // Others that are decided in this turn join in.
      await this.#clock.breathe()
      const batch = this.#waiting.splice(0, this.#batchSize)
      const byRoot = Map.groupBy(batch, ({ root }) => root?.object.metadata.uid)
      await Promise.all(byRoot.values().map((followers) => this.#removeGroup(followers, followers[0]?.root)))
    }
    this.#isFlushing = false
  }

  async #removeGroup(followers: readonly Waiting[], root: CascadeRoot | undefined): Promise<void> {
    try {
      const { told, cascadeRecord } = await this.record(followers, root)
      const removed = followers.map(async (follower) => {
        const { propagation, resolve, reject } = follower
        const result = await this.#delete(follower, { propagation, cascadeRecord }).catch(reject)
        if (result) await told.then(() => resolve(result), reject)
      })
      await Promise.all(removed)
    } catch (error) {
      for (const { reject } of followers) reject(error)
    }
  }

  #delete({ type, object }: Follower, manner: DependentDeleteOptions): Promise<DeleteOutcome> {
    return this.#inProcessDeleter
      ? this.#inProcessDeleter.remove(type, object, manner)
      : deleteDependent(this.#client, type, object, manner)
  }

  /** Writes what is worth it on one page of the root's record. What cannot be recorded must not go. */
  async record(followers: readonly Follower[], root: CascadeRoot | undefined): Promise<Recorded> {
    if (!root) return nothingToTell
    const kept = followers.filter(({ object }) => !isRecreatedByController(object))
    if (kept.length === 0) return this.#recordedElsewhere(followers, root)
    const read = await Promise.all(
      kept.map(async ({ type, object, isOwner }) => ({ object: await this.#read(type, object), isOwner })),
    )
    const companions = read.flatMap(({ object, isOwner }) => (object ? [{ object, isOwner }] : []))
    return companions.length > 0 ? this.#recorder.write(root, companions) : nothingToTell
  }

  /** What the cluster makes anew is on no page, but what lives by it will be. */
  async #recordedElsewhere(followers: readonly Follower[], root: CascadeRoot): Promise<Recorded> {
    if (!followers.some(({ isOwner }) => isOwner)) return nothingToTell
    return { ...nothingToTell, cascadeRecord: await this.#recorder.find(root) }
  }

  /** Says on the record of an object that is still there what it waits for. */
  tell(root: StoredObject, message: string): Promise<void> {
    return this.#recorder.tell(root, message)
  }

  /** A root that is on its way, with everything in it. */
  async #wholeOf(root: StoredObject): Promise<StoredObject | undefined> {
    const type = await this.#client.discovery.typeOf(root)
    const found = type && (await this.#read(type, root))
    return found?.metadata.uid === root.metadata.uid ? found : undefined
  }

  async #read(type: ResourceType, object: StoredObject): Promise<StoredObject | undefined> {
    if (this.#inProcessDeleter) return this.#inProcessDeleter.read(type, object)
    const { name, namespace } = object.metadata
    return this.#client.get<StoredObject>(type, placeOf({ name, namespace })).catch(ignoring('NotFound'))
  }
}

const nothingToTell = { told: Promise.resolve() }
