import type { StoredObject } from '../../../kube/object.ts'
import { ignoring } from '../../../kube/status-error.ts'
import {
  cleanupFinalizer,
  definitionResource,
  hasTrueCondition,
  type Definition,
} from '../../kinds/definitions/definition.ts'
import { KeyedLoop } from './keyed-loop.ts'
import type { StoreEvent } from '../../store/store.ts'
import { systemUser } from '../contract/system-user.ts'
import type { UpkeepPorts } from './upkeep.ts'

/** Deletes the instances of CRDs that are being deleted, then removes the cleanup finalizer of the CRD. */
export class DefinitionCleaner {
  readonly #ports: UpkeepPorts
  readonly #loop: KeyedLoop
  readonly #unsubscribe: () => void
  /** Names of definitions that are being deleted, which are also the resources of their instances. */
  readonly #leaving = new Set<string>()
  /** Uids of definitions whose instances may be deleted: `beforeEmptying` has succeeded. */
  readonly #released = new Set<string>()

  constructor(ports: UpkeepPorts) {
    this.#ports = ports
    this.#loop = new KeyedLoop({
      clock: ports.clock,
      work: (name) => (name === others ? this.#acceptOthers() : this.#empty(name)),
      onError: (error) => ports.onError?.(error),
    })
    this.#unsubscribe = ports.store.subscribe((events) => events.forEach((event) => this.#note(event)))
    const found = ports.store.scan({ resource: definitionResource, limit: Number.MAX_SAFE_INTEGER })
    for (const { name, document } of found) this.#consider(name, document.value)
  }

  close(): Promise<void> {
    this.#unsubscribe()
    return this.#loop.close()
  }

  #note({ type, resource, name, document }: StoreEvent): void {
    if (resource === definitionResource && type !== 'delete') this.#consider(name, document.value)
    if (resource === definitionResource && type === 'delete') this.#loop.add(others)
    if (type === 'delete' && this.#leaving.has(resource)) this.#loop.add(resource)
  }

  #consider(name: string, { metadata }: StoredObject): void {
    if (metadata.deletionTimestamp === undefined || !metadata.finalizers?.includes(cleanupFinalizer)) return
    this.#leaving.add(name)
    this.#loop.add(name)
  }

  /** Another definition may wait for the names that have become free: any write to it checks its names again. */
  async #acceptOthers(): Promise<void> {
    const { store, clock, onError } = this.#ports
    await clock.breathe()
    const all = store.scan({ resource: definitionResource, limit: Number.MAX_SAFE_INTEGER })
    const refused = all.filter(
      ({ document }) => !hasTrueCondition(document.value as unknown as Definition, 'NamesAccepted'),
    )
    for (const { name } of refused) await this.#patch(name, {}).catch((error: unknown) => onError?.(error))
  }

  async #empty(name: string): Promise<void> {
    const { store, objects, kinds, clock } = this.#ports
    // Subscribers are called in turn: `kinds` may not have seen the same batch of events yet.
    await clock.breathe()
    const type = kinds.ofDefinition(name)
    if (type && store.count({ resource: type.resource }) > 0) {
      await this.#ask(name)
      const { items } = await objects.deleteCollection({ type, user: systemUser })
      for await (const _ of items);
      // An instance held by finalizers sends a delete event when it is removed.
      if (store.count({ resource: type.resource }) > 0) return
    }
    await this.#release(name)
  }

  /** Calls `beforeEmptying` until it succeeds once. While it fails, the status of the definition says why. */
  async #ask(name: string): Promise<void> {
    const { beforeEmptying } = this.#ports
    const definition = this.#get(name)
    if (!definition || !beforeEmptying || this.#released.has(definition.metadata.uid)) return
    try {
      await beforeEmptying(definition)
      this.#released.add(definition.metadata.uid)
    } catch (error) {
      await this.#report(definition, error instanceof Error ? error.message : String(error))
      throw error
    }
  }

  async #report(definition: StoredObject, why: string): Promise<void> {
    const { conditions = [] } = (definition as unknown as Definition).status ?? {}
    const told = { reason: 'InstanceDeletionFailed', message: `its instances are not deleted yet: ${why}` }
    const status = {
      conditions: conditions.map((each) => (each.type === 'Terminating' ? { ...each, ...told } : each)),
    }
    await this.#patch(definition.metadata.name, { status }, 'status').catch(ignoring('NotFound'))
  }

  async #release(name: string): Promise<void> {
    const definition = this.#get(name)
    if (!definition) return
    const { finalizers = [], resourceVersion, uid } = definition.metadata
    const remaining = finalizers.filter((finalizer) => finalizer !== cleanupFinalizer)
    const metadata = { resourceVersion, finalizers: remaining.length > 0 ? remaining : null }
    await this.#patch(name, { metadata }).catch(ignoring('NotFound'))
    this.#leaving.delete(name)
    this.#released.delete(uid)
  }

  #get(name: string): StoredObject | undefined {
    return this.#ports.store.get({ resource: definitionResource, namespace: '', name })?.document.object
  }

  async #patch(name: string, body: Readonly<Record<string, unknown>>, subresource?: 'status'): Promise<void> {
    const { objects, kinds } = this.#ports
    const type = kinds.ofResource(definitionResource)
    if (!type) return
    const how = { patchType: 'merge', body, user: systemUser, fieldManager: 'sojourn' } as const
    await objects.patch({ type, name, ...(subresource ? { subresource } : {}), ...how })
  }
}

/** Key for all definitions that wait for names. */
const others = ''
