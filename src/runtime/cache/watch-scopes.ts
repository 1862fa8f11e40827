import type { PolicyRule } from '../../kube/basics/policy-rule.ts'
import { namespaces as namespaceType } from '../../kube/core-types.ts'
import { groupResource, type ResourceType } from '../../kube/object.ts'
import { ignoring } from '../../kube/status-error.ts'
import type { Logger } from '../observability/log.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Clock } from '../time/clock.ts'
import type { ApiReader } from './watch-stream.ts'

/** Where objects of a type may be followed: everywhere, or only in these namespaces. */
export type WatchScope = 'all' | readonly string[]

export interface WatchScopesPorts {
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
}

type Rule = Pick<PolicyRule, 'verbs'> & Partial<PolicyRule>

interface Followed {
  readonly reader: ApiReader
  readonly type: ResourceType
  readonly onScope: (scope: WatchScope) => void
  scope: WatchScope | undefined
  /** Whether the cluster has said so, as far as it was asked last. */
  isKnown: boolean
}

/** Rights change seldom: one review a minute shows whether they have, and only then everything refused is asked again. */
const lookMs = 60_000
/** For rights that such a review does not show, granted by other means than RBAC. */
const anewMs = 600_000
const maxNamespaces = 200
const sayAfterMs = 3000

/** Asks the cluster once what this process may list and watch, so that nothing is asked for that would be refused. */
export class WatchScopes {
  readonly #ports: WatchScopesPorts
  /** Where to look for kinds that may not be followed everywhere; undefined for all namespaces that can be listed. */
  readonly #named: readonly string[] | undefined
  readonly #followed = new Set<Followed>()
  /** The rules of this process in a namespace, by reader, until they are asked for anew. */
  readonly #namespaces = new Map<ApiReader, Promise<readonly string[]>>()
  readonly #rules = new Map<ApiReader, Map<string, Promise<readonly Rule[]>>>()
  /** What the reviews of each reader showed last; first before anything was asked for, so that no grant since then is missed. */
  readonly #seen = new Map<ApiReader, Promise<string | undefined>>()
  #askedAnewAt = 0
  #said = ''
  #stopLooking: (() => void) | undefined
  #stopSaying = () => {}

