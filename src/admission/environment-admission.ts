import { environmentClass as classKind, type EnvironmentClass } from '../apis/environment-class.ts'
import { environment as environmentKind, type Environment } from '../apis/environment.ts'
import type { AdmissionHook, Review } from '../apiserver/objects/contract/admission.ts'
import type { Client } from '../client/client.ts'
import type { KubeObject } from '../kube/object.ts'
import { matches } from '../kube/selector.ts'
import { StatusError } from '../kube/status-error.ts'
import type { Informer } from '../runtime/cache/informer.ts'
import type { Informers } from '../runtime/cache/informers.ts'
import type { Clock } from '../runtime/time/clock.ts'
import { claimedOwner, countedIn, refusalOfOneMore } from '../systems/environments/decision/limits.ts'
import { isExempt, readClass } from '../systems/environments/decision/rules.ts'

/** Keeps the limits of classes on the embedded server, and one Environment per Namespace. */
export class EnvironmentAdmission {
  readonly #clock: Clock
  #classes: Informer<EnvironmentClass> | undefined
  #environments: Informer<Environment> | undefined
  /** Namespaces that were admitted and have no Environment in the cache yet, by name, with their class and owner. */
  readonly #admitted = new Map<string, Environment>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Watches classes and environments. Until this resolves nothing is refused: call it before the server listens. */
  async follow(informers: Informers, client: Client): Promise<void> {
    this.#classes = informers.open<EnvironmentClass>(client, classKind.type)
    this.#environments = informers.open<Environment>(client, environmentKind.type, {
      indexes: { class: ({ spec }) => [spec.className], namespace: ({ metadata }) => [metadata.namespace ?? ''] },
    })
    await Promise.all([this.#classes.whenSynced(), this.#environments.whenSynced()])
  }

  readonly hook: AdmissionHook = {
    validate: (review) => {
      const { type, operation, subresource, object } = review
      if (operation === 'DELETE' || subresource !== '' || !object) return
      if (type.kind === 'Namespace' && type.group === '') this.#validateNamespace(review, object)
      if (operation === 'CREATE' && type.kind === environmentKind.kind && type.group === environmentKind.group)
        this.#validateEnvironment(review, object as unknown as Environment)
    },
  }

  #validateNamespace(review: Review, object: KubeObject): void {
    const { old } = review
    const found = this.#classFor(object)
    if (!found || (old && this.#classFor(old)?.metadata.name === found.metadata.name)) return
    const { annotation = 'sojourn.dev/owner', default: fallback } = found.spec.owner ?? {}
    this.#admit(review, { found, namespace: review.name, owner: object.metadata.annotations?.[annotation] ?? fallback })
  }

  #validateEnvironment(review: Review, object: Environment): void {
    const { namespace, name } = review
    const [other] = this.#environments?.byIndex('namespace', namespace) ?? []
    if (other && other.metadata.name !== name)
      throw refused(
        review,
        `Namespace ${namespace} has the Environment ${other.metadata.name} already, and may have one`,
      )
    const found = this.#classes?.get('', object.spec.className)
    if (found && !this.#admitted.has(namespace) && !other)
      this.#admit(review, { found, namespace, owner: claimedOwner(object) })
  }

  #admit(
    review: Review,
    {
      found,
      namespace,
      owner,
    }: { readonly found: EnvironmentClass; readonly namespace: string; readonly owner: string | undefined },
  ): void {
    const className = found.metadata.name
    const namespaceOf = (name: string) =>
      review.view.get({ resource: 'namespaces', namespace: '', name })?.document.value
    const { selector } = readClass(found.spec).rules
    const stored = countedIn(found, selector, this.#environments?.byIndex('class', className) ?? [], namespaceOf)
    const all = [...stored, ...this.#pending(review, className)]
    const refusal = refusalOfOneMore(
      found,
      all.filter(({ metadata }) => metadata.namespace !== namespace),
      { owner, now: this.#clock.now() },
    )
    if (refusal !== undefined) throw refused(review, refusal)
    if (review.isDryRun) return
    const metadata = { name: namespace, namespace, uid: '', resourceVersion: '', creationTimestamp: '' }
    const { apiVersion, kind } = environmentKind
    this.#admitted.set(namespace, {
      apiVersion,
      kind,
      metadata,
      spec: { className },
      status: owner === undefined ? {} : { owner },
    })
  }

  /** Writes are one transaction each: what was admitted and is stored counts, however late the caches are. */
  #pending({ view }: Review, className: string): readonly Environment[] {
    for (const namespace of this.#admitted.keys()) {
      const isStored = view.get({ resource: 'namespaces', namespace: '', name: namespace }) !== undefined
      const isCached = (this.#environments?.byIndex('namespace', namespace).length ?? 0) > 0
      if (!isStored || isCached) this.#admitted.delete(namespace)
    }
    return [...this.#admitted.values()].filter(({ spec }) => spec.className === className)
  }

  #classFor({ metadata }: KubeObject): EnvironmentClass | undefined {
    if (isExempt(metadata.name ?? '') || metadata.annotations?.['sojourn.dev/environment'] === 'false') return undefined
    const found = (this.#classes?.list() ?? []).filter(({ spec }) => {
      const { selector } = readClass(spec).rules
      return selector.length > 0 && matches(selector, metadata.labels)
    })
    return found.toSorted(({ metadata: left }, { metadata: right }) =>
      `${left.creationTimestamp} ${left.name}` < `${right.creationTimestamp} ${right.name}` ? -1 : 1,
    )[0]
  }
}

function refused({ type, name }: Review, message: string): StatusError {
  return new StatusError('Forbidden', `${type.plural} "${name}" is forbidden: ${message}`, {
    details: { name, kind: type.plural, group: type.group },
  })
}
