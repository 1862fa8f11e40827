import { parseTime } from '../../../kube/time.ts'
import { locationStatus, type WorkItem } from './work.ts'

/** A human sets this annotation on a policy to a time: circuits that opened before it are closed. */
export const circuitClosedAnnotation = 'sojourn.dev/circuit-closed-at'

/** Whether the circuit opened and a human has closed it since. */
export function isCircuitAcknowledged(work: WorkItem): boolean {
  const { circuitOpenedAt } = locationStatus(work)
  const closedAt = parseTime(work.object.metadata.annotations?.[circuitClosedAnnotation])
  return circuitOpenedAt !== undefined && closedAt !== undefined && closedAt >= (parseTime(circuitOpenedAt) ?? Infinity)
}

/** Whether the circuit is open: nothing is deleted here until a human closes it. */
export function isCircuitOpen(work: WorkItem): boolean {
  return locationStatus(work).circuit !== undefined && !isCircuitAcknowledged(work)
}
