import { hostname } from 'node:os'
import { sojournNamespace } from '../../apis/group.ts'
import { Lease, type LeasePorts } from '../../runtime/sharing/lease.ts'

/** Which of several replicas acts. The others keep their caches warm and wait; one that loses the lease must end. */
export class Leadership {
  readonly #lease: Lease
  /** Resolves when the lease was ours and is not any more. */
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

  /** Resolves when the lease is ours; rejects when the signal aborts first. */
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