  constructor(ports: WatchScopesPorts, named?: readonly string[]) {
    this.#ports = ports
    this.#named = named
    const forbidden = ports.metrics.gauge({
      name: 'sojourn_kinds_not_watched',
      help: 'Kinds that this process may not list and watch in every namespace.',
    })
    ports.metrics.onCollect(() => forbidden.set({}, this.#limited().length))
  }

  /** Tells where a type may be followed, now and when that changes. The result ends it. */
  follow(reader: ApiReader, type: ResourceType, onScope: (scope: WatchScope) => void): () => void {
    const followed: Followed = { reader, type, onScope, scope: undefined, isKnown: false }
    this.#followed.add(followed)
    void this.#ask(followed)
    return () => {
      this.#followed.delete(followed)
      if (this.#followed.size === 0) this.#close()
    }
  }

  async #ask(followed: Followed): Promise<void> {
    await this.#seen.getOrInsertComputed(followed.reader, (reader) => this.#rightsOf(reader))
    const found = await this.#scopeOf(followed).catch(() => undefined)
    if (!this.#followed.has(followed)) return
    // While the cluster does not answer, what it said before holds; what it was never asked about is tried.
    const scope = found ?? followed.scope ?? 'all'
    followed.isKnown = found !== undefined
    if (found !== 'all') this.#lookLater()
    if (JSON.stringify(scope) === JSON.stringify(followed.scope)) return
    followed.scope = scope
    followed.onScope(scope)
    if (scope === 'all') return
    this.#stopSaying()
    this.#stopSaying = this.#ports.clock.after(sayAfterMs, () => this.#say())
  }

  async #scopeOf({ reader, type }: Followed): Promise<WatchScope> {
    if (await mayFollow(reader, type)) return 'all'
    if (!type.namespaced) return []
    const scope: string[] = []
    for (const namespace of this.#named ?? (await this.#namespacesOf(reader)))
      if (grants(await this.#rulesIn(reader, namespace), type)) scope.push(namespace)
    return scope
  }

  /** Asked for once, however many kinds need them. */
  #namespacesOf(reader: ApiReader): Promise<readonly string[]> {
    return this.#namespaces.getOrInsertComputed(reader, namespacesOf)
  }

  #rulesIn(reader: ApiReader, namespace: string): Promise<readonly Rule[]> {
    const known = this.#rules.getOrInsertComputed(reader, () => new Map<string, Promise<readonly Rule[]>>())
    return known.getOrInsertComputed(namespace, () => rulesIn(reader, namespace))
  }

  /** Undefined while the cluster does not answer. */
  async #rightsOf(reader: ApiReader): Promise<string | undefined> {
    const rules = (this.#named ?? ['default']).map((each) => rulesIn(reader, each))
    return Promise.all(rules).then(JSON.stringify, () => undefined)
  }

  #lookLater(): void {
    this.#stopLooking ??= this.#ports.clock.after(lookMs, () => {
      const looking = this.#look().finally(() => {
        this.#stopLooking = undefined
        if (this.#unsettled().length > 0) this.#lookLater()
      })
      void looking
    })
  }

  async #look(): Promise<void> {
    const unsettled = this.#unsettled()
    const changed = new Set<ApiReader>()
    for (const reader of new Set(unsettled.map((followed) => followed.reader))) {
      const rights = await this.#rightsOf(reader)
      if (rights === undefined || rights === (await this.#seen.get(reader))) continue
      this.#seen.set(reader, Promise.resolve(rights))
      changed.add(reader)
    }
    const now = this.#ports.clock.monotonic()
    const isDue = now - this.#askedAnewAt >= anewMs
    if (isDue) this.#askedAnewAt = now
    this.#rules.clear()
    this.#namespaces.clear()
    for (const followed of unsettled)
      if (isDue || !followed.isKnown || changed.has(followed.reader)) await this.#ask(followed)
  }

  /** What may come to be followed in more places. */
  #unsettled(): readonly Followed[] {
    return [...this.#followed].filter(({ scope, isKnown }) => scope !== undefined && (scope !== 'all' || !isKnown))
  }

  #limited(): readonly Followed[] {
    return [...this.#followed].filter(({ scope }) => scope !== undefined && scope !== 'all')
  }

  /** One line for all kinds, when it has something new to say. */
  #say(): void {
    const nowhere = this.#limited().filter(({ scope }) => scope?.length === 0)
    const kinds = [...new Set(nowhere.map(({ type }) => groupResource(type)))].toSorted()
    const line = kinds.join(', ')
    if (line === this.#said) return
    this.#said = line
    if (kinds.length > 0)
      this.#ports.log.info('kinds not watched, for want of the right to list and watch them', { kinds: line })
  }

  #close(): void {
    this.#stopLooking?.()
    this.#stopLooking = undefined
    this.#stopSaying()
    this.#seen.clear()
  }
}

async function mayFollow(reader: ApiReader, type: ResourceType): Promise<boolean> {
  for (const verb of ['watch', 'list']) {
    const resourceAttributes = { verb, group: type.group, resource: type.plural }
    const { allowed } = await review<{ allowed?: boolean }>(reader, 'SelfSubjectAccessReview', { resourceAttributes })
    if (!allowed) return false
  }
  return true
}

async function rulesIn(reader: ApiReader, namespace: string): Promise<readonly Rule[]> {
  const status = await review<{ resourceRules?: readonly Rule[] }>(reader, 'SelfSubjectRulesReview', { namespace })
  return status.resourceRules ?? []
}

async function review<S extends object>(reader: ApiReader, kind: string, spec: object): Promise<Partial<S>> {
  const apiVersion = 'authorization.k8s.io/v1'
  const path = `/apis/${apiVersion}/${kind.toLowerCase()}s`
  const { body } = await reader.request({ method: 'POST', path, body: { apiVersion, kind, metadata: {}, spec } })
  return (body as { readonly status?: Partial<S> }).status ?? {}
}

/** All namespaces, or none where they may not be listed: then `--namespaces` has to name them. */
async function namespacesOf(reader: ApiReader): Promise<readonly string[]> {
  const list = await reader.list(namespaceType, { limit: maxNamespaces }).catch(ignoring('Forbidden'))
  return list?.items.map(({ metadata }) => metadata.name) ?? []
}

function grants(rules: readonly Rule[], { group, plural }: ResourceType): boolean {
  const names = (list: readonly string[] | undefined, name: string) => list?.includes('*') || list?.includes(name)
  return ['watch', 'list'].every((verb) =>
    rules.some(
      ({ verbs, apiGroups, resources, resourceNames = [] }) =>
        names(verbs, verb) && names(apiGroups, group) && names(resources, plural) && resourceNames.length === 0,
    ),
  )
}
