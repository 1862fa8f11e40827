import { defineOwnKind, type ObjectOf } from './define-kind.ts'
import { boolean, health, integer, list, mapOf, object, oneOf, secretName, string, type Static } from './schema.ts'

const secret = (description: string) =>
  object(description, {
    name: secretName,
    'key?': string('Key in the Secret, instead of the default.'),
  })

const smtp = object('Settings of the type smtp.', {
  host: string('Host name of the mail server.', { minLength: 1 }),
  'port?': integer('Port of the mail server. Default: 587.', { minimum: 1, maximum: 65535 }),
  'secure?': boolean('Whether to connect with TLS. Default: false, STARTTLS if the server offers it.'),
  'requireTls?': boolean('Whether to refuse to send without TLS. Default: false.'),
  from: string('Sender address.', { minLength: 3 }),
  'to?': list('Recipients, instead of the owner.', string()),
  'cc?': list('Recipients of a copy of each message.', string()),
  'secretRef?': secret('Secret in the namespace of Sojourn with `username` and `password`.'),
})

const spec = object({
  type: oneOf('How notices are sent; event creates Kubernetes Events on the resources.', [
    'smtp',
    'slack',
    'webhook',
    'event',
  ]),
  'smtp?': smtp,
  'slack?': object('Settings of the type slack.', {
    'url?': string('URL of the incoming webhook. It is a credential: prefer secretRef.'),
    'secretRef?': secret('Secret in the namespace of Sojourn with the incoming webhook under `url`.'),
    'users?': mapOf('Slack member IDs by owner address.', string()),
  }),
  'webhook?': object('Settings of the type webhook.', {
    url: string('URL that notices are posted to.', { minLength: 1 }),
    'format?': oneOf('Format of the request body. Default: cloudevents.', ['json', 'cloudevents']),
    'secretRef?': secret('Secret in the namespace of Sojourn with the signing key under `key`.'),
  }),
})

const status = object(health)

/** A way to notify owners: mail, Slack, a webhook, or Events on the objects themselves. */
export const notificationChannel = defineOwnKind({
  kind: 'NotificationChannel',
  scope: 'Cluster',
  description: 'Defines how owners are notified: by mail, Slack, webhook or Kubernetes Events.',
  spec,
  status,
  columns: [
    { name: 'Type', type: 'string', jsonPath: '.spec.type' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
})

export type NotificationChannel = ObjectOf<typeof notificationChannel>
export type ChannelSpec = Static<typeof spec>
