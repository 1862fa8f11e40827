import { hostname } from 'node:os'
import { sojournNamespace } from '../../apis/group.ts'
import type { StoredObject } from '../../kube/object.ts'
import { FollowedLeases } from '../../runtime/sharing/lease-membership.ts'
import { Lease, type LeasePorts } from '../../runtime/sharing/lease.ts'
import { sleep, unlessAborted } from '../../runtime/time/clock.ts'
import { jittered, systemRandom } from '../../runtime/time/random.ts'
import { roles, type Role } from '../config/config.ts'

/** Whether this replica leads a role. */
export interface Leads {
  /** Resolves when it does; rejects when the signal aborts first. */
  won(role: Role, signal: AbortSignal): Promise<void>
  /** Whether it does now: a leader that cannot renew its Lease must not act until it can again. */
  holds(role: Role): boolean
}

export interface LeadershipOptions {
  /** The roles of this process. */
  readonly roles: readonly Role[]
  /** The user that the API server sees. The accounts of Sojourn's namespace are one installation. */
  readonly user: string
  /** What must be the same in every process of a cluster, as flags. */
  readonly settings: readonly string[]
  /** Unlike every other process's. */
  readonly identity?: string
}

const partOf = 'app.kubernetes.io/part-of'
const userNote = 'sojourn.dev/user'
const settingsNote = 'sojourn.dev/settings'
/** Two tries before a holder must stop: each try is a request, and a Lease that lapsed is usually won back. */
const retryMs = 5000

/** The roles that one replica leads. The replicas of the activator find each other by Leases of their own. */
export const ledRoles: readonly Role[] = roles.filter((role) => !['api', 'workloads', 'activator'].includes(role))

/**
 * Leader election by one Lease for each role, however roles are spread over processes. A process renews one of its Leases,
 * and its others name that one. Replicas that do not lead keep their caches warm.
 */
export class Leadership implements Leads {
  readonly #ports: LeasePorts
  readonly #options: LeadershipOptions
  readonly #leases: ReadonlyMap<Role, Lease>
  readonly #followed: FollowedLeases
  readonly #replaced = Promise.withResolvers<string>()

  constructor(ports: LeasePorts, options: LeadershipOptions) {
    const { user, settings, identity = `${hostname()}-${process.pid}` } = options
    this.#ports = ports
    this.#options = options
    const find = (name: string) => this.#leases.get(name.replace('sojourn-', '') as Role)
    const common = {
      namespace: sojournNamespace,
      identity,
      labels: { [partOf]: 'sojourn' },
      annotations: { [userNote]: user, [settingsNote]: settings.join(', ') },
      find,
      isFollowed: () => this.#followed.isCurrent,
    }
    this.#followed = new FollowedLeases(
      ports,
      { namespace: sojournNamespace, labelSelector: `${partOf}=sojourn` },
      find,
    )
    this.#leases = new Map(ledRoles.map((role) => [role, new Lease({ ...common, name: `sojourn-${role}` }, ports)]))
    for (const role of options.roles) this.#noticeSuccessor(role)
  }

  /** Resolves with who leads a role that this process led before: then this process must exit. */
  get replaced(): Promise<string> {
    return this.#replaced.promise
  }

  holds(role: Role): boolean {
    return this.#leases.get(role)?.held ?? true
  }

  won(role: Role, signal: AbortSignal): Promise<void> {
    const lease = this.#leases.get(role)
    if (!lease || lease.held) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    const done = lease.onChange((isHeld) => isHeld && resolve())
    return unlessAborted(promise, signal).finally(done)
  }

  /** Learns who leads. Why this process may not run beside them, if it may not: other settings, under another account. */
  async refusal(signal: AbortSignal): Promise<string | undefined> {
    await this.#followed.start(signal)
    const { settings, user } = this.#options
    for (const [role, lease] of this.#own()) {
      const { [settingsNote]: theirs, [userNote]: who = '' } = lease.annotations
      if (lease.holder === '' || theirs === undefined || isSameInstallation(who, user)) continue
      const others = theirs.split(', ').filter((flag) => !settings.includes(flag))
      if (others.length === 0) continue
      return `${lease.holder} (${who}) runs the role ${role} in this cluster with other settings: end one of the two, or start this process with ${others.join(', ')}`
    }
    return undefined
  }

  /** Contends for the roles until the signal aborts, then gives their Leases back. */
  async start(signal: AbortSignal): Promise<void> {
    const { clock, log, random = systemRandom } = this.#ports
    let said = ''
    while (!signal.aborted) {
      try {
        await this.#round(signal)
        const waiting = this.#own().filter(([, { held, holder }]) => !held && holder !== '')
        const holders = waiting.map(([role, { holder }]) => `${role}: ${holder}`).join(', ')
        if (holders !== said) log.info(holders ? 'waiting while others lead' : 'leads all its roles', { holders })
        said = holders
      } catch (error) {
        if (!signal.aborted) log.error('Leases could not be renewed, nothing is deleted until they are', { error })
      }
      await sleep(clock, jittered(retryMs, 0.1, random), signal).catch(() => {})
    }
    // The one with which the others are renewed was gained first.
    for (const [, lease] of this.#own().toReversed()) await lease.release().catch(() => {})
  }

  #own(): readonly (readonly [Role, Lease])[] {
    return [...this.#leases].filter(([role]) => this.#options.roles.includes(role))
  }

  async #round(signal: AbortSignal): Promise<void> {
    const own = this.#own().map(([, lease]) => lease)
    let anchor = own.find((lease) => lease.held && !lease.isAnchored)
    if (anchor && !(await anchor.contend(signal))) anchor = undefined
    for (const lease of own) {
      if (lease === anchor) continue
      const isHeld = await lease.contend(signal, anchor)
      if (isHeld && !anchor) anchor = lease
    }
  }

  #noticeSuccessor(role: Role): void {
    const lease = this.#leases.get(role)
    let hasLed = false
    lease?.onChange((isHeld) => (hasLed ||= isHeld))
    lease?.onHolder((holder) => {
      if (hasLed && holder !== '') this.#replaced.resolve(`${holder} leads the role ${role} now`)
    })
  }
}

const installed = `system:serviceaccount:${sojournNamespace}:`

/** Whether two users belong together: then other settings are an upgrade under way. */
function isSameInstallation(one: string, other: string): boolean {
  return one === other || (one.startsWith(installed) && other.startsWith(installed))
}

/** The user that runs a role, by its Lease; undefined while none does. */
export function userOfLeader(role: string, found: readonly StoredObject[]): string | undefined {
  return found.find(({ metadata }) => metadata.name === `sojourn-${role}`)?.metadata.annotations?.[userNote]
}

/** Whether this user is an account of the installation. */
export function isInstalled(user: string): boolean {
  return user.startsWith(installed)
}
