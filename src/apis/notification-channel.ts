import { defineKind, type ObjectOf } from './define-kind.ts'
import { sojournGroup } from './group.ts'
import { boolean, health, integer, list, mapOf, object, oneOf, optional, string, type Static } from './schema.ts'

const secret = (description: string) =>
  optional(
    object(
      {
        name: string({ minLength: 1, description: 'Name of the Secret.' }),
        key: optional(string({ description: 'Key in the Secret, instead of the default.' })),
      },
      { description },
    ),
  )

const smtp = object(
  {
    host: string({ minLength: 1, description: 'Host name of the mail server.' }),
    port: optional(integer({ minimum: 1, maximum: 65535, description: 'Port of the mail server. Default: 587.' })),
    secure: optional(
      boolean({ description: 'Whether to connect with TLS. Default: false, STARTTLS if the server offers it.' }),
    ),
    requireTls: optional(boolean({ description: 'Whether to refuse to send without TLS. Default: false.' })),
    from: string({ minLength: 3, description: 'Sender address.' }),
    to: optional(list(string(), { description: 'Recipients, instead of the owner.' })),
    cc: optional(list(string(), { description: 'Recipients of a copy of each message.' })),
    secretRef: secret('Secret in the namespace of Sojourn with `username` and `password`.'),
  },
  { description: 'Settings of the type smtp.' },
)

const spec = object({
  type: oneOf(['smtp', 'slack', 'webhook', 'event'], {
    description: 'How notices are sent; event creates Kubernetes Events on the resources.',
  }),
  smtp: optional(smtp),
  slack: optional(
    object(
      {
        url: optional(string({ description: 'URL of the incoming webhook. It is a credential: prefer secretRef.' })),
        secretRef: secret('Secret in the namespace of Sojourn with the incoming webhook under `url`.'),
        users: optional(mapOf(string(), { description: 'Slack member IDs by owner address.' })),
      },
      { description: 'Settings of the type slack.' },
    ),
  ),
  webhook: optional(
    object(
      {
        url: string({ minLength: 1, description: 'URL that notices are posted to.' }),
        format: optional(
          oneOf(['json', 'cloudevents'], { description: 'Format of the request body. Default: cloudevents.' }),
        ),
        secretRef: secret('Secret in the namespace of Sojourn with the signing key under `key`.'),
      },
      { description: 'Settings of the type webhook.' },
    ),
  ),
})

const status = object(health)

/** A way to notify owners: mail, Slack, a webhook, or Events on the objects themselves. */
export const notificationChannel = defineKind({
  ...sojournGroup,
  kind: 'NotificationChannel',
  plural: 'notificationchannels',
  scope: 'Cluster',
  description: 'Defines how owners are notified: by mail, Slack, webhook or Kubernetes Events.',
  categories: ['sojourn'],
  spec,
  status,
  columns: [
    { name: 'Type', type: 'string', jsonPath: '.spec.type' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
})

export type NotificationChannel = ObjectOf<typeof notificationChannel>
export type ChannelSpec = Static<typeof spec>
