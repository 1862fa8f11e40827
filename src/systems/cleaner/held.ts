import { sentenceOf, type DepartResult, type Hold } from '../../departures/door/because.ts'
import { findCondition, healthStatus, type Condition } from '../../kube/conditions.ts'
import type { StoredObject } from '../../kube/object.ts'
import { formatTime } from '../../kube/time.ts'
import { wakeAt, type Outcome } from '../../runtime/controller/outcome.ts'
import type { Refusal } from '../../tenancy/act-as.ts'
import type { CleanerStatus } from './decision/model.ts'
import { writeStatus, type CleanerPorts } from './ports.ts'
import { announcedRetry } from './status.ts'

/** The Door's answer when it does not delete. */
type Denial = Extract<DepartResult, { because: string }>

/** Whether the conditions are met but the Door does not delete yet. */
export function isHeld({ status }: StoredObject): boolean {
  const { conditions } = (status ?? {}) as { conditions?: readonly Condition[] }
  return findCondition(conditions, 'Ready')?.reason === 'Held'
}

/** Reports in the status why the Door does not delete the Cleaner, and retries when that may have changed. */
export async function reportHeld(ports: CleanerPorts, self: StoredObject, denial: Denial): Promise<Outcome> {
  const { until = announcedRetry(self, retryAt(denial, ports.clock.now()), ports.clock.now()) } = denial as {
    until?: number
  }
  await writeHeld(ports, self, { why: sentenceOf(denial), until })
  return wakeAt(until)
}

/** Sets Ready to `Held`: conditions met, deletion not possible yet. */
export async function writeHeld(
  ports: CleanerPorts,
  self: StoredObject,
  { why, until }: { readonly why: string; readonly until: number },
): Promise<void> {
  const status = (self.status ?? {}) as CleanerStatus
  const nextScheduledEvaluation = formatTime(Math.ceil(until / 1000) * 1000)
  const claim = { health: 'ready', reason: 'Held', message: `all conditions are true, but ${why}` } as const
  await writeStatus(ports, self, {
    ...status,
    nextScheduledEvaluation,
    ...healthStatus(self, claim, ports.clock.now()),
  })
}

/** Stalled: the identity behind the Cleaner may not do something that is left to do. */
export async function writeRefused(
  ports: CleanerPorts,
  self: StoredObject,
  { reason, message }: Refusal,
): Promise<void> {
  const { nextScheduledEvaluation: _, ...status } = (self.status ?? {}) as CleanerStatus
  const claim = { health: 'stalled', reason, message } as const
  await writeStatus(ports, self, { ...status, ...healthStatus(self, claim, ports.clock.now()) })
}

/** Not Ready: what was decided could not be carried out, and is retried. */
export async function writeFailed(
  ports: CleanerPorts,
  self: StoredObject,
  { reason, message }: { readonly reason: string; readonly message: string },
): Promise<void> {
  const claim = { health: 'not-ready', reason, message } as const
  const status = (self.status ?? {}) as CleanerStatus
  await writeStatus(ports, self, { ...status, ...healthStatus(self, claim, ports.clock.now()) })
}

/** When to ask the Door again. Its change notification comes earlier for Cleaners whose Ready reason is `Held`. */
export function retryAt(denial: Denial, now: number): number {
  if (denial.result === 'held' && denial.until !== undefined) return denial.until
  return now + (notifiedHolds.has(denial.because) ? slowRetryMs : fastRetryMs)
}

/** The end of these holds is an event: the Cleaner is edited, or the Door notices a switch, a schedule or a Bond. */
const notifiedHolds: ReadonlySet<string> = new Set<Hold>([
  'dry-run',
  'paused',
  'breaker-open',
  'outside-window',
  'no-such-schedule',
  'bond-holds',
])
const fastRetryMs = 60_000
const slowRetryMs = 3_600_000
