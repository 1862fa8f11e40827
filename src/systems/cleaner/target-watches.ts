import type { Client } from '../../client/client.ts'
import { keyFromString, keyToString, type Key } from '../../kube/key.ts'
import type { ResourceType } from '../../kube/object.ts'
import { formatSelector, matches, type Requirement } from '../../kube/selector.ts'
import type { Change, Informer } from '../../runtime/cache/informer.ts'
import type { Informers } from '../../runtime/cache/informers.ts'
import type { Target } from './decision/model.ts'

/** The objects of one type and namespace whose changes enqueue a Cleaner. */
export interface Interest {
  readonly type: ResourceType
  readonly namespace: string
  readonly select: Target['select']
}

/** Watches the types that Cleaners evaluate, opened and closed as needed, and maps each changed object back to its Cleaners. */
export class TargetWatches {
  readonly #ports: { readonly client: Client; readonly informers: Informers }
  readonly #onChange: (key: Key) => void
  /** By `plural.group/version`; each is open exactly while a Cleaner is interested in its type. */
  readonly #watches = new Map<string, Watch>()
  /** The interests of each Cleaner, as registered in the watches. */
  readonly #interests = new Map<string, readonly Interest[]>()

  constructor(ports: { readonly client: Client; readonly informers: Informers }, onChange: (key: Key) => void) {
    this.#ports = ports
    this.#onChange = onChange
  }

  /** Replaces the interests of a Cleaner; an empty list ends its watches. */
  set(key: Key, interests: readonly Interest[]): void {
    const cleaner = keyToString(key)
    const before = this.#interests.get(cleaner) ?? []
    // New interests first, so that a watch that old and new ones share is not closed in between.
    for (const interest of interests) this.#watchOf(interest.type).add(cleaner, interest)
    for (const interest of before)
      if (!interests.some((kept) => isSame(kept, interest))) this.#remove(cleaner, interest)
    if (interests.length > 0) this.#interests.set(cleaner, interests)
    else this.#interests.delete(cleaner)
  }

  /** The cache of a type; undefined when no Cleaner is interested in it. */
  informer(type: ResourceType): Informer | undefined {
    return this.#watches.get(typeName(type))?.informer
  }

  close(): void {
    for (const watch of this.#watches.values()) watch.close()
    this.#watches.clear()
    this.#interests.clear()
  }

  #watchOf(type: ResourceType): Watch {
    const { informers, client } = this.#ports
    const open = () => new Watch(informers.open(client, type), (cleaner) => this.#onChange(keyFromString(cleaner)))
    return this.#watches.getOrInsertComputed(typeName(type), open)
  }

  #remove(cleaner: string, interest: Interest): void {
    const watch = this.#watches.get(typeName(interest.type))
    if (!watch?.remove(cleaner, interest)) return
    watch.close()
    this.#watches.delete(typeName(interest.type))
  }
}

interface LabelInterest {
  readonly cleaner: string
  readonly requirements: readonly Requirement[]
  /** The requirements as text, by which two interests are compared. */
  readonly selector: string
}

/** The cache of one type, and which Cleaners are interested in which of its objects. */
class Watch {
  readonly informer: Informer
  readonly #notify: (cleaner: string) => void
  /** Cleaners that name an object, by `namespace/name`. */
  readonly #byName = new Map<string, Set<string>>()
  /** Cleaners that select by labels, by namespace. One Cleaner may have several entries. */
  readonly #byLabels = new Map<string, LabelInterest[]>()
  #interests = 0

  constructor(informer: Informer, notify: (cleaner: string) => void) {
    this.informer = informer
    this.#notify = notify
    informer.subscribe((change) => !change.initial && this.#notifyOf(change))
    informer.onError(() => this.#notifyAll())
    // Cleaners reconciled before the cache was synced settled without a decision.
    informer.whenSynced().then(
      () => this.#notifyAll(),
      () => {},
    )
  }

  add(cleaner: string, { namespace, select }: Interest): void {
    if (this.#has(cleaner, namespace, select)) return
    this.#interests++
    if (select.by === 'name') {
      const at = `${namespace}/${select.name}`
      this.#byName.getOrInsertComputed(at, () => new Set()).add(cleaner)
    } else {
      const list = this.#byLabels.getOrInsert(namespace, [])
      list.push({ cleaner, requirements: select.requirements, selector: formatSelector(select.requirements) })
    }
  }

  /** Removes an interest; true when none is left. */
  remove(cleaner: string, { namespace, select }: Interest): boolean {
    if (!this.#has(cleaner, namespace, select)) return this.#interests === 0
    this.#interests--
    if (select.by === 'name') {
      const at = `${namespace}/${select.name}`
      const cleaners = this.#byName.get(at)
      cleaners?.delete(cleaner)
      if (cleaners?.size === 0) this.#byName.delete(at)
    } else {
      const list = this.#byLabels.get(namespace) ?? []
      const kept = list.filter(
        (entry) => entry.cleaner !== cleaner || entry.selector !== formatSelector(select.requirements),
      )
      if (kept.length > 0) this.#byLabels.set(namespace, kept)
      else this.#byLabels.delete(namespace)
    }
    return this.#interests === 0
  }

  close(): void {
    this.informer.close()
  }

  #has(cleaner: string, namespace: string, select: Interest['select']): boolean {
    if (select.by === 'name') return this.#byName.get(`${namespace}/${select.name}`)?.has(cleaner) ?? false
    return (this.#byLabels.get(namespace) ?? []).some(
      (entry) => entry.cleaner === cleaner && entry.selector === formatSelector(select.requirements),
    )
  }

  /** Notifies the Cleaners that name the object, and those whose selector matches it now or matched it before. */
  #notifyOf({ object, previous }: Change): void {
    const { namespace = '', name, labels } = object.metadata
    for (const cleaner of this.#byName.get(`${namespace}/${name}`) ?? []) this.#notify(cleaner)
    for (const { cleaner, requirements } of this.#byLabels.get(namespace) ?? []) {
      if (matches(requirements, labels) || (previous && matches(requirements, previous.metadata.labels)))
        this.#notify(cleaner)
    }
  }

  #notifyAll(): void {
    const cleaners = new Set([...this.#byName.values()].flatMap((set) => [...set]))
    for (const list of this.#byLabels.values()) for (const { cleaner } of list) cleaners.add(cleaner)
    for (const cleaner of cleaners) this.#notify(cleaner)
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
