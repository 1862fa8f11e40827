import { randomUUID } from 'node:crypto'
import { administrator, createApiServer, type ApiServer } from '../apiserver/server.ts'
import { Client } from '../client/client.ts'
import type { Clock } from '../runtime/time/clock.ts'
import { seededRandom } from '../runtime/time/random.ts'
import { ownKindsAdmission } from '../admission/admission.ts'
import { BondAdmission } from '../admission/bond-admission.ts'
import { registerKinds } from '../admission/register-kinds.ts'
import { storeOf, type ClusterSnapshot } from './cluster-snapshot.ts'

/** An in-memory cluster with the objects of a snapshot. Its writes never reach the original. */
export interface ClusterCopy extends AsyncDisposable {
  readonly client: Client
  readonly server: ApiServer
  readonly store: ReturnType<typeof storeOf>
  readonly bonds: BondAdmission
}

/** Starts an API server on the snapshot's objects. It serves Sojourn's kinds even if the original cluster does not. */
export async function startCopy(snapshot: ClusterSnapshot, clock: Clock, cluster = ''): Promise<ClusterCopy> {
  const store = storeOf(snapshot, clock)
  const bonds = new BondAdmission()
  const server = await createApiServer({
    store,
    clock,
    random: seededRandom(1),
    uid: () => randomUUID(),
    admission: [ownKindsAdmission, bonds.hook],
    // No controller reads managedFields, and computing them would double the cost of a write.
    tracksFields: false,
    cascades: bonds.cascades,
  })
  const client = new Client(server.transportAs(administrator), { cluster })
  await registerKinds(client)
  return { client, server, store, bonds, [Symbol.asyncDispose]: () => server.close() }
}
