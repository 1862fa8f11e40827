import { environmentClass as classKind, type EnvironmentClass } from '../apis/environment-class.ts'
import { environment as environmentKind, type Environment } from '../apis/environment.ts'
import type { AdmissionHook, Review } from '../apiserver/objects/contract/admission.ts'
import { forbidden } from '../apiserver/objects/contract/failures.ts'
import type { Client } from '../client/client.ts'
import { BoundedMap } from '../kube/basics/bounded-map.ts'
import { namespaces } from '../kube/core-types.ts'
import { oldestOf, type KubeObject, type StoredObject } from '../kube/object.ts'
import { matches } from '../kube/selector.ts'
import { formatAge, formatTime } from '../kube/time.ts'
import type { Informer } from '../runtime/cache/informer.ts'
import type { Informers } from '../runtime/cache/informers.ts'
import type { Clock } from '../runtime/time/clock.ts'
import {
  byLastUse,
  claimedOwner,
  countedIn,
  groupsIn,
  isOldEnough,
  usedAt,
} from '../systems/environments/decision/limits.ts'
import { isExempt, readClass } from '../systems/environments/decision/rules.ts'

/** A request to the API, as far as environments are concerned: on the embedded server, or as a cluster asks its webhook. */
export interface Write extends Pick<Review, 'namespace' | 'name' | 'subresource' | 'object' | 'old' | 'isDryRun'> {
  readonly operation: string
  readonly type: { readonly kind: string; readonly group: string; readonly plural: string }
  /** The store inside the transaction of the write, where there is one. */
  readonly view?: Review['view']
}

/** How often an exec is written as the last use of an environment. */
const execPauseMs = 300_000
const connections = new Set(['exec', 'attach', 'portforward'])

/** Keeps the limits of classes and one Environment per Namespace, and sees who connects to the Pods of environments. */
export class EnvironmentAdmission {
  readonly #clock: Clock
  #client: Client | undefined
  #classes: Informer<EnvironmentClass> | undefined
  #environments: Informer<Environment> | undefined
  #namespaces: Informer | undefined
  /** Namespaces that were admitted and have no Environment in the cache yet, by name, with their class and owner. */
  readonly #admitted = new Map<string, Environment>()
  /** When a connection to a Pod of a Namespace was last written. */
  readonly #connectedAt = new BoundedMap<string, number>(10_000)

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Watches classes and environments. Until this resolves nothing is refused: call it before the server listens. */
  async follow(informers: Informers, client: Client): Promise<void> {
    this.#client = client
    this.#classes = informers.open<EnvironmentClass>(client, classKind.type)
    this.#environments = informers.open<Environment>(client, environmentKind.type, {
      indexes: { class: ({ spec }) => [spec.className], namespace: ({ metadata }) => [metadata.namespace ?? ''] },
    })
    this.#namespaces = informers.open(client, namespaces)
    await Promise.all([this.#classes, this.#environments, this.#namespaces].map((each) => each.whenSynced()))
  }

  readonly hook: AdmissionHook = { validate: (review) => this.validate(review) }

  /** Throws when the write would exceed a limit. A connection to a Pod is never refused: it is noted as use. */
  validate(write: Write): void {
    const { type, operation, subresource, object } = write
    if (operation === 'CONNECT' && type.plural === 'pods' && connections.has(subresource)) this.#noteUse(write)
    if (operation === 'DELETE' || subresource !== '' || !object) return
    if (type.kind === 'Namespace' && type.group === '') this.#validateNamespace(write, object)
    if (operation === 'CREATE' && type.kind === environmentKind.kind && type.group === environmentKind.group)
      this.#validateEnvironment(write, object as unknown as Environment)
  }

  /** Writes the use without waiting: no connection is delayed or refused for it. */
  #noteUse({ namespace }: Write): void {
    const self = oldestOf(this.#environments?.byIndex('namespace', namespace) ?? [])
    const now = this.#clock.now()
    if (!self || !this.#classes?.get('', self.spec.className)?.spec.use?.includes('Exec')) return
    if (now < (this.#connectedAt.get(namespace) ?? 0) + execPauseMs) return
    this.#connectedAt.set(namespace, now)
    const body = { status: { lastUsedAt: formatTime(now), lastUsedBy: 'Exec' } }
    const { name } = self.metadata
    this.#client
      ?.merge(environmentKind.type, { namespace, name }, body, { subresource: 'status' })
      .catch(() => this.#connectedAt.set(namespace, 0))
  }

  #validateNamespace(write: Write, object: KubeObject): void {
    const { old } = write
    const found = this.#classFor(object)
    if (!found || (old && this.#classFor(old)?.metadata.name === found.metadata.name)) return
    this.#admit(write, { found, namespace: write.name, owner: namedOwner(found, object) })
  }

  #validateEnvironment(write: Write, object: Environment): void {
    const { namespace, name } = write
    const [other] = this.#environments?.byIndex('namespace', namespace) ?? []
    if (other && other.metadata.name !== name)
      throw forbidden(
        write.type,
        name,
        `Namespace ${namespace} has the Environment ${other.metadata.name} already, and may have one`,
      )
    const found = this.#classes?.get('', object.spec.className)
    // A Namespace that the class selects was counted when it came; one that was missed is reported as LimitExceeded.
    const home = this.#namespaceOf(write, namespace)
    const isCounted = this.#admitted.has(namespace) || (home !== undefined && this.#classFor(home) === found)
    if (found && !other && !isCounted) this.#admit(write, { found, namespace, owner: claimedOwner(object) })
  }

  #admit(
    write: Write,
    {
      found,
      namespace,
      owner,
    }: { readonly found: EnvironmentClass; readonly namespace: string; readonly owner: string | undefined },
  ): void {
    const className = found.metadata.name
    const now = this.#clock.now()
    const { selector } = readClass(found.spec).rules
    const known = this.#environments?.byIndex('class', className) ?? []
    const stored = countedIn(found, selector, known, (name) => this.#namespaceOf(write, name))
    const coming = write.view ? this.#pending(write.view, className) : this.#unclaimed(found)
    const others = [...stored, ...coming].filter(({ metadata }) => metadata.namespace !== namespace)
    const refusal = refusalOfOneMore(found, others, { owner, now })
    if (refusal !== undefined) throw forbidden(write.type, write.name, refusal)
    if (write.view && !write.isDryRun)
      this.#admitted.set(
        namespace,
        environmentOf(found, { name: namespace, creationTimestamp: formatTime(now) }, owner),
      )
  }

  /** Writes are one transaction each: what was admitted and is stored counts, however late the caches are. */
  #pending(view: Review['view'], className: string): readonly Environment[] {
    for (const name of this.#admitted.keys()) {
      const isCached = (this.#environments?.byIndex('namespace', name).length ?? 0) > 0
      if (isCached || !view.get({ resource: 'namespaces', namespace: '', name })) this.#admitted.delete(name)
    }
    return [...this.#admitted.values()].filter(({ spec }) => spec.className === className)
  }

  /**
   * Namespaces of a class that have no Environment yet. A caller that reaches the webhook can send it any review: what counts is what the cluster
   * shows, never what was asked before.
   */
  #unclaimed(found: EnvironmentClass): readonly Environment[] {
    const isNew = (each: StoredObject) =>
      this.#environments?.byIndex('namespace', each.metadata.name).length === 0 && this.#classFor(each) === found
    const all = this.#namespaces?.list().filter(isNew) ?? []
    return all.map((each) => environmentOf(found, each.metadata, namedOwner(found, each)))
  }

  #namespaceOf({ view }: Write, name: string): KubeObject | undefined {
    if (!view) return this.#namespaces?.get('', name)
    return view.get({ resource: 'namespaces', namespace: '', name })?.document.value
  }

  #classFor({ metadata }: KubeObject): EnvironmentClass | undefined {
    if (isExempt(metadata.name ?? '') || metadata.annotations?.['sojourn.dev/environment'] === 'false') return undefined
    const found = (this.#classes?.list() ?? []).filter(({ spec }) => {
      const { selector } = readClass(spec).rules
      return selector.length > 0 && matches(selector, metadata.labels)
    })
    return oldestOf(found)
  }
}

