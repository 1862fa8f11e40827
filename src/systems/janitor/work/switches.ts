import { cleanupPolicy } from '../../../apis/cleanup-policy.ts'
import { sojournNamespace } from '../../../apis/group.ts'
import type { Client } from '../../../client/client.ts'
import { formatTime } from '../../../kube/time.ts'
import { writeSettings } from '../../../runtime/sharing/shared-settings.ts'
import { circuitClosedAnnotation } from './circuit.ts'
import { switchesName } from './janitor-caches.ts'

const place = { namespace: sojournNamespace, name: switchesName }

/** Pauses or resumes every janitor: a paused one marks, notifies and deletes nothing. */
export async function pauseJanitor(client: Client, isPaused: boolean): Promise<void> {
  await writeSettings(client, place, { paused: String(isPaused) })
}

/** Closes the circuit of a policy: a human has looked at why it opened. */
export async function closeCircuit(client: Client, policy: string, now: number): Promise<void> {
  // One second later: times are stored in whole seconds, and the circuit may have opened in this one.
  const annotations = { [circuitClosedAnnotation]: formatTime(now + 1000) }
  await client.merge(cleanupPolicy.type, { name: policy }, { metadata: { annotations } })
}
