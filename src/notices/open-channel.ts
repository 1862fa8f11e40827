import { secrets } from '../kube/core-types.ts'
import { sojournNamespace } from '../apis/group.ts'
import type { NotificationChannel } from '../apis/notification-channel.ts'
import type { Client } from '../client/client.ts'
import { publicText } from '../kube/redact.ts'
import { ignoring } from '../kube/status-error.ts'
import type { Network } from '../runtime/http/http.ts'
import { knownSecrets } from '../runtime/observability/known-secrets.ts'
import { HourlyLimits } from '../runtime/sharing/hourly-limits.ts'
import type { Clock } from '../runtime/time/clock.ts'
import { mailboxOf } from './addresses.ts'
import { eventChannel } from './event-channel.ts'
import type { Channel, Letter, Notice } from './notice.ts'
import { slackChannel } from './slack.ts'
import { smtpChannel } from './smtp-channel.ts'
import { webhookChannel } from './webhook-channel.ts'

export interface ChannelPorts {
  readonly client: Client
  readonly clock: Clock
  readonly network: Pick<Network, 'http' | 'connect'>
}

/** What is wrong with a channel's definition; undefined when it is valid. */
export function channelProblem({ spec }: Pick<NotificationChannel, 'spec'>): string | undefined {
  const { smtp, slack = {}, webhook } = spec
  switch (spec.type) {
    case 'smtp':
      return smtp ? undefined : 'it needs spec.smtp'
    case 'slack':
      return slack.url || slack.secretRef ? undefined : 'it needs spec.slack.url or spec.slack.secretRef'
    case 'webhook':
      if (!webhook) return 'it needs spec.webhook'
      return URL.canParse(webhook.url) ? undefined : 'spec.webhook.url is not a URL'
    case 'event':
      return undefined
  }
}

/** Opens a channel; throws when its definition is invalid. Secrets are read anew for each notice, and their values are in none. */
export function openChannel(definition: NotificationChannel, ports: ChannelPorts): Channel {
  const channel = openUnredacted(definition, ports)
  const { write } = channel
  return {
    ...channel,
    send: (notice, signal) => channel.send(redacted(notice), signal),
    ...(write ? { write: ({ to, ...texts }, signal) => write({ to, ...shownIn(texts) }, signal) } : {}),
  }
}

/** How many notices a channel carries in an hour: about one namespace, about it to one mailbox, and to one mailbox in all. Tenants write owners, and cause notices. */
const perHour = { namespace: 100, mailboxOfNamespace: 20, mailbox: 100 }

/** What the channels of one system may still send. */
export function noticeLimits({ client, clock }: Pick<ChannelPorts, 'client' | 'clock'>): HourlyLimits {
  return new HourlyLimits({ client, clock, place: { namespace: sojournNamespace, name: 'sojourn-notice-limits' } })
}

/** The channel within its limits: it rejects a notice that is too much, which is then sent later, and leaves out addresses that got too many. */
export function limitedChannel(channel: Channel, limits: HourlyLimits): Channel {
  // Events reach those only who read the object.
  if (channel.audience === 'readers') return channel
  return {
    ...channel,
    async send(notice, signal) {
      const namespaces = new Set(notice.items.map(({ namespace, object }) => namespace ?? object?.namespace))
      // Notices about several namespaces are not a single tenant's.
      const [namespace] = namespaces.size === 1 ? namespaces : []
      const about = namespace === undefined ? '' : ` about namespace ${namespace}`
      const limit = (key: keyof typeof perHour, ...parts: readonly string[]) => ({
        key: JSON.stringify([channel.name, key, ...parts]),
        perHour: perHour[key],
      })
      const excess = namespace !== undefined && (await limits.take([limit('namespace', namespace)]))
      if (excess) throw new TooManyNotices(`within an hour${about}`)
      const to: string[] = []
      for (const address of notice.to) {
        const mailbox = mailboxOf(address)
        const own = namespace === undefined ? [] : [limit('mailboxOfNamespace', namespace, mailbox)]
        if ((await limits.take([...own, limit('mailbox', mailbox)])) === undefined) to.push(address)
      }
      if (to.length === 0 && notice.to.length > 0)
        throw new TooManyNotices(`to ${notice.to.join(', ')} within an hour${about}`)
      return channel.send({ ...notice, to }, signal)
    },
  }
}

/** A notice that is sent later: nothing has failed, and nothing is deleted before it is sent. */
export class TooManyNotices extends Error {
  constructor(what: string) {
    super(`too many notices ${what}: this one is sent later`)
  }
}

const shown = (text: string) => publicText(text, knownSecrets)

function shownIn({ subject, text }: Omit<Letter, 'to'>): Omit<Letter, 'to'> {
  // Each line for itself: a text as a whole would lose its lines and all behind the first kilobyte.
  return { subject: shown(subject), text: text.split('\n').map(shown).join('\n') }
}

/** Names and reasons come from objects of others. Links stay as they are: their signatures are in them. */
function redacted(notice: Notice): Notice {
  const items = notice.items.map((item) => ({
    ...item,
    name: shown(item.name),
    place: shown(item.place),
    ...(item.about === undefined ? {} : { about: shown(item.about) }),
    reasons: item.reasons.map(shown),
  }))
  return { ...notice, items }
}

function openUnredacted({ metadata, spec }: NotificationChannel, ports: ChannelPorts): Channel {
  const { name } = metadata
  const problem = channelProblem({ spec })
  if (problem !== undefined) throw new Error(`NotificationChannel ${name}: ${problem}`)
  switch (spec.type) {
    case 'smtp': {
      const { smtp = missing() } = spec
      const { secretRef } = smtp
      const credentials = async () => {
        if (!secretRef) return undefined
        const data = await readSecret(ports.client, secretRef.name)
        return { username: data.username ?? '', password: data.password ?? '' }
      }
      return smtpChannel(name, smtp, { credentials, connect: ports.network.connect })
    }
    case 'slack': {
      const { url, secretRef, users = {} } = spec.slack ?? {}
      const target = async () =>
        secretRef ? ((await readSecret(ports.client, secretRef.name))[secretRef.key ?? 'url'] ?? '') : (url ?? '')
      return slackChannel(name, users, { url: target, http: ports.network.http })
    }
    case 'webhook': {
      const { webhook = missing() } = spec
      const { secretRef } = webhook
      const key = async () =>
        secretRef ? (await readSecret(ports.client, secretRef.name))[secretRef.key ?? 'key'] : undefined
      return webhookChannel(name, webhook, { clock: ports.clock, http: ports.network.http, key })
    }
    case 'event':
      return eventChannel(name, ports)
  }
}

function missing(): never {
  throw new Error('channelProblem did not report a missing field')
}

/** The decoded data of a Secret in Sojourn's namespace. Throws when it is missing: nothing is sent without credentials. */
export async function readSecret(client: Client, name: string): Promise<Readonly<Record<string, string>>> {
  const secret = await client.get(secrets, { namespace: sojournNamespace, name }).catch(ignoring('NotFound'))
  if (!secret) throw new Error(`there is no Secret ${sojournNamespace}/${name}`)
  const data = (secret.data ?? {}) as Readonly<Record<string, string>>
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8').trim()]),
  )
}
