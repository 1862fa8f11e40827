import { AsyncLocalStorage } from 'node:async_hooks'
import { createHash } from 'node:crypto'
import { sojournNamespace } from '../../../apis/group.ts'
import { ownLabel } from '../../../departures/subjects/own-machinery.ts'
import { sleep } from '../../../runtime/time/clock.ts'
import { Lease, type LeasePorts, type LeaseTimes } from '../../../runtime/sharing/lease.ts'
import type { Logger } from '../../../runtime/observability/log.ts'
import type { Fence } from './work.ts'

export interface LeaseBookOptions extends LeaseTimes {
  /** Who we are; unlike every other instance. */
  readonly identity: string
}

/** Lets one at a time work at a policy and location. */
export interface Leases {
  /** Works while the lease is ours; undefined when somebody else has it. */
  hold<T>(
    policy: string,
    location: string,
    signal: AbortSignal,
    work: (fence: Fence) => Promise<T>,
  ): Promise<{ readonly result: T } | undefined>
}

/** For where nobody else is. */
export const unshared: Leases = {
  hold: async (_policy, _location, _signal, work) => ({ result: await work({ held: true, number: 1 }) }),
}

/** One Lease per policy and location, held only while there is work to do there. */
export class LeaseBook implements Leases {
  readonly #ports: LeasePorts
  readonly #options: LeaseBookOptions
  /** Kept for good: how long another's lease has not changed must be remembered between tries. */
  readonly #leases = new Map<string, Lease>()

  /** Renewals are no part of the work they protect: a clock must not take the work for waiting because they do. */
  readonly #startRenewing: (lease: Lease, signal: AbortSignal) => Promise<void>

  constructor(options: LeaseBookOptions, ports: LeasePorts) {
    this.#options = options
    this.#ports = ports
    this.#startRenewing = AsyncLocalStorage.bind((lease: Lease, signal: AbortSignal) => this.#renew(lease, signal))
  }

  async hold<T>(
    policy: string,
    location: string,
    signal: AbortSignal,
    work: (fence: Fence) => Promise<T>,
  ): Promise<{ readonly result: T } | undefined> {
    const lease = this.#lease(policy, location)
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
      await lease
        .release()
        .catch((error: unknown) => this.#ports.log.debug('lease not given back', { policy, location, error }))
    }
  }

  async #renew(lease: Lease, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#ports
    while (!signal.aborted) {
      await sleep(clock, this.#options.retryMs ?? 2000, signal).catch(() => {})
      if (signal.aborted) return
      await lease
        .contend(signal)
        .catch((error: unknown) => !signal.aborted && log.error('lease could not be renewed', { error }))
    }
  }

  #lease(policy: string, location: string): Lease {
    const key = `${policy}\n${location}`
    const known = this.#leases.get(key)
    if (known) return known
    const digest = createHash('sha256').update(key).digest('hex').slice(0, 16)
    const { log } = this.#ports
    // Leases change hands at every work item: that is nothing to report.
    const quiet: Logger = { ...log, info: (message, fields) => log.debug(message, fields) }
    const lease = new Lease(
      { ...this.#options, namespace: sojournNamespace, name: `janitor-${digest}`, labels: ownLabel },
      { ...this.#ports, log: quiet },
    )
    this.#leases.set(key, lease)
    return lease
  }
}
