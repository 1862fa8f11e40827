import { sojournNamespace } from '../../../apis/group.ts'
import type { NotificationChannel } from '../../../apis/notification-channel.ts'
import type { Client } from '../../../client/client.ts'
import type { ResourceType } from '../../../kube/object.ts'
import { ignoring } from '../../../kube/status-error.ts'
import type { Clock } from '../../../runtime/clock.ts'
import { eventChannel } from './event-channel.ts'
import type { Channel } from './notice.ts'
import { slackChannel } from './slack-channel.ts'
import { smtpChannel } from './smtp-channel.ts'
import { webhookChannel } from './webhook-channel.ts'

export interface ChannelPorts {
  readonly client: Client
  readonly clock: Clock
}

const secrets: ResourceType = { group: '', version: 'v1', kind: 'Secret', plural: 'secrets', namespaced: true }

/** A channel ready to send, or an Error that says what its definition lacks. Secrets are read anew for each notice. */
export function openChannel({ metadata, spec }: NotificationChannel, ports: ChannelPorts): Channel {
  const { name } = metadata
  switch (spec.type) {
    case 'smtp': {
      const { smtp } = spec
      if (!smtp) throw new Error(`NotificationChannel ${name} needs spec.smtp`)
      const { secretRef } = smtp
      return smtpChannel(name, smtp, async () => {
        if (!secretRef) return undefined
        const data = await readSecret(ports.client, secretRef.name)
        return { username: data.username ?? '', password: data.password ?? '' }
      })
    }
    case 'slack': {
      const { url, secretRef, users = {} } = spec.slack ?? {}
      if (!url && !secretRef)
        throw new Error(`NotificationChannel ${name} needs spec.slack.url or spec.slack.secretRef`)
      return slackChannel(name, users, async () => {
        if (!secretRef) return url ?? ''
        return (await readSecret(ports.client, secretRef.name))[secretRef.key ?? 'url'] ?? ''
      })
    }
    case 'webhook': {
      const { webhook } = spec
      if (!webhook) throw new Error(`NotificationChannel ${name} needs spec.webhook`)
      if (!URL.canParse(webhook.url)) throw new Error(`NotificationChannel ${name}: spec.webhook.url is not a URL`)
      const { secretRef } = webhook
      const key = async () =>
        secretRef ? (await readSecret(ports.client, secretRef.name))[secretRef.key ?? 'key'] : undefined
      return webhookChannel(name, webhook, { clock: ports.clock, key })
    }
    case 'event':
      return eventChannel(name, ports)
  }
}

/** The texts of a Secret of ours. Throws when it is missing: sending without it would be something else. */
export async function readSecret(client: Client, name: string): Promise<Readonly<Record<string, string>>> {
  const secret = await client.get(secrets, { namespace: sojournNamespace, name }).catch(ignoring('NotFound'))
  if (!secret) throw new Error(`there is no Secret ${sojournNamespace}/${name}`)
  const data = (secret.data ?? {}) as Readonly<Record<string, string>>
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8').trim()]),
  )
}
