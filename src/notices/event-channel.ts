import { shortDigest } from '../kube/basics/short-digest.ts'
import { cleanupCandidate } from '../apis/cleanup-candidate.ts'
import type { Client } from '../client/client.ts'
import { events } from '../kube/core-types.ts'
import { ignoring } from '../kube/status-error.ts'
import { formatTime } from '../kube/time.ts'
import type { Clock } from '../runtime/time/clock.ts'
import { cleanupWords, dateText, howToKeep, reasonsOf, type Channel, type Notice, type NoticeItem } from './notice.ts'

/** Records an Event on each object, or on its CleanupCandidate when the object is not in this cluster. */
export function eventChannel(
  name: string,
  { client, clock }: { readonly client: Client; readonly clock: Clock },
): Channel {
  return {
    name,
    audience: 'readers',
    async send(notice, signal) {
      for (const item of notice.items)
        await client.create(events, eventOf(item, notice, clock.now()), { signal }).catch(ignoring('AlreadyExists'))
      return { accepted: [`event:${name}`], rejected: [] }
    },
  }
}

function eventOf(item: NoticeItem, { kind, messageId, timeZone, policy, words = cleanupWords }: Notice, now: number) {
  const about = item.object ?? {
    apiVersion: cleanupCandidate.apiVersion,
    kind: cleanupCandidate.kind,
    name: item.candidate,
  }
  // Events about cluster-scoped objects belong in the namespace default.
  const namespace = item.object?.namespace ?? 'default'
  const digest = shortDigest(`${messageId}/${item.candidate}`)
  const at = formatTime(now)
  // An Event message holds 1024 characters, and the link or command at its end must not be cut.
  const why = reasonsOf(item)
    .join('; ')
    .slice(0, Math.max(0, 850 - howToKeep(item).length))
  // A Cleaner announces its own deletion, and what it deletes.
  const what =
    words.component === 'cleaner'
      ? `${item.place.replace('deletes', 'will delete')} and itself`
      : 'will delete this resource'
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `${about.name.slice(0, 200)}.${digest}`, namespace },
    involvedObject: about,
    type: 'Warning',
    reason: kind === 'reminder' ? 'CleanupReminder' : words.eventReason,
    message: `${words.kind} ${policy} ${what} from ${dateText(item.deletionAt, timeZone)}. ${why}. To keep it, ${howToKeep(item)}`,
    source: { component: `sojourn-${words.component}` },
    firstTimestamp: at,
    lastTimestamp: at,
    count: 1,
  }
}
