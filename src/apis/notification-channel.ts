import { defineKind, type ObjectOf } from './define-kind.ts'
import { sojournGroup } from './group.ts'
import { boolean, conditions, integer, list, mapOf, object, oneOf, optional, string, type Static } from './schema.ts'

const secret = (description: string) =>
  optional(object({ name: string({ minLength: 1 }), key: optional(string()) }, { description }))

const smtp = object({
  host: string({ minLength: 1 }),
  port: optional(integer({ minimum: 1, maximum: 65535, description: 'Defaults to 587.' })),
  secure: optional(boolean({ description: 'TLS from the first byte. Defaults to false: STARTTLS where offered.' })),
  requireTls: optional(boolean({ description: 'Refuse to send in clear. Defaults to false.' })),
  from: string({ minLength: 3 }),
  to: optional(list(string(), { description: 'Instead of the owner.' })),
  cc: optional(list(string())),
  secretRef: secret('Secret in our own namespace with `username` and `password`.'),
})

const spec = object({
  type: oneOf(['smtp', 'slack', 'webhook', 'event']),
  smtp: optional(smtp),
  slack: optional(
    object({
      url: optional(string({ description: 'The incoming webhook; better kept in a Secret.' })),
      secretRef: secret('Secret in our own namespace with the webhook under `url`.'),
      users: optional(mapOf(string(), { description: 'Which Slack member id stands for which owner address.' })),
    }),
  ),
  webhook: optional(
    object({
      url: string({ minLength: 1 }),
      format: optional(oneOf(['json', 'cloudevents'], { description: 'Defaults to cloudevents.' })),
      secretRef: secret('Secret in our own namespace with the signing key under `key`.'),
    }),
  ),
})

const status = object({ conditions: optional(conditions()) })

/** A way to reach people: mail, Slack, a webhook, or Events on the objects themselves. */
export const notificationChannel = defineKind({
  ...sojournGroup,
  kind: 'NotificationChannel',
  plural: 'notificationchannels',
  scope: 'Cluster',
  description: 'How owners are told: smtp, slack, webhook or Kubernetes Events.',
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
