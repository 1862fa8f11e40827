import type { Client } from '../../client/client.ts'
import { CascadeRecorder, type CascadeRoot } from '../../departures/cascade-recorder.ts'
import { follow, type FollowResult } from '../../departures/follow.ts'
import { parseApiVersion, type ResourceType, type StoredObject } from '../../kube/object.ts'
import { ignoring } from '../../kube/status-error.ts'
import type { Clock } from '../../runtime/clock.ts'

/** Deletes one dependent; called for owners before their dependents. */
export type Remove = (
  type: ResourceType,
  object: StoredObject,
  propagation: 'Background' | 'Foreground',
) => Promise<FollowResult>

/** One dependent that is to follow its owners. */
interface Follower {
  readonly type: ResourceType
  readonly object: StoredObject
  readonly propagation: 'Background' | 'Foreground'
  readonly root: CascadeRoot | undefined
  resolve(result: 'gone' | 'leaving' | 'changed'): void
  reject(error: unknown): void
}

/** Carries out what was decided. Dependents of one root go in batches: read, recorded on one page, deleted. */
export class Act {
  readonly #client: Client
  readonly #clock: Clock
  readonly #recorder: CascadeRecorder
  readonly #remove: Remove
  #waiting: Follower[] = []
  #isFlushing = false

  constructor(client: Client, clock: Clock, remove: Remove = (...follower) => follow(client, ...follower)) {
    this.#client = client
    this.#clock = clock
    this.#remove = remove
    this.#recorder = new CascadeRecorder(client, clock)
  }

  /** Lets a dependent go, in company. */
  remove(follower: Omit<Follower, 'resolve' | 'reject'>): Promise<'gone' | 'leaving' | 'changed'> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...follower, resolve, reject })
      if (!this.#isFlushing) void this.#flush()
    })
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
      .patch<StoredObject>(type, { name, ...(namespace ? { namespace } : {}) }, { type: 'merge', body })
      .catch(ignoring('NotFound', 'Conflict'))
  }

  /** Takes a finalizer off: only from the version that was judged. */
  async release(type: ResourceType, { metadata }: StoredObject, finalizer: string): Promise<StoredObject | undefined> {
    const { name, namespace, resourceVersion, finalizers = [] } = metadata
    const body = { metadata: { resourceVersion, finalizers: finalizers.filter((present) => present !== finalizer) } }
    return this.#client
      .patch<StoredObject>(type, { name, ...(namespace ? { namespace } : {}) }, { type: 'merge', body })
      .catch(ignoring('NotFound', 'Conflict'))
  }

  async #flush(): Promise<void> {
    this.#isFlushing = true
    while (this.#waiting.length > 0) {
      // Others that are decided in this turn join in.
      await this.#clock.breathe()
      const batch = this.#waiting.splice(0, batchSize)
      await this.#record(batch)
      await Promise.all(
        batch.map((follower) =>
          this.#remove(follower.type, follower.object, follower.propagation).then(
            (result) => follower.resolve(result),
            (error: unknown) => follower.reject(error),
          ),
        ),
      )
    }
    this.#isFlushing = false
  }

  /** What cannot be recorded must not go: its failure is handed back. */
  async #record(batch: Follower[]): Promise<void> {
    const byRoot = Map.groupBy(
      batch.filter(({ root, object }) => root !== undefined && isWorthKeeping(object)),
      ({ root }) => root as CascadeRoot,
    )
    for (const [root, followers] of byRoot) {
      try {
        const objects = await Promise.all(followers.map(({ type, object }) => this.#read(type, object)))
        await this.#recorder.write(
          root,
          objects.filter((object) => object !== undefined),
        )
      } catch (error) {
        for (const follower of followers) {
          batch.splice(batch.indexOf(follower), 1)
          follower.reject(error)
        }
      }
    }
  }

  #read(type: ResourceType, { metadata }: StoredObject): Promise<StoredObject | undefined> {
    const { name, namespace } = metadata
    return this.#client
      .get<StoredObject>(type, { name, ...(namespace ? { namespace } : {}) })
      .catch(ignoring('NotFound'))
  }
}

const batchSize = 500

/** What a controller of the cluster makes again by itself (Pods, ReplicaSets, EndpointSlices) would only be in the way of a restore. */
function isWorthKeeping({ metadata }: StoredObject): boolean {
  const controller = metadata.ownerReferences?.find((owner) => owner.controller)
  return controller === undefined || !remaking.has(parseApiVersion(controller.apiVersion).group)
}

const remaking = new Set(['', 'apps', 'batch', 'discovery.k8s.io'])
