import type { StoredObject } from '../../../kube/object.ts'
import { describe, excludedAtAnyTime } from './judge.ts'
import type { CompiledPolicy } from '../policy/policy.ts'
import { protector } from './protection.ts'
import type { Resource } from '../model/resource.ts'
import { expiresAt, timeToLiveOf } from '../model/time-to-live.ts'

/** What there is to judge of a list, and how many more there are that stay excluded for now. */
export interface Divided {
  readonly resources: readonly Resource[]
  readonly aside: number
}

/** A list as it was at the last look, and for each object until when nothing has to be asked about it. */
interface Remembered {
  readonly objects: readonly StoredObject[]
  readonly until: Float64Array
}

/** Instead of a time: the policy does not speak of this object. */
const notMeant = -1
/** Lists keep their order: what stayed is found where it was, or a few places on. */
const placesOn = 8

/**
 * What a policy need not look at again for a while at one location: excluded by what its object, the policy and the
 * time say alone, and without a mark. Cycles see the same objects again and again; this walks past them.
 */
export class Aside {
  readonly #policy: CompiledPolicy
  readonly #lists = new Map<string, Remembered>()
  #marked: ReadonlySet<string> = new Set()

  constructor(policy: CompiledPolicy) {
    this.#policy = policy
  }

  /** Takes note of the uids of what is marked; a new mark may be about what was set aside. */
  mind(marked: ReadonlySet<string>): void {
    if ([...marked].some((uid) => !this.#marked.has(uid))) this.#lists.clear()
    this.#marked = marked
  }

  /** Divides a list, known by `name`; `meant` says what the policy sees in an object, undefined when it is not about it. */
  divide(
    name: string,
    objects: readonly StoredObject[],
    { meant, now }: { readonly meant: (object: StoredObject) => Resource | undefined; readonly now: number },
  ): Divided {
    const recall = recallOf(this.#lists.get(name))
    const until = new Float64Array(objects.length)
    const resources: Resource[] = []
    let aside = 0
    for (let index = 0; index < objects.length; index++) {
      const object = objects[index] as StoredObject
      const known = recall(object)
      const resource = known === notMeant || (known !== undefined && known > now) ? undefined : meant(object)
      const time = known ?? (resource ? this.#sparedUntil(resource) : notMeant)
      until[index] = time
      if (time > now) aside++
      else if (resource) resources.push(resource)
    }
    this.#lists.set(name, { objects, until })
    return { resources, aside }
  }

  /** Until when a resource stays excluded for certain, unless somebody changes something; 0 when it has to be judged. */
  #sparedUntil(resource: Resource): number {
    const policy = this.#policy
    // The use of everything is followed, also of what is excluded today.
    if (!policy.excludesByObjectAlone || policy.unusedForMs !== undefined || resource.createdAt === undefined) return 0
    if (this.#marked.has(resource.uid)) return 0
    if (excludedAtAnyTime(describe(resource, policy, {}), policy, carriedProtection)) return Infinity
    return Math.max(resource.createdAt + policy.minAgeMs, expiresAt(timeToLiveOf(resource), resource.createdAt))
  }
}

/** What a policy has set aside at a location, as long as the policy stays what it is. */
export function asideOf(policy: CompiledPolicy, location: string): Aside {
  const places = asides.get(policy) ?? new Map<string, Aside>()
  const aside = places.get(location) ?? new Aside(policy)
  asides.set(policy, places.set(location, aside))
  return aside
}

const asides = new WeakMap<CompiledPolicy, Map<string, Aside>>()

const carriedProtection = protector(() => [], 0)

/** Finds what is known of an object, when asked in the order of the list; undefined for an object that was not in it. */
function recallOf(remembered: Remembered | undefined): (object: StoredObject) => number | undefined {
  if (!remembered) return () => undefined
  const { objects, until } = remembered
  let at = 0
  let places: Map<StoredObject, number> | undefined
  return (object) => {
    if (objects[at] === object) return until[at++]
    for (let place = at; place < at + placesOn && place < objects.length; place++) {
      if (objects[place] !== object) continue
      at = place + 1
      return until[place]
    }
    places ??= new Map(objects.map((each, place) => [each, place]))
    const place = places.get(object)
    if (place !== undefined) at = place + 1
    return place === undefined ? undefined : until[place]
  }
}
