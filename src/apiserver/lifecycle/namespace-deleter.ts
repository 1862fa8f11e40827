import type { StoredObject } from '../../kube/object.ts'
import { setCondition, type Condition } from '../../kube/conditions.ts'
import { ignoring } from '../../kube/status-error.ts'

import { finalizersOf } from '../objects/write/revise-object.ts'
import type { ServedKind } from '../kinds/contract/served-kind.ts'
import { asSystem, builtin, runController, type LifecycleController, type LifecyclePorts } from './ports.ts'

const finalizer = 'kubernetes'

/** Deletes the contents of terminating namespaces, then removes their finalizer. */
export class NamespaceDeleter implements LifecycleController {
  readonly #ports: LifecyclePorts
  readonly close: () => Promise<void>
  /** Uids of namespaces for which `beforeEmptying` has succeeded. */
  readonly #mayEmpty = new Set<string>()

  constructor(ports: LifecyclePorts) {
    this.#ports = ports
    const { close } = runController(ports, 'namespace-deleter', {
      reconcile: (name) => this.#reconcile(name),
      follow: (add) => {
        for (const { name } of ports.store.scan({ resource: 'namespaces', limit: Number.MAX_SAFE_INTEGER })) add(name)
        return ports.store.subscribe((events) => {
          for (const { resource, namespace, name, type } of events) {
            if (resource === 'namespaces') add(name)
            // This may have been the last object of the namespace.
            else if (type === 'delete' && namespace && this.#isTerminating(namespace)) add(namespace)
          }
        })
      },
    })
    this.close = close
  }

  async #reconcile(name: string): Promise<void> {
    const namespace = this.#get(name)
    if (!namespace?.metadata.deletionTimestamp || !finalizersOf(namespace).includes(finalizer)) return
    await this.#runBeforeEmptying(namespace)
    const contents = this.#contents(name)
    // Pods first: what they use, such as a NetworkPolicy or a Secret, must not be deleted while they run.
    const running = contents.filter(({ resource }) => resource === 'pods')
    for (const type of running) await this.#empty(type, name)
    const hasPods = this.#count('pods', name) > 0
    if (!hasPods) for (const type of contents) if (!running.includes(type)) await this.#empty(type, name)
    const remaining = contents.filter(({ resource }) => this.#count(resource, name) > 0)
    if (remaining.length > 0) return this.#reportRemaining(namespace, remaining, hasPods)
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
      const why = error instanceof Error ? error.message : String(error)
      await this.#setConditions(namespace, { NamespaceDeletionContentFailure: `nothing in it is deleted yet: ${why}` })
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

  /** Sets conditions that say what remains. The delete of the last object queues the namespace again. */
  async #reportRemaining(namespace: StoredObject, remaining: readonly ServedKind[], hasPods: boolean): Promise<void> {
    const { name } = namespace.metadata
    const counts = remaining.map(({ resource }) => `${resource} has ${this.#count(resource, name)} resource instances`)
    const records = remaining.flatMap(({ resource }) =>
      this.#ports.store.scan({ resource, namespace: name, limit: 1000 }),
    )
    const finalizers = Map.groupBy(
      records.flatMap(({ document }) => document.object.metadata.finalizers ?? []),
      (each) => each,
    )
    const held = [...finalizers].map(([each, all]) => `${each} in ${all.length} resource instances`).join(', ')
    await this.#setConditions(namespace, {
      NamespaceContentRemaining: `Some resources are remaining: ${counts.join(', ')}`,
      NamespaceFinalizersRemaining: held && `Some content in the namespace has finalizers remaining: ${held}`,
      NamespaceDeletionContentFailure: hasPods && 'Pods are remaining; the rest is deleted after them',
    })
  }

  /** Sets every condition of a terminating namespace: True where a message is given, False otherwise. */
  async #setConditions(namespace: StoredObject, given: Readonly<Record<string, string | false>>): Promise<void> {
    const { objects, kinds, clock } = this.#ports
    const known = (namespace.status as { conditions?: readonly Condition[] } | undefined)?.conditions ?? []
    const conditions = Object.entries(conditionTypes).reduce((all, [type, [fine, why, failed]]) => {
      const message = given[type] || why
      const [status, reason] = given[type] ? (['True', failed] as const) : (['False', fine] as const)
      return setCondition(all, { type, status, reason, message }, clock.now())
    }, known)
    if (conditions === known) return
    const [type, { name }] = [builtin(kinds, '', 'namespaces'), namespace.metadata]
    await objects
      .patch({ type, name, subresource: 'status', ...asSystem, patchType: 'merge', body: { status: { conditions } } })
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

/** Reason and message of each condition while it is False, and its reason while it is True. */
const conditionTypes: Readonly<Record<string, readonly [fine: string, message: string, failed: string]>> = {
  NamespaceDeletionDiscoveryFailure: [
    'ResourcesDiscovered',
    'All resources successfully discovered',
    'DiscoveryFailed',
  ],
  NamespaceDeletionGroupVersionParsingFailure: ['ParsedGroupVersions', 'All legacy kube types successfully parsed', ''],
  NamespaceDeletionContentFailure: [
    'ContentDeleted',
    'All content successfully deleted, may be waiting on finalization',
    'ContentDeletionFailed',
  ],
  NamespaceContentRemaining: ['ContentRemoved', 'All content successfully removed', 'SomeResourcesRemain'],
  NamespaceFinalizersRemaining: [
    'ContentHasNoFinalizers',
    'All content-preserving finalizers finished',
    'SomeFinalizersRemain',
  ],
}
