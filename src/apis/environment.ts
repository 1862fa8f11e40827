import { defineOwnKind, type ObjectOf } from './define-kind.ts'
import { conditions, integer, list, object, objects, oneOf, secretName, string, time, type Static } from './schema.ts'

const spec = object(
  {
    className: string('EnvironmentClass whose rules the environment lives by. Immutable.', {
      minLength: 1,
      maxLength: 253,
      'x-kubernetes-validations': [
        { rule: 'self == oldSelf', message: 'cannot be changed: delete this Environment and create another one' },
      ],
    }),
    'owner?': string('Address of the owner. Default: as the class finds it on the Namespace.', { maxLength: 320 }),
    'pullRequest?': object(
      'Pull request that the environment shows. Default: the annotation `sojourn.dev/pull-request` of the Namespace.',
      {
        url: string('Web address of the pull request.', { maxLength: 2048, pattern: '^https?://[^\\s/@]+/\\S+$' }),
        'secretRef?': object('Secret in this namespace with `token`, instead of the one of the class.', {
          name: secretName,
        }),
      },
    ),
    'power?': oneOf(
      'Auto: the class decides. Awake, Asleep: by hand until powerUntil; a request still wakes it. Default: Auto.',
      ['Auto', 'Awake', 'Asleep'],
    ),
    'powerSince?': time('When power was set by hand; requests before it do not keep the environment awake.'),
    'powerUntil?': time('Until when power is set by hand. Required unless power is Auto.'),
    'keepUntil?': time('Until when the environment is kept, at most to the maxAge of its class.'),
  },
  {
    'x-kubernetes-validations': [
      {
        rule: "!has(self.power) || self.power == 'Auto' || has(self.powerUntil)",
        message: 'powerUntil is required when power is Awake or Asleep',
      },
    ],
  },
)

/** What decides the date of a deletion. */
export const dueReasons = [
  'pull-request-closed',
  'pull-request-stale',
  'unused',
  'max-age',
  'condition',
  'evicted',
] as const

const announcement = object('The announced deletion.', {
  reason: oneOf('Why the environment is deleted.', dueReasons),
  date: time('When the environment is deleted at the earliest.'),
  writtenAt: time('When the date was set.'),
  'toldAt?': time('When the owner was told.'),
  'owner?': string('Owner who was told, or is to be told.'),
  'attempts?': integer('Number of attempts to tell the owner.'),
  'retryAt?': time('When the owner is told again after a failure.'),
  'messageId?': string('Message-ID of the notice.'),
  generation: integer('Number of the announcement; keep links are valid for one number.'),
})

const status = object({
  'phase?': oneOf(
    'Awake, Waking, Asleep: the workloads. Announced: the owner is told of the deletion. Held: the deletion is due and something holds it. Deleting: the deletion has begun.',
    ['Awake', 'Waking', 'Asleep', 'Announced', 'Held', 'Deleting'],
  ),
  'power?': oneOf('Whether the workloads are awake, whatever the phase.', ['Awake', 'Waking', 'Asleep']),
  'because?': string('Why power is as it is, as a machine-readable word.'),
  'message?': string('What happens next, in a sentence.'),
  'owner?': string('The owner in effect.'),
  'urls?': list('Web addresses of the environment.', string()),
  'lastUsedAt?': time('When the environment was last used.'),
  'lastUsedBy?': oneOf('What the last use was.', ['Created', 'Traffic', 'Deploy', 'Exec', 'Wake', 'Keep']),
  'sleepsAt?': time('When the workloads sleep if nothing happens.'),
  'wakesAt?': time('When the workloads wake by schedule.'),
  'deletesAt?': time('When the environment is deleted if nothing happens.'),
  'announcement?': announcement,
  'announcements?': integer('Number of announcements so far.'),
  'lastToldAt?': time('When the owner was last told anything.'),
  'kept?': object('The last keep.', {
    until: time('Until when the environment is kept.'),
    by: string('Who kept it.'),
  }),
  'deployed?': object('The last deploy.', {
    hash: string('Digest of all Pod templates.'),
    at: time('When the digest last changed.'),
  }),
  'pullRequest?': object('The pull request as last read.', {
    url: string('Web address of the pull request that the rest is about.'),
    state: oneOf('State of the pull request.', ['open', 'closed', 'merged', 'unknown']),
    'seenAt?': time('When the state was last read.'),
    'closedAt?': time('When it was closed or merged.'),
    'headSHA?': string('Head commit.'),
    'headChangedAt?': time('When the head commit last changed.'),
    'commentId?': string('ID of the comment; `deleted` after a person deleted it.'),
    'commentDigest?': string('Digest of the comment as last written.'),
    'commentedAt?': time('When the comment was last written.'),
    'statusDigest?': string('Digest of the commit status as last written.'),
  }),
  'deletion?': object('The deletion that was decided and is being carried out.', {
    step: oneOf('Step that is being carried out.', ['Record', 'Tool', 'Helm', 'Namespace']),
    reason: oneOf('Why the environment is deleted.', dueReasons),
    startedAt: time('When the deletion began.'),
    stepAt: time('When the step began.'),
    'record?': string('Departure that a restore needs, in the namespace of Sojourn.'),
  }),
  'workloads?': object('Workloads that can sleep.', {
    awake: integer('Number of workloads with Pods.'),
    asleep: integer('Number of workloads that Sojourn put to sleep.'),
  }),
  'timeline?': objects(
    'Changes between awake and asleep in the last seven days.',
    {
      at: time('When it changed.'),
      power: oneOf('What it changed to.', ['Awake', 'Asleep']),
    },
    { maxItems: 60 },
  ),
  'observedGeneration?': integer('metadata.generation that the status was computed from.', { minimum: 0 }),
  'conditions?': conditions(),
})

/** One preview or test environment: the life of its Namespace. */
export const environment = defineOwnKind({
  kind: 'Environment',
  scope: 'Namespaced',
  description:
    'Makes its Namespace an environment that sleeps, is announced, kept and deleted by the rules of its class.',
  shortNames: ['env'],
  spec,
  status,
  columns: [
    { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
    { name: 'Owner', type: 'string', jsonPath: '.status.owner' },
    { name: 'URL', type: 'string', jsonPath: '.status.urls[0]' },
    { name: 'Used', type: 'date', jsonPath: '.status.lastUsedAt' },
    { name: 'Sleeps', type: 'string', jsonPath: '.status.sleepsAt' },
    { name: 'Deletes', type: 'string', jsonPath: '.status.deletesAt' },
    { name: 'PR', type: 'string', jsonPath: '.status.pullRequest.state' },
    { name: 'Message', type: 'string', jsonPath: '.status.message', priority: 1 },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
})

export type Environment = ObjectOf<typeof environment>
export type EnvironmentStatus = Static<typeof status>
export type DueReason = (typeof dueReasons)[number]
