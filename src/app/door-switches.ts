import type { Client } from '../client/client.ts'
import { sojournNamespace } from '../apis/group.ts'
import { closeBreaker, configMaps, doorStateName, doorStateOf, writeDoorState } from '../departures/door-state.ts'
import type { StoredObject } from '../kube/object.ts'
import { ignoring } from '../kube/status-error.ts'

/** A human has looked: what left so far is forgiven and things may leave again. Answers whether it was open; one that was not is left alone. */
export async function closeTheBreaker(client: Client, now: number): Promise<boolean> {
  const place = { namespace: sojournNamespace, name: doorStateName }
  const { breaker } = doorStateOf(await client.get<StoredObject>(configMaps, place).catch(ignoring('NotFound')))
  if (breaker === 'open') await writeDoorState(client, closeBreaker(now))
  return breaker === 'open'
}

/** Lets nothing leave until it is resumed. */
export async function pauseDepartures(client: Client, isPaused: boolean): Promise<void> {
  await writeDoorState(client, { paused: String(isPaused) })
}
