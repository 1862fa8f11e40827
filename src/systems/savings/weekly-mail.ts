import { environment, type Environment } from '../../apis/environment.ts'
import { sojournNamespace } from '../../apis/group.ts'
import { notificationChannel, type NotificationChannel } from '../../apis/notification-channel.ts'
import { savingsReport, type SavingsReport } from '../../apis/savings-report.ts'
import type { Client } from '../../client/client.ts'
import { isStatusError } from '../../kube/status-error.ts'
import { formatTime } from '../../kube/time.ts'
import type { Channel, Letter } from '../../notices/notice.ts'
import { Controller, type ControllerPorts, type ClusterPorts } from '../../runtime/controller/controller.ts'
import { settled, wakeAt, type Outcome } from '../../runtime/controller/outcome.ts'
import { dayMs, dayOf } from './decision/accrue.ts'
import { ownerLetters, teamLetter, type Week } from './decision/letters.ts'

export interface WeeklyMailOptions extends ClusterPorts {
  /** NotificationChannels of type smtp: one with `smtp.to` is the team's, any other mails owners. */
  readonly channels: readonly string[]
  readonly openChannel: (channel: NotificationChannel) => Channel
}

const key = { cluster: '', kind: savingsReport.kind, namespace: sojournNamespace, name: 'weekly-mail' }
const weekMs = 7 * dayMs
const sentAnnotation = 'sojourn.dev/mailed'
const tries = 3
/** 1970-01-05, a Monday, at 08:00. */
const firstMonday = 4 * dayMs + 8 * 3_600_000

/** Mails owners and the platform team on Mondays at 08:00 UTC what the week before saved. */
export function weeklyMailController(options: WeeklyMailOptions): Controller {
  const { client, informers, ports } = options
  const channels = informers.open<NotificationChannel>(client, notificationChannel.type)
  const controller = new Controller({
    name: 'savings-mail',
    ports,
    concurrency: 1,
    reconcile: async (_, signal): Promise<Outcome> => {
      if (!channels.synced) return wakeAt(ports.clock.now() + 200)
      const wanted = channels.list().filter(({ metadata }) => options.channels.includes(metadata.name))
      if (wanted.length === 0) return settled
      const now = ports.clock.now()
      const monday = firstMonday + Math.floor((now - firstMonday) / weekMs) * weekMs
      const week = await claimWeek(client, monday)
      if (week) for (const channel of wanted) await mail(channel, week, { ...options, signal })
      return wakeAt(monday + weekMs)
    },
  })
  controller.watch(channels, ({ object }) => (options.channels.includes(object.metadata.name) ? [key] : []))
  return controller
}

/**
 * The week before this Monday, if no process has mailed it yet. The newest report of the week says so before the first mail: after a crash
 * some owners get no mail, but none gets two.
 */
async function claimWeek(client: Client, monday: number): Promise<Week | undefined> {
  const [from, until] = [dayOf(monday - weekMs), dayOf(monday)]
  const { items } = await client.list<SavingsReport>(savingsReport.type, { namespace: sojournNamespace })
  const reports = items.filter(({ spec }) => spec.day >= from && spec.day < until)
  const newest = reports.at(-1)
  if (!newest || newest.metadata.annotations?.[sentAnnotation] !== undefined) return undefined
  const annotations = { ...newest.metadata.annotations, [sentAnnotation]: formatTime(monday) }
  try {
    await client.update(savingsReport.type, { ...newest, metadata: { ...newest.metadata, annotations } })
  } catch (error) {
    if (isStatusError(error, 'Conflict')) return undefined
    throw error
  }
  const { items: homes } = await client.list<Environment>(environment.type)
  const environments = homes.map(({ metadata, status, spec }) => {
    return { namespace: metadata.namespace ?? '', owner: status?.owner ?? spec.owner ?? '' }
  })
  const rows = reports.flatMap(({ spec }) => spec.rows)
  return { until, rows, uncounted: newest.spec.uncounted ?? 0, environments }
}

async function mail(
  definition: NotificationChannel,
  week: Week,
  { ports, openChannel, signal }: WeeklyMailOptions & { readonly signal: AbortSignal },
): Promise<void> {
  const channel = openChannel(definition)
  const toTeam = teamLetter(week)
  const letters = channel.audience === 'owner' ? ownerLetters(week) : toTeam ? [{ ...toTeam, to: [] }] : []
  for (const letter of letters) await sent(channel, letter, { ports, signal })
}

async function sent(
  channel: Channel,
  letter: Letter,
  { ports, signal }: { readonly ports: ControllerPorts; readonly signal: AbortSignal },
): Promise<void> {
  for (let attempt = 1; attempt <= tries; attempt++)
    try {
      return await channel.write?.(letter, signal)
    } catch (error) {
      if (signal.aborted) throw error
      ports.log.error('savings mail not sent', { channel: channel.name, attempt, error })
    }
}
