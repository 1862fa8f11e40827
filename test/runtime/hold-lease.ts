import { sleep } from '../../src/runtime/time/clock.ts'
import { jittered, systemRandom } from '../../src/runtime/time/random.ts'
import type { Lease, LeasePorts } from '../../src/runtime/sharing/lease.ts'

const retryMs = 2000

/** Tries to hold a lease until the signal aborts, then gives it back: what its users do with several leases. */
export async function holdLease(lease: Lease, { clock, random = systemRandom }: LeasePorts, signal: AbortSignal) {
  while (!signal.aborted) {
    await lease.contend(signal).catch(() => false)
    await sleep(clock, jittered(retryMs, 0.1, random), signal).catch(() => {})
  }
  await lease.release().catch(() => {})
}
