import { hostname } from 'node:os'
import { sojournNamespace } from '../../apis/group.ts'
import { Lease, type LeasePorts } from '../../runtime/sharing/lease.ts'

/** Leader election by a Lease. The other replicas keep their caches warm; a leader that loses the Lease must exit. */
export class Leadership {
  readonly #lease: Lease
  /** Resolves when this replica led and has lost the Lease. */
  readonly lost: Promise<void>

  constructor(ports: LeasePorts, name: string) {
    this.#lease = new Lease(
      {
        namespace: sojournNamespace,
        name,
        identity: `${hostname()}-${process.pid}`,
        labels: { 'app.kubernetes.io/part-of': 'sojourn' },
      },
      ports,
    )
    this.lost = new Promise((resolve) => {
      let hasHeld = false
      this.#lease.onChange((isHeld) => {
        if (!isHeld && hasHeld) resolve()
        hasHeld ||= isHeld
      })
    })
  }

  start(signal: AbortSignal): Promise<void> {
    return this.#lease.start(signal)
  }

  /** Resolves when this replica leads; rejects when the signal aborts first. */
  won(signal: AbortSignal): Promise<void> {
    if (this.#lease.held) return Promise.resolve()
    return new Promise((resolve, reject) => {
      const done = this.#lease.onChange((isHeld) => {
        if (!isHeld) return
        done()
        resolve()
      })
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
    })
  }
}
