import type { StoredObject } from '../../kube/object.ts'
import { ignoring } from '../../kube/status-error.ts'
import { formatTime } from '../../kube/time.ts'
import type { ServedKind } from '../kinds/contract/served-kind.ts'
import { KeyedLoop } from '../objects/upkeep/keyed-loop.ts'
import { builtin, asSystem, type LifecycleController, type LifecyclePorts } from './ports.ts'

const finalizer = 'kubernetes'

/** Deletes the contents of terminating namespaces, then removes their finalizer. */
export class NamespaceDeleter implements LifecycleController {
  readonly #ports: LifecyclePorts
  readonly #loop: KeyedLoop
  readonly #unsubscribe: () => void
  /** Uids of namespaces for which `beforeEmptying` has succeeded. */
  readonly #mayEmpty = new Set<string>()

  constructor(ports: LifecyclePorts) {
    this.#ports = ports
    this.#loop = new KeyedLoop({
      clock: ports.clock,
      work: (name) => this.#reconcile(name),
      onError: (error, key) => ports.onError(error, 'namespace-deleter', key),
    })
    this.#unsubscribe = ports.store.subscribe((events) => {
      for (const { resource, namespace, name, type } of events) {
        if (resource === 'namespaces') this.#loop.add(name)
        // This may have been the last object of the namespace.
        else if (type === 'delete' && namespace && this.#isTerminating(namespace)) this.#loop.add(namespace)
      }
    })
    for (const { name } of ports.store.scan({ resource: 'namespaces', limit: Number.MAX_SAFE_INTEGER }))
      this.#loop.add(name)
  }

  close(): Promise<void> {
    this.#unsubscribe()
    return this.#loop.close()
  }

  async #reconcile(name: string): Promise<void> {
    const namespace = this.#get(name)
    if (!namespace?.metadata.deletionTimestamp || !finalizersOf(namespace).includes(finalizer)) return
    await this.#runBeforeEmptying(namespace)
    const contents = this.#contents(name)
    for (const type of contents) await this.#empty(type, name)
    const remaining = contents.filter(({ resource }) => this.#count(resource, name) > 0)
    if (remaining.length > 0) return this.#reportRemaining(namespace, remaining)
    await this.#removeFinalizer(namespace)
    this.#mayEmpty.delete(namespace.metadata.uid)
  }

  /**
   * Runs `beforeEmptying` until it succeeds once. On failure, a condition on the namespace says why nothing is
   * deleted yet.
   */
  async #runBeforeEmptying(namespace: StoredObject): Promise<void> {
    const { uid } = namespace.metadata
    if (this.#mayEmpty.has(uid)) return
    try {
      await this.#ports.beforeEmptying(namespace)
      this.#mayEmpty.add(uid)
    } catch (error) {
      await this.#setCondition(namespace, {
        type: 'NamespaceDeletionContentFailure',
        reason: 'ContentDeletionFailed',
        message: `nothing in it is deleted yet: ${error instanceof Error ? error.message : String(error)}`,
      })
      throw error
    }
  }

  /** One kind for each namespaced resource that has objects in the namespace. */
  #contents(namespace: string): readonly ServedKind[] {
    const types = new Map<string, ServedKind>()
    for (const type of this.#ports.kinds.all()) {
      if (!type.namespaced || !type.verbs.includes('deletecollection') || types.has(type.resource)) continue
      if (this.#count(type.resource, namespace) > 0) types.set(type.resource, type)
    }
    return [...types.values()]
  }

  async #empty(type: ServedKind, namespace: string): Promise<void> {
    const { items } = await this.#ports.objects.deleteCollection({
      type,
      namespace,
      ...asSystem,
      query: { propagationPolicy: 'Background' },
    })
    // The deletes happen while the list is consumed.
    for await (const _ of items);
  }

  async #removeFinalizer(namespace: StoredObject): Promise<void> {
    const { objects, kinds } = this.#ports
    const spec = { finalizers: finalizersOf(namespace).filter((entry) => entry !== finalizer) }
    await objects
      .update({
        type: builtin(kinds, '', 'namespaces'),
        name: namespace.metadata.name,
        subresource: 'finalize',
        ...asSystem,
        body: { ...namespace, spec },
      })
      .catch(ignoring('NotFound', 'Conflict'))
  }

  /** Sets a condition that says what remains. The delete of the last object queues the namespace again. */
  async #reportRemaining(namespace: StoredObject, remaining: readonly ServedKind[]): Promise<void> {
    const name = namespace.metadata.name
    const message = `Some resources are remaining: ${remaining
      .map(({ resource }) => `${resource} has ${this.#count(resource, name)} resource instances`)
      .join(', ')}`
    await this.#setCondition(namespace, { type: 'NamespaceContentRemaining', reason: 'SomeResourcesRemain', message })
  }

  async #setCondition(
    namespace: StoredObject,
    { type, reason, message }: Pick<Condition, 'type' | 'reason' | 'message'>,
  ): Promise<void> {
    const { objects, kinds, clock } = this.#ports
    const { name } = namespace.metadata
    const known = (namespace.status as { conditions?: readonly Condition[] } | undefined)?.conditions ?? []
    const old = known.find((entry) => entry.type === type)
    if (old?.message === message) return
    const lastTransitionTime = old?.lastTransitionTime ?? formatTime(clock.now())
    const condition: Condition = { type, status: 'True', reason, message, lastTransitionTime }
    await objects
      .patch({
        type: builtin(kinds, '', 'namespaces'),
        name,
        subresource: 'status',
        ...asSystem,
        patchType: 'merge',
        body: { status: { conditions: [...known.filter((entry) => entry !== old), condition] } },
      })
      .catch(ignoring('NotFound', 'Conflict'))
  }

  #get(name: string): StoredObject | undefined {
    return this.#ports.store.get({ resource: 'namespaces', namespace: '', name })?.document.object
  }

  #isTerminating(name: string): boolean {
    return this.#get(name)?.metadata.deletionTimestamp !== undefined
  }

  #count(resource: string, namespace: string): number {
    return this.#ports.store.count({ resource, namespace })
  }
}

interface Condition {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
  readonly lastTransitionTime: string
}

function finalizersOf({ spec }: StoredObject): readonly string[] {
  return (spec as { finalizers?: readonly string[] } | undefined)?.finalizers ?? []
}
