import { parseTime } from '../../../kube/time.ts'
import { locationStatus, type WorkItem } from './work.ts'

/** Set by a human on a policy, with the time: what opened the circuit before then has been looked at. */
export const circuitClosedAnnotation = 'sojourn.dev/circuit-closed-at'

/** The circuit is open and a human has closed it since, or it is not open. */
export function isCircuitAcknowledged(work: WorkItem): boolean {
  const { circuitOpenedAt } = locationStatus(work)
  const closedAt = parseTime(work.object.metadata.annotations?.[circuitClosedAnnotation])
  return circuitOpenedAt !== undefined && closedAt !== undefined && closedAt >= (parseTime(circuitOpenedAt) ?? Infinity)
}

/** Whether a human has to look before anything goes on here. */
export function isCircuitOpen(work: WorkItem): boolean {
  return locationStatus(work).circuit !== undefined && !isCircuitAcknowledged(work)
}
