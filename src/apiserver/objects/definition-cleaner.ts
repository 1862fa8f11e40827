import { ignoring } from '../../kube/status-error.ts'
import { cleanupFinalizer, definitionResource, isTrue, type Definition } from '../kinds/definition.ts'
import type { StoreEvent } from '../store/store.ts'
import { systemUser } from './system-user.ts'
import type { UpkeepPorts } from './upkeep.ts'

const retryMs = 1000

/** Deletes the instances of CRDs that are on their way out, and then lets these go. */
export class DefinitionCleaner {
  readonly #ports: UpkeepPorts
  readonly #unsubscribe: () => void
  /** Definitions by name with work under way, and whether to look again after it. */
  readonly #active = new Map<string, { again: boolean }>()
  /** The resource of a leaving definition's instances → its name. */
  readonly #leaving = new Map<string, string>()
  readonly #timers = new Set<() => void>()
  #work: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(ports: UpkeepPorts) {
    this.#ports = ports
    this.#unsubscribe = ports.store.subscribe((events) => events.forEach((event) => this.#note(event)))
    const found = ports.store.scan({ resource: definitionResource, limit: Number.MAX_SAFE_INTEGER })
    for (const { name, document } of found) this.#consider(name, document.value as unknown as Definition)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#unsubscribe()
    for (const cancel of this.#timers) cancel()
    await this.#work
  }

  #note({ type, resource, name, document }: StoreEvent): void {
    if (resource === definitionResource && type !== 'delete')
      this.#consider(name, document.value as unknown as Definition)
    if (resource === definitionResource && type === 'delete') this.#follow(this.#acceptOthers())
    const definition = type === 'delete' ? this.#leaving.get(resource) : undefined
    if (definition !== undefined) this.#start(definition)
  }

  #consider(name: string, { metadata }: Definition): void {
    if (metadata.deletionTimestamp === undefined || !metadata.finalizers?.includes(cleanupFinalizer)) return
    this.#leaving.set(name, name)
    this.#start(name)
  }

  #start(name: string): void {
    const active = this.#active.get(name)
    if (active) {
      active.again = true
      return
    }
    this.#active.set(name, { again: false })
    this.#follow(this.#clean(name))
  }

  /** Remembers work under way, so that closing can wait for it. */
  #follow(work: Promise<void>): void {
    const before = this.#work
    this.#work = work.then(() => before)
  }

  /** Names that have become free may be what another definition waits for: any write makes it ask again. */
  async #acceptOthers(): Promise<void> {
    const { store, objects, kinds, clock, onError } = this.#ports
    await clock.breathe()
    const type = kinds.ofResource(definitionResource)
    if (!type) return
    const all = store.scan({ resource: definitionResource, limit: Number.MAX_SAFE_INTEGER })
    const refused = all.filter(({ document }) => !isTrue(document.value as unknown as Definition, 'NamesAccepted'))
    for (const { name } of refused)
      await objects
        .patch({ type, name, patchType: 'merge', body: {}, user: systemUser, fieldManager: 'sojourn' })
        .catch((error: unknown) => onError?.(error))
  }

  async #clean(name: string): Promise<void> {
    try {
      await this.#empty(name)
    } catch (error) {
      this.#ports.onError?.(error)
      this.#retry(name)
    }
    const again = this.#active.get(name)?.again ?? false
    this.#active.delete(name)
    if (again && !this.#isClosed) this.#start(name)
  }

  async #empty(name: string): Promise<void> {
    const { store, objects, kinds, clock } = this.#ports
    // The subscribers of one batch are told one after the other; kinds may be among those still to come.
    await clock.breathe()
    const type = kinds.ofDefinition(name)
    if (type && store.count({ resource: type.resource }) > 0) {
      const { items } = await objects.deleteCollection({ type, user: systemUser })
      for await (const _ of items);
      // What its finalizers hold comes back as a delete event of its own.
      if (store.count({ resource: type.resource }) > 0) return
    }
    await this.#release(name)
  }

  async #release(name: string): Promise<void> {
    const { objects, kinds, store } = this.#ports
    const record = store.get({ resource: definitionResource, namespace: '', name })
    const type = kinds.ofResource(definitionResource)
    if (!record || !type) return
    const { finalizers = [], resourceVersion } = record.document.value.metadata
    const remaining = finalizers.filter((finalizer) => finalizer !== cleanupFinalizer)
    const body = { metadata: { resourceVersion, finalizers: remaining.length > 0 ? remaining : null } }
    await objects
      .patch({ type, name, patchType: 'merge', body, user: systemUser, fieldManager: 'sojourn' })
      .catch(ignoring('NotFound'))
    this.#leaving.delete(name)
  }

  #retry(name: string): void {
    if (this.#isClosed) return
    const cancel = this.#ports.clock.after(retryMs, () => {
      this.#timers.delete(cancel)
      this.#start(name)
    })
    this.#timers.add(cancel)
  }
}
