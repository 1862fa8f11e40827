import { notificationChannel, type NotificationChannel } from '../../apis/notification-channel.ts'
import { sentenceOf } from '../../departures/door/because.ts'
import { backoffDelay } from '../../kube/basics/backoff-delay.ts'
import { groupResource, refOf, type StoredObject } from '../../kube/object.ts'
import { ignoring } from '../../kube/status-error.ts'
import { formatTime, parseTime } from '../../kube/time.ts'
import { maxOwners, ownersIn } from '../../notices/addresses.ts'
import { deliver, soleNotice, type Channel, type Notice, type NoticeWords } from '../../notices/notice.ts'
import { settled, type Outcome } from '../../runtime/controller/outcome.ts'
import { accessTo } from '../../tenancy/confinement.ts'
import { report, selfRequest } from './act.ts'
import { decideRefused, type Decision, type Observed } from './decision/decide.ts'
import { describeTarget, type Model } from './decision/model.ts'
import { currentWarning, type Warning } from './decision/warning.ts'
import { keepUrl } from './keep.ts'
import { writeStatus, type CleanerPorts } from './ports.ts'
import { retryAt, statusFor } from './status.ts'

const words: NoticeWords = {
  rule: 'the Cleaner',
  kind: 'Cleaner',
  title: 'Deletion notice',
  intro: {
    one: 'This Cleaner is about to delete its targets. The data of Secrets cannot be restored unless Sojourn records it.',
    many: 'These Cleaners are about to delete their targets. The data of Secrets cannot be restored unless Sojourn records it.',
  },
  keep: 'Keep it',
  component: 'cleaner',
  eventReason: 'DeletionAnnounced',
  eventType: 'dev.sojourn.cleaner',
}

/** Where a Cleaner that names no channel announces its deletion. */
const eventsOnly = { metadata: { name: 'events' }, spec: { type: 'event' } } as NotificationChannel

/** Announces a deletion: the date is written before people are told, and that they were told before anything is deleted. */
export async function tell(
  ports: CleanerPorts,
  observed: Observed,
  decision: Extract<Decision, { do: 'tell' }>,
): Promise<Outcome> {
  const { self, reading } = observed
  if ('problems' in reading) return settled
  const { model } = reading
  const now = ports.clock.now()
  const channels = (await holdOf(ports, self, model)) ?? (await openChannels(ports, self, model))
  if ('do' in channels) return report(ports, observed, channels)
  const announced: Warning = {
    announcedAt: currentWarning(self)?.announcedAt ?? formatTime(now),
    date: formatTime(Math.ceil(decision.date / 1000) * 1000),
    generation: self.metadata.generation ?? 0,
  }
  const { attempts = 0 } = currentWarning(self) ?? {}
  const status = { ...statusFor(observed, decision, now), warning: announced }
  const written = (await writeStatus(ports, self, status)) ?? self
  const notice = await noticeOf(ports, written, { model, warning: announced })
  const named = ownersOf(self).length
  const refused = `sojourn.dev/owner names ${named} addresses: only the first ${maxOwners} are notified`
  if (named > maxOwners) ports.events.record(self, { type: 'Warning', reason: 'OwnersRefused', message: refused })
  const sending = { signal: AbortSignal.timeout(60_000), log: ports.log }
  const { isTold, error = 'no channel accepted the notice' } = await deliver(notice, channels, sending)
  const backoff = backoffDelay(attempts + 1, { baseMs: 60_000, maxMs: maxRetryMs })
  const outcome = isTold
    ? { toldAt: formatTime(ports.clock.now()) }
    : { attempts: attempts + 1, retryAt: formatTime(now + backoff), error }
  if (!isTold) ports.events.record(self, { type: 'Warning', reason: 'NotAnnounced', message: error })
  await writeStatus(ports, written, { ...status, warning: { ...announced, ...outcome } })
  return settled
}

const maxRetryMs = 6 * 3_600_000

function wait(because: 'held' | 'channel-not-found', message: string, until: number): Decision {
  const text = `${message}; its deletion is not announced, nothing is deleted`
  return { do: 'wait', because, message: text, until, isPeriodic: true }
}

/** What is kept for a reason that time does not end is not announced. */
async function holdOf(ports: CleanerPorts, self: StoredObject, model: Model): Promise<Decision | undefined> {
  const verdict = await ports.door.peek(selfRequest(ports, self, model))
  if (verdict.result !== 'held' && verdict.result !== 'refused') return undefined
  if (verdict.because === 'outside-window' || verdict.because === 'paced') return undefined
  return wait('held', sentenceOf(verdict), retryAt(verdict, ports.clock.now()))
}

/** The channels of a Cleaner. They are an administrator's: the identity behind the Cleaner needs the right to get them. */
async function openChannels(
  { client, clock, actAs, notices }: CleanerPorts,
  self: StoredObject,
  { warn }: Model,
): Promise<readonly Channel[] | Decision> {
  const { channels: names = [] } = warn ?? {}
  const opened: Channel[] = []
  for (const [index, name] of names.entries()) {
    const access = accessTo('get', notificationChannel.type, { name })
    const refusal = await actAs.for(self, { readsElsewhere: true }).refusalOf(access)
    if (refusal) return decideRefused(refusal, clock.now())
    const found = await client.get<NotificationChannel>(notificationChannel.type, { name }).catch(ignoring('NotFound'))
    const problem = `spec.warn.channels[${index}]: `
    const retry = clock.now() + 60_000
    if (!found) return wait('channel-not-found', `${problem}there is no NotificationChannel ${name}`, retry)
    try {
      opened.push(notices.openChannel(found))
    } catch (error) {
      return wait('channel-not-found', problem + (error as Error).message, retry)
    }
  }
  return names.length > 0 ? opened : [notices.openChannel(eventsOnly)]
}

function ownersOf({ metadata }: StoredObject): readonly string[] {
  return ownersIn(metadata.annotations?.['sojourn.dev/owner'] ?? '')
}

async function noticeOf(
  { type, notices }: CleanerPorts,
  self: StoredObject,
  { model, warning }: { readonly model: Model; readonly warning: Warning },
): Promise<Notice> {
  const { namespace = '', name, uid } = self.metadata
  const base = notices.publicUrl()
  const optOutUrl = base === undefined ? undefined : keepUrl(base, await notices.linkKey(), { self, model, warning })
  const deleted = [
    ...model.targets.filter((target) => target.delete).map(describeTarget),
    ...model.releases.map((release) => `Helm release ${release.name}`),
  ]
  const item = {
    candidate: uid,
    generation: warning.generation,
    kind: self.kind,
    namespace,
    name,
    place: `deletes ${deleted.slice(0, 10).join(', ') || 'nothing else'}${deleted.length > 10 ? `, ${deleted.length - 10} more` : ''}`,
    reasons: [model.conditions.length > 0 ? 'all its conditions are true' : 'its TTL expires'],
    deletionAt: parseTime(warning.date) ?? Infinity,
    optOutUrl,
    keepCommand: `kubectl patch ${groupResource(type)} -n ${namespace} ${name} --type=merge -p '{"spec":{"suspend":true}}'`,
    resourceUrl: '',
    otherPolicies: [],
    object: { ...refOf(self), uid },
  }
  const to = ownersOf(self).slice(0, maxOwners)
  return soleNotice(words, `${uid}@${warning.announcedAt}`, { policy: `${namespace}/${name}`, to, items: [item] })
}
