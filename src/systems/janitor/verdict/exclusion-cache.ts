import type { KubeObject, StoredObject } from '../../../kube/object.ts'
import type { Resource } from '../model/resource.ts'
import { expiresAt, timeToLiveOf } from '../model/time-to-live.ts'
import type { CompiledPolicy } from '../policy/policy.ts'
import { describe, timelessExclusion, type Verdict } from './judge.ts'
import { protectionCheck, type OptOutFinder } from './protection.ts'

/** A list divided into what has to be judged, and how many more resources stay excluded for now. */
export interface Divided {
  readonly resources: readonly Resource[]
  readonly skipped: number
}

/** A list as of the last cycle, and for each object until when it need not be judged. */
interface KnownList {
  readonly objects: readonly StoredObject[]
  readonly until: Float64Array
}

/** Instead of a time: the policy does not target this object. */
const notTargeted = -1
/** Lists keep their order between cycles: an object is found at its old index or at most this many further. */
const lookahead = 8

/**
 * What a policy knows to be excluded at one location by nothing but the object, the policy and the time. Cycles see the
 * same objects again and again: each version of an object is worked out once, and whole lists are skipped over.
 */
export class ExclusionCache {
  readonly #policy: CompiledPolicy
  readonly #lists = new Map<string, KnownList>()
  /** Null where nothing excludes the object. Two maps: targets of a policy may differ in whether owners shield it. */
  readonly #shielded = new WeakMap<KubeObject, Verdict | null>()
  readonly #unshielded = new WeakMap<KubeObject, Verdict | null>()
  #marked: ReadonlySet<string> = new Set()

  constructor(policy: CompiledPolicy) {
    this.#policy = policy
  }

  /** Records the uids of marked resources, which are never skipped. */
  noteMarks(marked: ReadonlySet<string>): void {
    if ([...marked].some((uid) => !this.#marked.has(uid))) this.#lists.clear()
    this.#marked = marked
  }

  /** The verdict on a resource that is excluded at any time; undefined where it has to be judged. */
  verdict(resource: Resource, findOptOuts: OptOutFinder): Verdict | undefined {
    // Only a cluster's cache returns the same object as long as nothing about it has changed.
    if (!this.#policy.excludesByObjectAlone || resource.provider !== 'kubernetes') return undefined
    return findOptOuts(resource).length > 0 ? undefined : this.#cachedExclusion(resource)
  }

  /** Divides a list, known by `name`. `toResource` returns undefined for objects that the policy does not target. */
  divide(
    name: string,
    objects: readonly StoredObject[],
    { toResource, now }: { readonly toResource: (object: StoredObject) => Resource | undefined; readonly now: number },
  ): Divided {
    const knownUntil = finderIn(this.#lists.get(name))
    const until = new Float64Array(objects.length)
    const resources: Resource[] = []
    let skipped = 0
    for (let index = 0; index < objects.length; index++) {
      const object = objects[index] as StoredObject
      const known = knownUntil(object)
      const resource = known === notTargeted || (known !== undefined && known > now) ? undefined : toResource(object)
      const time = known ?? (resource ? this.#excludedUntil(resource) : notTargeted)
      until[index] = time
      if (time > now) skipped++
      else if (resource) resources.push(resource)
    }
    this.#lists.set(name, { objects, until })
    return { resources, skipped }
  }

  /** Until when a resource stays excluded unless its object or the policy changes; 0 when it has to be judged. */
  #excludedUntil(resource: Resource): number {
    const policy = this.#policy
    // A policy with `unusedFor` follows the use of everything, also of what is excluded today.
    if (!policy.excludesByObjectAlone || policy.unusedForMs !== undefined || resource.createdAt === undefined) return 0
    if (this.#marked.has(resource.uid)) return 0
    if (this.#cachedExclusion(resource)) return Infinity
    return Math.max(resource.createdAt + policy.minAgeMs, expiresAt(timeToLiveOf(resource), resource.createdAt))
  }

  #cachedExclusion(resource: Resource): Verdict | undefined {
    const verdicts = resource.shield ? this.#shielded : this.#unshielded
    const known = verdicts.get(resource.object)
    if (known !== undefined) return known ?? undefined
    const exclusion = timelessExclusion(describe(resource, this.#policy, {}), this.#policy, ownProtection)
    const verdict: Verdict | null = exclusion ? { is: 'excluded', ...exclusion } : null
    verdicts.set(resource.object, verdict)
    return verdict ?? undefined
  }
}

/** The exclusion cache of a policy at a location; dropped with the compiled policy. */
export function exclusionCacheFor(policy: CompiledPolicy, location: string): ExclusionCache {
  const byLocation = caches.get(policy) ?? new Map<string, ExclusionCache>()
  const cache = byLocation.get(location) ?? new ExclusionCache(policy)
  caches.set(policy, byLocation.set(location, cache))
  return cache
}

const caches = new WeakMap<CompiledPolicy, Map<string, ExclusionCache>>()

/** Protection by marks on the object itself: opt-outs are checked apart, because they come and end. */
const ownProtection = protectionCheck(() => [], 0)

/** Finds the time known for an object, fastest when asked in list order; undefined for an object that was not listed. */
function finderIn(list: KnownList | undefined): (object: StoredObject) => number | undefined {
  if (!list) return () => undefined
  const { objects, until } = list
  let next = 0
  let indexes: Map<StoredObject, number> | undefined
  return (object) => {
    for (let index = next; index <= next + lookahead && index < objects.length; index++) {
      if (objects[index] !== object) continue
      next = index + 1
      return until[index]
    }
    indexes ??= new Map(objects.map((each, index) => [each, index]))
    const index = indexes.get(object)
    if (index !== undefined) next = index + 1
    return index === undefined ? undefined : until[index]
  }
}
