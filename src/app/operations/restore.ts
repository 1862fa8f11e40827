import { departure, type Departure } from '../../apis/departure.ts'
import type { Client } from '../../client/client.ts'
import { restore, type Restored, type RestoreOptions } from '../../departures/restore/restore.ts'

/** Restores the objects in a departure record; see src/departures/restore/restore.ts. */
export async function restoreDeparture(
  client: Client,
  place: { namespace: string; name: string },
  options: RestoreOptions,
): Promise<Restored> {
  const record = await client.get<Departure>(departure.type, place)
  return restore(client, record, options)
}
