import { configMaps } from '../kube/core-types.ts'
import type { Client } from '../client/client.ts'
import { sojournNamespace } from '../apis/group.ts'
import { closeBreaker, doorStateName, doorStateOf, writeDoorState } from '../departures/door/door-state.ts'
import type { StoredObject } from '../kube/object.ts'
import { ignoring } from '../kube/status-error.ts'
import { formatTime } from '../kube/time.ts'
import type { Reader } from './reader.ts'

/** A human has looked: what left so far is forgiven and things may leave again. Answers whether it was open; one that was not is left alone. */
export async function closeTheBreaker(client: Client, now: number): Promise<boolean> {
  const place = { namespace: sojournNamespace, name: doorStateName }
  const { breaker } = doorStateOf(await client.get<StoredObject>(configMaps, place).catch(ignoring('NotFound')))
  if (breaker === 'open') await writeDoorState(client, closeBreaker(now))
  return breaker === 'open'
}

/** Why nothing leaves at the moment, whatever its own time, and what to do about it; empty when the door is open. */
export async function haltsOf(reader: Reader): Promise<readonly string[]> {
  const state = doorStateOf(
    await reader.get<StoredObject>(configMaps, { namespace: sojournNamespace, name: doorStateName }),
  )
  const since = state.openedAt === undefined ? '' : ` since ${formatTime(state.openedAt)}`
  const why = state.because ? `: ${state.because}` : ''
  return [
    ...(state.paused ? ['Nothing leaves now: departures are paused; "sojourn departures --resume" ends that'] : []),
    ...(state.dryRun ? [`Nothing leaves now: dryRun is set in ConfigMap ${sojournNamespace}/${doorStateName}`] : []),
    ...(state.breaker === 'open'
      ? [
          `Nothing leaves now: the breaker is open${since}${why}; look at "sojourn departures -A", then "sojourn departures --close-breaker"`,
        ]
      : []),
  ]
}

/** Lets nothing leave until it is resumed. */
export async function pauseDepartures(client: Client, isPaused: boolean): Promise<void> {
  await writeDoorState(client, { paused: String(isPaused) })
}
