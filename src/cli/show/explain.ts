import { recordOf } from '../../app/operations/restore.ts'
import { events } from '../../kube/core-types.ts'
import type { Client } from '../../client/client.ts'
import { describeRef, type StoredObject } from '../../kube/object.ts'
import { ignoring, isStatusError, StatusError } from '../../kube/status-error.ts'
import { readFlags, type Command } from '../terminal/command.ts'
import { connect, type Connection } from '../terminal/connect.ts'
import { deletedNamed, findObjectOrCloud } from '../terminal/object-word.ts'
import { checkVersions } from '../terminal/same-version.ts'
import { print } from '../terminal/output.ts'
import { itemDocument } from './item-document.ts'

/** Explains why an object is (not) deleted, promoted or asleep. */
export const explain: Command = {
  name: 'explain',
  summary: 'Explain why an object is (not) deleted, promoted or asleep',
  usage: 'KIND/NAME | KIND NAME [flags]',
  help: `
Examples:
  sojourn explain cleaner/preview -n team
  sojourn explain service/shop -n team
  sojourn explain pipeline/shop -n team
  sojourn explain cleanuppolicy/unused
  sojourn explain configmap/settings -n team -o json
  sojourn explain volume/vol-0123          # a cloud resource that a policy targets`,
  flags: readFlags,
  words: { min: 1, max: 2, completes: ['objects'] },
  async run(call) {
    using connection = connect(call)
    await checkVersions(connection, call.io)
    const { client, namespace } = connection
    const word = call.words.join('/')
    const found = await findObjectOrCloud(client, word, namespace).catch(async (error: unknown) => {
      throw await whyMissing(connection, word, error)
    })
    if ('cloud' in found) {
      const { explainCloudResource } = await import('../../app/operations/explain-cloud.ts')
      const sentences = await explainCloudResource(client, found.cloud)
      return print(call, { resource: found.cloud, sentences }, () => sentences.join('\n'))
    }
    const { type, object } = found
    const { explainObject } = await import('../../queries/explain.ts')
    const { sentences, items, unread } = await explainObject(client, { type, object }, call.io.now())
    const events = await eventsOf(client, object)
    const { managedFields: _, ...metadata } = object.metadata
    const data = { object: { kind: type.kind, ...metadata }, sentences, stays: items.map(itemDocument), unread, events }
    print(call, data, () =>
      [...sentences, ...(events.length > 0 ? ['', 'Recent Events:', ...events.map((line) => `  ${line}`)] : [])].join(
        '\n',
      ),
    )
  },
}

/** Where a record says what deleted the object, an error that does. */
async function whyMissing({ client, namespace }: Connection, word: string, missing: unknown): Promise<unknown> {
  if (!isStatusError(missing, 'NotFound')) return missing
  try {
    const deleted = await deletedNamed(client, word, namespace)
    const { spec, decidedBy } = await recordOf(client, deleted)
    const { object, by, because, recordedAt } = spec
    const rule = decidedBy ?? (by.object && `${by.object.kind}/${by.object.name}`)
    const what = describeRef({ ...object, ...deleted })
    const where = deleted.namespace ? ` -n ${deleted.namespace}` : ''
    return new StatusError(
      'NotFound',
      `${what} was deleted at ${recordedAt} by the ${by.system}${rule ? ` (${rule})` : ''}: ${because}; to restore it, run "sojourn restore ${word}${where}"`,
    )
  } catch (error) {
    return isStatusError(error, 'Invalid') ? error : missing
  }
}

interface EventObject extends StoredObject {
  readonly reason?: string
  readonly message?: string
  readonly note?: string
  readonly lastTimestamp?: string
  readonly eventTime?: string
}

async function eventsOf(client: Client, { metadata }: StoredObject): Promise<readonly string[]> {
  const list = await client
    .list<EventObject>(events, {
      namespace: metadata.namespace ?? 'default',
      fieldSelector: `involvedObject.uid=${metadata.uid}`,
    })
    .catch(ignoring('NotFound', 'Forbidden', 'BadRequest'))
  const at = ({ lastTimestamp, eventTime, metadata: { creationTimestamp } }: EventObject) =>
    lastTimestamp ?? eventTime ?? creationTimestamp
  return (list?.items ?? [])
    .toSorted((left, right) => (at(left) < at(right) ? 1 : -1))
    .slice(0, 10)
    .map((event) => `${at(event)}  ${event.reason}: ${event.message ?? event.note ?? ''}`)
}
