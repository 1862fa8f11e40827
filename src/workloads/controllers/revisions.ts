import { controllerRevisions } from '../../kube/core-types.ts'
import type { Key } from '../../kube/key.ts'
import type { KubeObject, ResourceType, StoredObject } from '../../kube/object.ts'
import type { Informer } from '../../runtime/cache/informer.ts'
import type { Controller } from '../../runtime/controller/controller.ts'
import { templateHash } from './deployments.ts'
import { Claims } from '../adoption.ts'
import { createNew, type WorkloadPorts } from '../ports.ts'
import { deleteOwned } from '../delete.ts'
import { controllerRef, type PodTemplate, type Workload } from '../types.ts'

/** One template of a StatefulSet or DaemonSet: what `kubectl rollout history` lists and `undo` restores. */
export interface Revision extends StoredObject {
  readonly revision: number
  readonly data: { readonly spec: { readonly template: PodTemplate & { readonly $patch?: string } } }
}

/** On Pods: the revision they were created from. */
export const revisionLabel = 'controller-revision-hash'

/** The name of the revision of a set's current template. */
export function revisionName(set: Workload): string {
  return `${set.metadata.name}-${templateHash(set.spec.template)}`
}

/** Records the templates of StatefulSets or DaemonSets as ControllerRevisions. */
export class RevisionHistory {
  readonly #client: WorkloadPorts['client']
  readonly #type: ResourceType
  readonly informer: Informer<Revision>
  readonly #claims: Claims<Workload, Revision>

  constructor(
    { client, informers }: Pick<WorkloadPorts, 'client' | 'informers'>,
    ownerType: ResourceType,
    { controller, owners }: { readonly controller: Controller; readonly owners: Informer<Workload> },
  ) {
    this.#client = client
    this.#type = ownerType
    this.#claims = new Claims({ client, informers, controller, ownerType, owners, type: controllerRevisions })
    this.informer = this.#claims.dependents
  }

  of(set: Workload): readonly Revision[] {
    return this.informer.byIndex('controller', set.metadata.uid)
  }

  /** The template of a revision by its name; undefined when the revision was pruned. */
  templateOf(set: Workload, name: string | undefined): PodTemplate | undefined {
    const found = this.of(set).find(({ metadata }) => metadata.name === name)
    if (!found) return undefined
    const { $patch: _, ...template } = found.data.spec.template
    return template
  }

  /** Records the current template as the newest revision, and prunes old ones that no Pod uses. */
  async record(key: Key, set: Workload, inUse: ReadonlySet<string>): Promise<void> {
    const all = await this.#claims.of(set)
    const name = revisionName(set)
    const current = all.find(({ metadata }) => metadata.name === name)
    const newest = Math.max(0, ...all.map(({ revision }) => revision))
    await this.#prune(set, all, new Set([...inUse, name]))
    if (current?.revision === newest) return
    this.#claims.expect(key, await this.#write(set, current, newest + 1))
  }

  #write(set: Workload, current: Revision | undefined, revision: number): Promise<StoredObject | undefined> {
    if (!current) return createNew(this.#client, controllerRevisions, this.#revisionOf(set, revision))
    const { name, namespace = '', resourceVersion } = current.metadata
    const body = { metadata: { resourceVersion }, revision }
    return this.#client.merge<StoredObject>(controllerRevisions, { namespace, name }, body)
  }

  async #prune(set: Workload, all: readonly Revision[], inUse: ReadonlySet<string>): Promise<void> {
    const { revisionHistoryLimit = 10 } = set.spec as { revisionHistoryLimit?: number }
    const unused = all
      .filter(({ metadata }) => !inUse.has(metadata.name) && !metadata.deletionTimestamp)
      .toSorted((left, right) => right.revision - left.revision)
    for (const revision of unused.slice(revisionHistoryLimit))
      await deleteOwned(this.#client, controllerRevisions, revision)
  }

  #revisionOf(set: Workload, revision: number): KubeObject {
    const { template } = set.spec
    return {
      apiVersion: 'apps/v1',
      kind: 'ControllerRevision',
      metadata: {
        name: revisionName(set),
        namespace: set.metadata.namespace ?? '',
        labels: { ...template.metadata?.labels, [revisionLabel]: templateHash(template) },
        ownerReferences: [controllerRef(this.#type, set)],
      },
      // kubectl rollout undo sends this as a patch; clients compare its text with a template as Go writes it.
      data: inKeyOrder({ spec: { template: { ...template, $patch: 'replace' } } }),
      revision,
    }
  }
}

function inKeyOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inKeyOrder)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1))
  return Object.fromEntries(entries.map(([key, each]) => [key, inKeyOrder(each)]))
}
