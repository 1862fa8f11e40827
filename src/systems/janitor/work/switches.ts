import { cleanupPolicy } from '../../../apis/cleanup-policy.ts'
import { sojournNamespace } from '../../../apis/group.ts'
import type { Client } from '../../../client/client.ts'
import { ownLabel } from '../../../departures/subjects/own-machinery.ts'
import { configMaps } from '../../../kube/core-types.ts'
import { isStatusError } from '../../../kube/status-error.ts'
import { formatTime } from '../../../kube/time.ts'
import { circuitClosedAnnotation } from './circuit.ts'
import { switchesName } from './janitor-caches.ts'

const place = { namespace: sojournNamespace, name: switchesName }

/** Pauses or resumes every janitor: a paused one marks, notifies and deletes nothing. */
export async function pauseJanitor(client: Client, isPaused: boolean): Promise<void> {
  const data = { paused: String(isPaused) }
  try {
    await client.patch(configMaps, place, { type: 'merge', body: { data } })
  } catch (error) {
    if (!isStatusError(error, 'NotFound')) throw error
    const metadata = { ...place, labels: ownLabel }
    await client.create(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data })
  }
}

/** Closes the circuit of a policy: a human has looked at why it opened. */
export async function closeCircuit(client: Client, policy: string, now: number): Promise<void> {
  // One second later: times are stored in whole seconds, and the circuit may have opened in this one.
  const annotations = { [circuitClosedAnnotation]: formatTime(now + 1000) }
  await client.patch(cleanupPolicy.type, { name: policy }, { type: 'merge', body: { metadata: { annotations } } })
}
