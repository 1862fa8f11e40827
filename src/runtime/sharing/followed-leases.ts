import { leases } from '../../kube/core-types.ts'
import type { Informer } from '../cache/informer.ts'
import { Informers } from '../cache/informers.ts'
import type { Lease, LeaseObject, LeasePorts } from './lease.ts'

/** Tells Leases what happens to them by one watch, so that those who wait for one ask for nothing. */
export class FollowedLeases {
  readonly #ports: LeasePorts
  readonly #where: { readonly namespace: string; readonly labelSelector: string }
  readonly #find: (name: string) => Lease | undefined
  #informer: Informer<LeaseObject> | undefined

  constructor(
    ports: LeasePorts,
    where: { readonly namespace: string; readonly labelSelector: string },
    find: (name: string) => Lease | undefined,
  ) {
    this.#ports = ports
    this.#where = where
    this.#find = find
  }

  /** Whether every change arrives. While it does not, for example for want of the right to watch, Leases are read. */
  get isCurrent(): boolean {
    return this.#informer !== undefined && this.#informer.synced && this.#informer.lastError === undefined
  }

  /** Follows them until the signal aborts; resolves when they are known, or cannot be followed. */
  async start(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return
    const { client, clock, random } = this.#ports
    const informers = new Informers({ clock, ...(random ? { random } : {}) })
    const informer = informers.open<LeaseObject>(client, leases, this.#where)
    this.#informer = informer
    informer.subscribe(({ type, object }) =>
      this.#find(object.metadata.name)?.observe(type === 'deleted' ? undefined : object),
    )
    signal.addEventListener('abort', () => informers.close(), { once: true })
    await new Promise<void>((resolve) => {
      informer.onError((error) => error && resolve())
      informer.whenSynced(signal).then(resolve, () => resolve())
    })
  }
}
