import { createHash } from 'node:crypto'
import { PromotionError } from '../git/promotion-error.ts'
import { BoundedMap } from '../kube/basics/bounded-map.ts'
import type { Key } from '../kube/key.ts'
import type { Place } from '../kube/object.ts'
import { Controller, type ControllerPorts } from '../runtime/controller/controller.ts'
import { settled, wakeAt, type Outcome } from '../runtime/controller/outcome.ts'
import type { Forge, PullRequest } from './forge.ts'
import type { PullAddress } from './pull-address.ts'

/** How a pull request is reached: the credential, and whether a tenant chose it. */
export interface PullAccess {
  readonly address: PullAddress
  readonly secret: Required<Place>
  readonly by: 'class' | 'environment'
}

/** A pull request as it was last read, or why it could not be. */
export type Seen = { readonly pull: Pick<PullRequest, 'state' | 'headSHA' | 'closedAt'>; readonly at: number } | Unread

interface Unread {
  readonly problem: string
  readonly at: number
  /** Set when the budget of the credential is spent: what was read before stands until then. */
  readonly retryAt?: number | undefined
}

export interface PullPorts {
  readonly ports: ControllerPorts
  /** The API of a pull request's forge, within its budget. */
  readonly open: (access: PullAccess) => Promise<Forge>
  /** Called when something about the pull request of a Namespace changed. */
  readonly onChange: (namespace: Key) => void
}

const pollMs = 60_000
/** How long after a start a spent budget is no news. */
const startMs = 600_000
/** New environments are read together, and a repository is not read again for each of them. */
const [collectMs, minPauseMs] = [500, 10_000]
/** More pull requests of one repository are read by one list. */
const maxSingleReads = 3

/** Reads pull requests: one poll per repository and credential, however many environments there are. */
export class PullRequests {
  readonly controller: Controller
  readonly #ports: PullPorts
  readonly #startedAt: number
  readonly #groups = new Map<string, Map<string, PullAccess>>()
  readonly #seen = new Map<string, Seen>()
  readonly #polledAt = new BoundedMap<string, number>(10_000)

  constructor(ports: PullPorts) {
    this.#ports = ports
    this.#startedAt = ports.ports.clock.now()
    this.controller = new Controller({
      name: 'environment-pull-requests',
      reconcile: ({ name }) => this.#poll(name),
      ports: ports.ports,
    })
  }

  /** What is known of an environment's pull request; it is polled from now on. */
  follow(environment: Key, access: PullAccess): Seen | undefined {
    const group = groupOf(access)
    const before = this.#groups.get(group)?.get(environment.namespace)
    // Tenants change addresses as often as they like: only the last one is read and remembered.
    if (!before || idOf(before) !== idOf(access)) this.forget(environment)
    const members = this.#groups.getOrInsertComputed(group, () => new Map<string, PullAccess>())
    members.set(environment.namespace, access)
    const soon = this.#ports.ports.clock.now() + collectMs
    if (!before)
      this.controller.enqueueAt(pollKey(group), Math.max(soon, (this.#polledAt.get(group) ?? 0) + minPauseMs))
    return this.#seen.get(idOf(access))
  }

  forget({ namespace }: Pick<Key, 'namespace'>): void {
    for (const [group, members] of this.#groups) {
      const access = members.get(namespace)
      if (!access) continue
      members.delete(namespace)
      if (members.size === 0) this.#groups.delete(group)
      if (![...members.values()].some((each) => idOf(each) === idOf(access))) this.#seen.delete(idOf(access))
    }
  }

  /** Reads it now, for a decision that cannot be taken back. */
  async fresh(access: PullAccess): Promise<Seen> {
    const seen = await this.#read(access)
    this.#seen.set(idOf(access), seen)
    return seen
  }

  async #poll(group: string): Promise<Outcome> {
    const members = this.#groups.get(group)
    const [first] = members?.values() ?? []
    if (!members || !first) return settled
    const { clock } = this.#ports.ports
    this.#polledAt.set(group, clock.now())
    let retryAt: number | undefined
    const open = members.size > maxSingleReads ? await this.#readOpen(first) : undefined
    for (const [namespace, access] of members) {
      const listed = open && !('problem' in open) ? open.get(access.address.number) : undefined
      // A pull request that is missing from the list of open ones is closed only if it says so itself.
      const now =
        open && 'problem' in open ? open : listed ? { pull: listed, at: clock.now() } : await this.#read(access)
      if (members.get(namespace) !== access) continue
      const before = this.#seen.get(idOf(access))
      if ('retryAt' in now && now.retryAt !== undefined) retryAt = now.retryAt
      // A budget that is spent after a start, as by many comments, tells nothing about the pull request.
      if (retryAt !== undefined && (before || retryAt < this.#startedAt + startMs)) continue
      this.#seen.set(idOf(access), now)
      if (!isSame(before, now)) this.#ports.onChange({ cluster: '', kind: 'Namespace', namespace: '', name: namespace })
    }
    return wakeAt(Math.max(retryAt ?? 0, clock.now() + pollMs))
  }

  async #readOpen(access: PullAccess): Promise<ReadonlyMap<number, PullRequest> | Unread> {
    return this.#ask(access, async (forge) => new Map((await forge.openPulls()).map((pull) => [pull.number, pull])))
  }

  async #read(access: PullAccess): Promise<Seen> {
    const at = this.#ports.ports.clock.now()
    const { number } = access.address
    const pull = await this.#ask(access, (forge) => forge.get(number))
    if ('problem' in pull) return pull
    return pull.number === number ? { pull, at } : { problem: 'the forge answered with another pull request', at }
  }

  async #ask<T extends object>(access: PullAccess, question: (forge: Forge) => Promise<T>): Promise<T | Unread> {
    try {
      return await question(await this.#ports.open(access))
    } catch (error) {
      const problem = (error instanceof Error ? error.message : String(error)).slice(0, 300)
      const isLimited = error instanceof PromotionError && error.kind === 'RateLimited'
      return { problem, at: this.#ports.ports.clock.now(), ...(isLimited ? { retryAt: error.retryAt } : {}) }
    }
  }
}

function isSame(before: Seen | undefined, now: Seen): boolean {
  if (!before) return false
  if ('problem' in before) return 'problem' in now && before.problem === now.problem
  return 'pull' in now && before.pull.state === now.pull.state && before.pull.headSHA === now.pull.headSHA
}

function groupOf({ address, secret }: PullAccess): string {
  const text = `${address.type} ${address.repositoryUrl} ${secret.namespace}/${secret.name}`
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}

function idOf(access: PullAccess): string {
  return `${groupOf(access)} ${access.address.number}`
}

function pollKey(name: string): Key {
  return { cluster: '', kind: 'Repository', namespace: '', name }
}
