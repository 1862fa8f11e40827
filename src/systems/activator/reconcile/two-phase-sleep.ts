import type { Core } from '../cluster/core.ts'
import type { Publisher } from '../feed/publisher.ts'
import type { OnDemandService } from '../model/service-registry.ts'

export interface TwoPhaseSleepParts extends Pick<Core, 'peers' | 'usage' | 'now'> {
  readonly publisher: Publisher
}

/** What was known of the use when the sleep was decided, and how long other replicas must have been idle. */
export interface Idleness {
  readonly lastUsedAt: number
  readonly minIdleMs: number
}

/**
 * Sleep without loss. First every thread of every replica holds new requests back, closes idle connections and reports its
 * load; the scale is written only if all are idle. Requests that arrive meanwhile are held, and wake it again or go on.
 * Returns whether it was written. Errors of the write pass through. The other replicas resume by themselves once they see
 * zero replicas; where `write` leaves some, they are told.
 */
export async function sleepWithoutLoss(
  parts: TwoPhaseSleepParts,
  routes: readonly OnDemandService[],
  idle: Idleness,
  write: () => Promise<'asleep' | 'reduced'>,
): Promise<boolean> {
  const { publisher, peers } = parts
  let written: 'asleep' | 'reduced' | undefined
  for (const { id } of routes) publisher.hold(id)
  try {
    if (!(await areAllIdle(parts, routes, idle))) return false
    written = await write()
    return true
  } finally {
    for (const { id } of routes) {
      if (written !== 'asleep') peers.release(id)
      publisher.release(id)
    }
  }
}

async function areAllIdle(
  { publisher, usage, peers, now }: TwoPhaseSleepParts,
  routes: readonly OnDemandService[],
  { lastUsedAt, minIdleMs }: Idleness,
): Promise<boolean> {
  const ids = routes.map(({ id }) => id)
  const loads = await Promise.all(ids.map((id) => publisher.drain(id)))
  if (loads.some(({ busy, waiting }) => busy > 0 || waiting > 0)) return false
  const { inFlight, waiting, lastUsedAt: usedAt } = usage.of(routes, now())
  if (inFlight > 0 || waiting > 0 || usedAt !== lastUsedAt) return false
  for (const id of ids) {
    // A replica that cannot be asked is not idle: the question rejects, and nothing sleeps.
    const used = (await peers.drain(id)).find((peer) => peer.busy > 0 || peer.waiting > 0 || peer.idleMs < minIdleMs)
    if (!used) continue
    usage.note(id, now() - used.idleMs, now())
    return false
  }
  return usage.of(routes, now()).waiting === 0
}