function namedOwner({ spec }: EnvironmentClass, { metadata }: KubeObject): string | undefined {
  return metadata.annotations?.[spec.owner?.annotation ?? 'sojourn.dev/owner'] ?? spec.owner?.default
}

/** The Environment that a Namespace will have. */
function environmentOf(
  { metadata: { name: className } }: EnvironmentClass,
  { name, creationTimestamp }: Pick<StoredObject['metadata'], 'name' | 'creationTimestamp'>,
  owner: string | undefined,
): Environment {
  const { apiVersion, kind } = environmentKind
  const metadata = { name, namespace: name, uid: '', resourceVersion: '', creationTimestamp }
  return { apiVersion, kind, metadata, spec: { className }, status: owner === undefined ? {} : { owner } }
}

/** Why one more environment is refused; undefined when there is room, or one can be made. */
function refusalOfOneMore(
  environmentClass: EnvironmentClass,
  all: readonly Environment[],
  { owner, now }: { readonly owner: string | undefined; readonly now: number },
): string | undefined {
  const full = groupsIn(environmentClass, all).find(
    (group) => group.members.length >= group.max && (group.owner === undefined || group.owner === owner),
  )
  if (!full) return undefined
  const oldest = byLastUse(full.members)
  const mayEvict = environmentClass.spec.limits?.whenFull === 'DeleteLeastRecentlyUsed'
  if (mayEvict && oldest.some((each) => isOldEnough(each, now))) return undefined
  const count = `${full.members.length} of ${full.max} environments ${full.of} exist`
  // Environments of other owners are not named: any tenant may send the request.
  const own = oldest.filter(({ status }) => status?.owner === owner)
  if (own.length === 0)
    return `${count}, all of other owners. An administrator can delete one, or raise limits.max of the class`
  const named = own.slice(0, 3).map((each) => `${each.metadata.namespace} (${formatAge(now - usedAt(each))})`)
  return `${count}; least recently used: ${named.join(', ')}. Delete one: kubectl delete namespace ${own[0]?.metadata.namespace}`
}
