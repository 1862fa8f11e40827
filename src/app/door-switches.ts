import type { Client } from '../client/client.ts'
import { closeBreaker, writeDoorState } from '../departures/door-state.ts'

/** A human has looked: what left so far is forgiven and things may leave again. */
export async function closeTheBreaker(client: Client, now: number): Promise<void> {
  await writeDoorState(client, closeBreaker(now))
}

/** Lets nothing leave until it is resumed. */
export async function pauseDepartures(client: Client, isPaused: boolean): Promise<void> {
  await writeDoorState(client, { paused: String(isPaused) })
}
