import { departure, type Departure } from '../apis/departure.ts'
import type { Client } from '../client/client.ts'
import type { KubeObject, StoredObject } from '../kube/object.ts'
import { ignoring, isStatusError } from '../kube/status-error.ts'
import type { Clock } from '../runtime/clock.ts'
import { contentsOf, keepsakes } from './company.ts'
import { writePages } from './pages.ts'
import { departureRecord, hasNoPlace } from './record.ts'

/**
 * Records a namespace that a user deletes, with all that is in it, before it is emptied. One that leaves by the door has its record already. Without a
 * place for records, because that is what goes, there is none.
 */
export async function recordLeavingNamespace(client: Client, clock: Clock, namespace: StoredObject): Promise<void> {
  const wanted = departureRecord({
    cluster: '',
    object: namespace,
    because: 'deleted',
    by: { system: 'user' },
    now: clock.now(),
  })
  const { namespace: home = '', name = '' } = wanted.metadata
  const place = { namespace: home, name }
  const found = await client.get<Departure>(departure.type, place).catch(ignoring('NotFound'))
  if (found && found.status?.phase !== 'Abandoned') return
  if (!(await canBeWritten(client, wanted))) return
  const contents = contentsOf(client, namespace.metadata.name, { metadataOnly: false })
  const spec = { ...wanted.spec, ...(await writePages(client, wanted, keepsakes(contents))) }
  if (found) await client.update(departure.type, { ...found, spec })
  else await client.create(departure.type, { ...wanted, spec })
  const status = { phase: 'Leaving', message: null }
  await client.patch(departure.type, place, { type: 'merge', body: { status } }, { subresource: 'status' })
}

/** Asked before anything in the namespace is read: a kind that is gone while it is read must not pass for a missing place. */
async function canBeWritten(client: Client, record: KubeObject): Promise<boolean> {
  try {
    await client.create(departure.type, record, { dryRun: true })
  } catch (error) {
    if (hasNoPlace(error)) return false
    if (!isStatusError(error, 'AlreadyExists')) throw error
  }
  return true
}
