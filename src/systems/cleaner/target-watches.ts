import type { Client } from '../../client/client.ts'
import { keyFromString, keyToString, type Key } from '../../kube/key.ts'
import type { ResourceType } from '../../kube/object.ts'
import { formatSelector, matches, type Requirement } from '../../kube/selector.ts'
import type { Change, Informer } from '../../runtime/cache/informer.ts'
import type { Informers } from '../../runtime/cache/informers.ts'
import type { Target } from './decision/model.ts'

/** What one Cleaner wants to be told of, in one namespace of one type. */
export interface Interest {
  readonly type: ResourceType
  readonly namespace: string
  readonly select: Target['select']
}

/** Watches of whatever kinds Cleaners look at, started and ended at run time, with the way back from an object to its Cleaners. */
export class TargetWatches {
  readonly #ports: { readonly client: Client; readonly informers: Informers }
  readonly #onChange: (key: Key) => void
  /** By `plural.group/version`; each is open exactly while some Cleaner is interested. */
  readonly #watches = new Map<string, Watch>()
  /** The interests of each Cleaner, as registered in the watches. */
  readonly #interests = new Map<string, readonly Interest[]>()

  constructor(ports: { readonly client: Client; readonly informers: Informers }, onChange: (key: Key) => void) {
    this.#ports = ports
    this.#onChange = onChange
  }

  /** Replaces what a Cleaner is interested in; nothing ends its watches. */
  set(key: Key, interests: readonly Interest[]): void {
    const user = keyToString(key)
    const before = this.#interests.get(user) ?? []
    // New ones first, so that a watch both need is never closed in between.
    for (const interest of interests) this.#watchOf(interest.type).add(user, interest)
    for (const interest of before) if (!interests.some((kept) => isSame(kept, interest))) this.#remove(user, interest)
    if (interests.length > 0) this.#interests.set(user, interests)
    else this.#interests.delete(user)
  }

  /** The cache of a type that some Cleaner is interested in. */
  informer(type: ResourceType): Informer | undefined {
    return this.#watches.get(typeName(type))?.informer
  }

  close(): void {
    for (const watch of this.#watches.values()) watch.close()
    this.#watches.clear()
    this.#interests.clear()
  }

  #watchOf(type: ResourceType): Watch {
    const known = this.#watches.get(typeName(type))
    if (known) return known
    const watch = new Watch(this.#ports.informers.open(this.#ports.client, type), (user) =>
      this.#onChange(keyFromString(user)),
    )
    this.#watches.set(typeName(type), watch)
    return watch
  }

  #remove(user: string, interest: Interest): void {
    const watch = this.#watches.get(typeName(interest.type))
    if (!watch?.remove(user, interest)) return
    watch.close()
    this.#watches.delete(typeName(interest.type))
  }
}

interface LabelInterest {
  readonly user: string
  readonly requirements: readonly Requirement[]
  /** The requirements as text: what tells two interests of a user apart. */
  readonly selector: string
}

/** One type's cache and who cares about which of its objects. */
class Watch {
  readonly informer: Informer
  readonly #tell: (user: string) => void
  /** Who named an object, by `namespace/name`. */
  readonly #byName = new Map<string, Set<string>>()
  /** Who selects by labels, by namespace: the same user may do so more than once. */
  readonly #byLabels = new Map<string, LabelInterest[]>()
  #users = 0

  constructor(informer: Informer, tell: (user: string) => void) {
    this.informer = informer
    this.#tell = tell
    informer.subscribe((change) => !change.initial && this.#notice(change))
    informer.onTrouble(() => this.#tellAll())
    // Whoever asked before the cache was filled asks again.
    informer.whenSynced().then(
      () => this.#tellAll(),
      () => {},
    )
  }

  add(user: string, { namespace, select }: Interest): void {
    if (this.#has(user, namespace, select)) return
    this.#users++
    if (select.by === 'name') {
      const at = `${namespace}/${select.name}`
      this.#byName.set(at, (this.#byName.get(at) ?? new Set()).add(user))
    } else {
      const list = this.#byLabels.get(namespace) ?? []
      list.push({ user, requirements: select.requirements, selector: formatSelector(select.requirements) })
      this.#byLabels.set(namespace, list)
    }
  }

  /** Whether that was the last interest. */
  remove(user: string, { namespace, select }: Interest): boolean {
    if (!this.#has(user, namespace, select)) return this.#users === 0
    this.#users--
    if (select.by === 'name') {
      const at = `${namespace}/${select.name}`
      const users = this.#byName.get(at)
      users?.delete(user)
      if (users?.size === 0) this.#byName.delete(at)
    } else {
      const list = this.#byLabels.get(namespace) ?? []
      const kept = list.filter((entry) => entry.user !== user || entry.selector !== formatSelector(select.requirements))
      if (kept.length > 0) this.#byLabels.set(namespace, kept)
      else this.#byLabels.delete(namespace)
    }
    return this.#users === 0
  }

  close(): void {
    this.informer.close()
  }

  #has(user: string, namespace: string, select: Interest['select']): boolean {
    if (select.by === 'name') return this.#byName.get(`${namespace}/${select.name}`)?.has(user) ?? false
    return (this.#byLabels.get(namespace) ?? []).some(
      (entry) => entry.user === user && entry.selector === formatSelector(select.requirements),
    )
  }

  /** Tells those who named it, and those whose selector it matches now or matched before: leaving counts as a change too. */
  #notice({ object, previous }: Change): void {
    const { namespace = '', name, labels } = object.metadata
    for (const user of this.#byName.get(`${namespace}/${name}`) ?? []) this.#tell(user)
    for (const { user, requirements } of this.#byLabels.get(namespace) ?? []) {
      if (matches(requirements, labels) || (previous && matches(requirements, previous.metadata.labels)))
        this.#tell(user)
    }
  }

  #tellAll(): void {
    const users = new Set([...this.#byName.values()].flatMap((set) => [...set]))
    for (const list of this.#byLabels.values()) for (const { user } of list) users.add(user)
    for (const user of users) this.#tell(user)
  }
}

function typeName({ plural, group, version }: ResourceType): string {
  return `${plural}.${group}/${version}`
}

function isSame(left: Interest, right: Interest): boolean {
  if (typeName(left.type) !== typeName(right.type) || left.namespace !== right.namespace) return false
  if (left.select.by === 'name' || right.select.by === 'name') {
    return left.select.by === 'name' && right.select.by === 'name' && left.select.name === right.select.name
  }
  return formatSelector(left.select.requirements) === formatSelector(right.select.requirements)
}
