import { sojournNamespace } from '../../apis/group.ts'
import type { Client } from '../../client/client.ts'
import { closeBreaker, doorStateName, doorStateOf, writeDoorState } from '../../departures/door/door-state.ts'
import { configMaps } from '../../kube/core-types.ts'
import type { StoredObject } from '../../kube/object.ts'
import { ignoring } from '../../kube/status-error.ts'

/** Closes the circuit breaker, also those of single namespaces, and starts its counts anew. Answers whether it was open; a closed one is not written. */
export async function closeOpenBreaker(client: Client, now: number): Promise<boolean> {
  const place = { namespace: sojournNamespace, name: doorStateName }
  const state = doorStateOf(await client.get<StoredObject>(configMaps, place).catch(ignoring('NotFound')))
  const isOpen = state.breaker === 'open' || Object.keys(state.circuits).length > 0
  if (isOpen) await writeDoorState(client, closeBreaker(state, now))
  return isOpen
}

/** Pauses or resumes all deletions by Sojourn. */
export async function pauseDeletions(client: Client, isPaused: boolean): Promise<void> {
  await writeDoorState(client, { paused: String(isPaused) })
}
