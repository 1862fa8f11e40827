import { departure, type Departure } from '../../apis/departure.ts'
import type { Client } from '../../client/client.ts'
import { refOf, type KubeObject, type ResourceType, type StoredObject, placeOf } from '../../kube/object.ts'
import { ignoring, isStatusError } from '../../kube/status-error.ts'
import type { Clock } from '../../runtime/time/clock.ts'
import { restorable } from '../subjects/contents.ts'
import { completePages, writePages } from './pages.ts'
import { departureRecord, hasNoPlace } from './record.ts'
import { kubeSubject } from '../subjects/subject.ts'

/**
 * Records a namespace that a user deletes with all that is in it, or a definition with all of its kind, before any of that goes. One that leaves by the door has
 * its record already: what came or changed since that was written is added. Without a place for records, because that is what goes, there is none.
 */
export async function recordLeaving(client: Client, clock: Clock, object: StoredObject): Promise<void> {
  const wanted = byHand(object, clock)
  const found = await find(client, wanted)
  const type = await client.discovery.typeOf(object)
  if (!type) throw new Error(`${object.apiVersion} ${object.kind} is not served`)
  const contents = restorable(kubeSubject(client, type, refOf(object)).contents?.({ metadataOnly: false }) ?? [])
  if (found && isStanding(found)) return complete(client, found, contents)
  if (!(await canBeWritten(client, wanted))) return
  const spec = { ...wanted.spec, ...(await writePages(client, wanted, contents)) }
  await write(client, { ...wanted, spec }, found)
}

/** Records something that a user deletes and that waits for those who need it, before any of them goes. What has a record is left as it is. */
export async function recordNeeded(
  client: Client,
  clock: Clock,
  { type, object }: { readonly type: ResourceType; readonly object: StoredObject },
): Promise<void> {
  const found = await find(client, byHand(object, clock))
  if (found && isStanding(found)) return
  const { name, namespace, uid } = object.metadata
  const place = placeOf({ name, namespace })
  const whole = await client.get<StoredObject>(type, place).catch(ignoring('NotFound'))
  if (whole?.metadata.uid !== uid) return
  const wanted = byHand({ ...whole, apiVersion: object.apiVersion, kind: object.kind }, clock)
  if (await canBeWritten(client, wanted)) await write(client, wanted, found)
}

type Unwritten = ReturnType<typeof departureRecord>

function byHand(object: StoredObject, clock: Clock): Unwritten {
  return departureRecord({ cluster: '', object, because: 'deleted', by: { system: 'user' }, now: clock.now() })
}

function find(client: Client, { metadata }: Unwritten): Promise<Departure | undefined> {
  const { namespace = '', name = '' } = metadata
  return client.get<Departure>(departure.type, { namespace, name }).catch(ignoring('NotFound'))
}

function isStanding({ status }: Departure): boolean {
  return status?.phase !== 'Abandoned'
}

async function write(client: Client, wanted: Unwritten, found: Departure | undefined): Promise<void> {
  const { namespace = '', name = '' } = wanted.metadata
  const { labels = {} } = wanted.metadata
  if (found) await client.update(departure.type, { ...wanted, metadata: { ...found.metadata, labels } })
  else await client.create(departure.type, wanted)
  const status = { phase: 'Leaving', message: null }
  await client.patch(
    departure.type,
    { namespace, name },
    { type: 'merge', body: { status } },
    { subresource: 'status' },
  )
}

/** Only in the version that was read: whoever else writes pages to it counts them, too. */
async function complete(client: Client, record: Departure, contents: AsyncIterable<KubeObject>): Promise<void> {
  const { namespace = '', name, resourceVersion } = record.metadata
  const { takes, pages } = await completePages(client, record, contents)
  if (takes === (record.spec.takes ?? 0) && pages === (record.spec.pages ?? 0)) return
  const body = { metadata: { resourceVersion }, spec: { takes, pages } }
  await client.patch(departure.type, { namespace, name }, { type: 'merge', body })
}

/** Asked before anything of it is read: a kind that is gone while it is read must not pass for a missing place. */
async function canBeWritten(client: Client, record: KubeObject): Promise<boolean> {
  try {
    await client.create(departure.type, record, { dryRun: true })
  } catch (error) {
    if (hasNoPlace(error)) return false
    if (!isStatusError(error, 'AlreadyExists')) throw error
  }
  return true
}
