import type { ProcessParts } from '../runtime/process-parts.ts'
import { isAllowed } from '../client/access-review.ts'
import { isRead, type Access } from './confinement.ts'
import type { Creator } from './creator-record.ts'

export type AccessReviewPorts = Pick<ProcessParts, 'client' | 'clock'>

/** An allowed read is asked again after this; a write at every act but those of one moment, so that a mass deletion asks once a second. */
const readAllowedMs = 60_000
const writeAllowedMs = 1_000
const maxRemembered = 10_000

/**
 * Asks the cluster whether a user may do something, by SubjectAccessReview. Answers of yes are remembered for a short time,
 * answers of no never: a right that is granted counts at the next attempt. A failed review throws, so that nothing happens.
 */
export class AccessReviews {
  readonly #ports: AccessReviewPorts
  /** By user and access: until when a yes holds, on the monotonic clock. Oldest first. */
  readonly #allowed = new Map<string, number>()
  /** Reviews on their way: who asks the same meanwhile waits for the same answer. */
  readonly #asking = new Map<string, Promise<boolean>>()

  constructor(ports: AccessReviewPorts) {
    this.#ports = ports
  }

  /** Whether a user may do this; without one, whether this process itself may. */
  async isAllowed(creator: Creator | undefined, access: Access): Promise<boolean> {
    // A right to all objects of the resource answers for every name, with one review.
    for (const asked of access.name === '' ? [access] : [{ ...access, name: '' }, access])
      if (await this.#ask(creator, asked)) return true
    return false
  }

  async #ask(creator: Creator | undefined, access: Access): Promise<boolean> {
    const key = JSON.stringify([creator?.user, creator?.groups, access])
    const until = this.#allowed.get(key)
    if (until !== undefined && this.#ports.clock.monotonic() < until) return true
    this.#allowed.delete(key)
    return this.#asking.getOrInsertComputed(key, () =>
      this.#review(key, creator, access).finally(() => this.#asking.delete(key)),
    )
  }

  async #review(key: string, creator: Creator | undefined, access: Access): Promise<boolean> {
    const { client, clock } = this.#ports
    // The answer holds from when it was asked for, not from when it came.
    const askedAt = clock.monotonic()
    const who = creator ? { user: creator.user, groups: creator.groups } : {}
    if (!(await isAllowed(client, { ...who, resourceAttributes: attributesOf(access) }))) return false
    if (this.#allowed.size >= maxRemembered) this.#allowed.clear()
    this.#allowed.set(key, askedAt + (isRead(access) ? readAllowedMs : writeAllowedMs))
    return true
  }
}

function attributesOf({ verb, group, resource, subresource = '', namespace, name }: Access) {
  // A request for a Namespace counts as one inside it, so that a Role there can grant it.
  const isNamespace = group === '' && resource === 'namespaces'
  return { verb, group, resource, subresource, namespace: isNamespace ? name : namespace, name }
}
