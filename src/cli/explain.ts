import type { Client } from '../client/client.ts'
import type { ResourceType, StoredObject } from '../kube/object.ts'
import { ignoring } from '../kube/status-error.ts'
import { formatAge, formatTime, parseTime } from '../kube/time.ts'
import { readFlags, type Command } from './command.ts'
import { connect } from './connect.ts'
import { findObject } from './object-word.ts'
import { print } from './output.ts'

/** Why it is (not) deleted, promoted, asleep. */
export const explain: Command = {
  name: 'explain',
  summary: 'Why it is (not) deleted, promoted, asleep: the last decision, in sentences',
  usage: 'KIND/NAME [flags]',
  help: `
Examples:
  sojourn explain cleaner/preview -n team
  sojourn explain service/shop -n team
  sojourn explain configmap/settings -n team`,
  flags: readFlags,
  words: { least: 1, most: 1 },
  async run(call) {
    using connection = connect(call)
    const { client, namespace } = connection
    const { type, object } = await findObject(client, call.words[0] ?? '', namespace)
    const { readStays } = await import('../app/stays.ts')
    const { protectionsOf } = await import('../app/protections.ts')
    const { obstacles } = await import('../app/cascade.ts')
    const now = call.io.now()
    const stays = await readStays(client, { namespace: object.metadata.namespace, now })
    const about = stays.filter((stay) => stay.object.name === object.metadata.name && stay.object.kind === type.kind)
    const protections = await protectionsOf(client, { ...object, kind: type.kind }, now)
    const events = await eventsOf(client, object)
    const sentences = [
      ...leavingSentences(object, now, object.metadata.deletionTimestamp ? await obstacles(client, object) : []),
      ...about.map(
        ({ system, state, next, why }) =>
          `The ${system} says ${state}: ${why}.${next?.at === undefined ? '' : ` Next: ${next.what} at ${formatTime(next.at)}, in ${formatAge(next.at - now)}.`}`,
      ),
      ...protections.map((sentence) => `No system of ours deletes it: ${sentence}.`),
      ...(about.length === 0 && protections.length === 0 && !object.metadata.deletionTimestamp
        ? ['No system of ours has anything to do with it: it stays.']
        : []),
    ]
    const data = {
      object: { kind: type.kind, ...object.metadata, managedFields: undefined },
      sentences,
      stays: about,
      events,
    }
    print(call, data, () =>
      [
        ...sentences,
        ...(events.length > 0 ? ['', 'What happened lately:', ...events.map((line) => `  ${line}`)] : []),
      ].join('\n'),
    )
  },
}

function leavingSentences({ metadata }: StoredObject, now: number, obstacles: readonly string[]): readonly string[] {
  const { deletionTimestamp, finalizers = [] } = metadata
  if (!deletionTimestamp) return []
  const age = formatAge(now - (parseTime(deletionTimestamp) ?? now))
  const waits = finalizers.length > 0 ? `; it is still here because of ${finalizers.join(', ')}` : ''
  const what = obstacles.map((obstacle) => `It cannot go before ${obstacle}.`)
  return [`It was told to leave ${age} ago${waits}.`, ...what]
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
    .list<EventObject>(eventsType, {
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

const eventsType: ResourceType = { group: '', version: 'v1', kind: 'Event', plural: 'events', namespaced: true }
