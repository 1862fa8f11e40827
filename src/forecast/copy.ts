import { randomUUID } from 'node:crypto'
import { administrator, createApiServer, type ApiServer } from '../apiserver/server.ts'
import { Client } from '../client/client.ts'
import type { Clock } from '../runtime/time/clock.ts'
import { seededRandom } from '../runtime/time/random.ts'
import { ownKindsAdmission } from '../admission/admission.ts'
import { BondAdmission } from '../admission/bond-admission.ts'
import { registerKinds } from '../admission/register-kinds.ts'
import { storeOf, type World } from './world.ts'

/** A cluster in memory that began as a copy of another. */
export interface Copy extends AsyncDisposable {
  readonly client: Client
  readonly server: ApiServer
  readonly store: ReturnType<typeof storeOf>
  readonly bonds: BondAdmission
}

/** Starts an API server on a copy of the world, with our kinds in it whether the original has them or not. */
export async function startCopy(world: World, clock: Clock, cluster = ''): Promise<Copy> {
  const store = storeOf(world, clock)
  const bonds = new BondAdmission()
  const server = await createApiServer({
    store,
    clock,
    random: seededRandom(1),
    uid: () => randomUUID(),
    admission: [ownKindsAdmission, bonds.hook],
    // Nobody decides by it, and following it takes as long as the writes themselves.
    tracksFields: false,
    cascades: bonds.cascades,
  })
  const client = new Client(server.transportAs(administrator), { cluster })
  await registerKinds(client)
  return { client, server, store, bonds, [Symbol.asyncDispose]: () => server.close() }
}
