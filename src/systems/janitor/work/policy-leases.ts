import { AsyncLocalStorage } from 'node:async_hooks'
import { shortDigest } from '../../../kube/basics/short-digest.ts'
import { sojournNamespace } from '../../../apis/group.ts'
import type { OwnerReference } from '../../../kube/object.ts'
import { ownLabel } from '../../../departures/subjects/own-machinery.ts'
import { sleep } from '../../../runtime/time/clock.ts'
import { Lease, type LeasePorts, type LeaseTimes } from '../../../runtime/sharing/lease.ts'
import type { Logger } from '../../../runtime/observability/log.ts'
import type { Fence } from './work.ts'

export interface PolicyLeasesOptions extends LeaseTimes {
  /** Names this instance; differs from every other instance's. */
  readonly identity: string
}

/** What one instance at a time works on. */
export interface LeasedPlace {
  readonly policy: string
  readonly location: string
  /** The policy itself: its Leases are deleted with it. */
  readonly owner?: OwnerReference
}

/** Ensures that one instance at a time works on a policy at a location. */
export interface Leases {
  /** Runs `work` while this instance holds the lease; undefined when another instance holds it. */
  hold<T>(
    place: LeasedPlace,
    signal: AbortSignal,
    work: (fence: Fence) => Promise<T>,
  ): Promise<{ readonly result: T } | undefined>
}

/** For a janitor that is the only one, such as the forecast's. */
export const noLeases: Leases = {
  hold: async (_place, _signal, work) => ({ result: await work({ held: true, number: 1 }) }),
}

/** One Lease per policy and location, held only while there is work to do there. */
export class PolicyLeases implements Leases {
  readonly #ports: LeasePorts
  readonly #options: PolicyLeasesOptions
  /** Never dropped: a Lease measures how long another holder has not renewed, across attempts. */
  readonly #leases = new Map<string, Lease>()

  /** Renews outside the work's async context: the virtual clock must not take a waiting renewal for waiting work. */
  readonly #startRenewing: (lease: Lease, signal: AbortSignal) => Promise<void>

  constructor(options: PolicyLeasesOptions, ports: LeasePorts) {
    this.#options = options
    this.#ports = ports
    this.#startRenewing = AsyncLocalStorage.bind((lease: Lease, signal: AbortSignal) => this.#renew(lease, signal))
  }

  async hold<T>(
    place: LeasedPlace,
    signal: AbortSignal,
    work: (fence: Fence) => Promise<T>,
  ): Promise<{ readonly result: T } | undefined> {
    const lease = this.#lease(place)
    if (!(await lease.contend(signal))) return undefined
    const done = new AbortController()
    const renewing = this.#startRenewing(lease, done.signal)
    try {
      const fence: Fence = {
        get held() {
          return lease.held
        },
        number: lease.transitions,
      }
      return { result: await work(fence) }
    } finally {
      done.abort()
      await renewing
      await lease.release().catch((error: unknown) => this.#ports.log.debug('lease not released', { ...place, error }))
    }
  }

  async #renew(lease: Lease, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#ports
    while (!signal.aborted) {
      await sleep(clock, this.#options.retryMs ?? 2000, signal).catch(() => {})
      if (signal.aborted) return
      await lease
        .contend(signal)
        .catch((error: unknown) => !signal.aborted && log.error('lease not renewed', { error }))
    }
  }

  #lease({ policy, location, owner }: LeasedPlace): Lease {
    const key = `${policy}\n${location}`
    const known = this.#leases.get(`${key}\n${owner?.uid}`)
    if (known) return known
    const digest = shortDigest(key)
    const { log } = this.#ports
    // The lease is acquired and released for every work item, too often for the info level.
    const quiet: Logger = { ...log, info: (message, fields) => log.debug(message, fields) }
    const lease = new Lease(
      {
        ...this.#options,
        namespace: sojournNamespace,
        name: `janitor-${digest}`,
        labels: ownLabel,
        ...(owner ? { owner } : {}),
      },
      { ...this.#ports, log: quiet },
    )
    this.#leases.set(`${key}\n${owner?.uid}`, lease)
    return lease
  }
}
