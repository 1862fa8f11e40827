import { defineKind, type ObjectOf } from './define-kind.ts'
import { sojournGroup } from './group.ts'
import { conditions, integer, list, number, object, oneOf, optional, string, time, type Static } from './schema.ts'

const spec = object(
  {
    className: string({
      minLength: 1,
      maxLength: 253,
      description: 'EnvironmentClass whose rules the environment lives by. Immutable.',
      'x-kubernetes-validations': [
        { rule: 'self == oldSelf', message: 'cannot be changed: delete this Environment and create another one' },
      ],
    }),
    owner: optional(
      string({ maxLength: 320, description: 'Address of the owner. Default: as the class finds it on the Namespace.' }),
    ),
    pullRequest: optional(
      object(
        {
          url: string({
            maxLength: 2048,
            pattern: '^https?://[^\\s/@]+/\\S+$',
            description: 'Web address of the pull request.',
          }),
          secretRef: optional(
            object(
              { name: string({ minLength: 1, description: 'Name of the Secret.' }) },
              { description: 'Secret in this namespace with `token`, instead of the one of the class.' },
            ),
          ),
        },
        {
          description:
            'Pull request that the environment shows. Default: the annotation `sojourn.dev/pull-request` of the Namespace.',
        },
      ),
    ),
    power: optional(
      oneOf(['Auto', 'Awake', 'Asleep'], {
        description:
          'Auto: the class decides. Awake, Asleep: by hand until powerUntil; a request still wakes it. Default: Auto.',
      }),
    ),
    powerSince: optional(
      time({ description: 'When power was set by hand; requests before it do not keep the environment awake.' }),
    ),
    powerUntil: optional(time({ description: 'Until when power is set by hand. Required unless power is Auto.' })),
    keepUntil: optional(
      time({ description: 'Until when the environment is kept, at most to the maxAge of its class.' }),
    ),
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

const announcement = object(
  {
    reason: oneOf(dueReasons, { description: 'Why the environment is deleted.' }),
    date: time({ description: 'When the environment is deleted at the earliest.' }),
    writtenAt: time({ description: 'When the date was set.' }),
    toldAt: optional(time({ description: 'When the owner was told.' })),
    owner: optional(string({ description: 'Owner who was told, or is to be told.' })),
    attempts: optional(integer({ description: 'Number of attempts to tell the owner.' })),
    retryAt: optional(time({ description: 'When the owner is told again after a failure.' })),
    messageId: optional(string({ description: 'Message-ID of the notice.' })),
    generation: integer({ description: 'Number of the announcement; keep links are valid for one number.' }),
  },
  { description: 'The announced deletion.' },
)

const status = object({
  phase: optional(
    oneOf(['Awake', 'Waking', 'Asleep', 'Announced', 'Held', 'Deleting'], {
      description:
        'Awake, Waking, Asleep: the workloads. Announced: the owner is told of the deletion. Held: the deletion is due and something holds it. Deleting: the deletion has begun.',
    }),
  ),
  power: optional(
    oneOf(['Awake', 'Waking', 'Asleep'], { description: 'Whether the workloads are awake, whatever the phase.' }),
  ),
  because: optional(string({ description: 'Why power is as it is, as a machine-readable word.' })),
  message: optional(string({ description: 'What happens next, in a sentence.' })),
  owner: optional(string({ description: 'The owner in effect.' })),
  urls: optional(list(string(), { description: 'Web addresses of the environment.' })),
  lastUsedAt: optional(time({ description: 'When the environment was last used.' })),
  lastUsedBy: optional(
    oneOf(['Created', 'Traffic', 'Deploy', 'Exec', 'Wake', 'Keep'], { description: 'What the last use was.' }),
  ),
  sleepsAt: optional(time({ description: 'When the workloads sleep if nothing happens.' })),
  wakesAt: optional(time({ description: 'When the workloads wake by schedule.' })),
  deletesAt: optional(time({ description: 'When the environment is deleted if nothing happens.' })),
  announcement: optional(announcement),
  announcements: optional(integer({ description: 'Number of announcements so far.' })),
  lastToldAt: optional(time({ description: 'When the owner was last told anything.' })),
  kept: optional(
    object(
      {
        until: time({ description: 'Until when the environment is kept.' }),
        by: string({ description: 'Who kept it.' }),
      },
      { description: 'The last keep.' },
    ),
  ),
  deployed: optional(
    object(
      {
        hash: string({ description: 'Digest of all Pod templates.' }),
        at: time({ description: 'When the digest last changed.' }),
      },
      { description: 'The last deploy.' },
    ),
  ),
  pullRequest: optional(
    object(
      {
        url: string({ description: 'Web address of the pull request that the rest is about.' }),
        state: oneOf(['open', 'closed', 'merged', 'unknown'], { description: 'State of the pull request.' }),
        seenAt: optional(time({ description: 'When the state was last read.' })),
        closedAt: optional(time({ description: 'When it was closed or merged.' })),
        headSHA: optional(string({ description: 'Head commit.' })),
        headChangedAt: optional(time({ description: 'When the head commit last changed.' })),
        commentId: optional(string({ description: 'ID of the comment; `deleted` after a person deleted it.' })),
        commentDigest: optional(string({ description: 'Digest of the comment as last written.' })),
        commentedAt: optional(time({ description: 'When the comment was last written.' })),
        statusDigest: optional(string({ description: 'Digest of the commit status as last written.' })),
      },
      { description: 'The pull request as last read.' },
    ),
  ),
  deletion: optional(
    object(
      {
        step: oneOf(['Record', 'Tool', 'Helm', 'Namespace'], { description: 'Step that is being carried out.' }),
        reason: oneOf(dueReasons, { description: 'Why the environment is deleted.' }),
        startedAt: time({ description: 'When the deletion began.' }),
        stepAt: time({ description: 'When the step began.' }),
        record: optional(string({ description: 'Departure that a restore needs, in the namespace of Sojourn.' })),
      },
      { description: 'The deletion that was decided and is being carried out.' },
    ),
  ),
  workloads: optional(
    object(
      {
        awake: integer({ description: 'Number of workloads with Pods.' }),
        asleep: integer({ description: 'Number of workloads that Sojourn put to sleep.' }),
      },
      { description: 'Workloads that can sleep.' },
    ),
  ),
  timeline: optional(
    list(
      object({
        at: time({ description: 'When it changed.' }),
        power: oneOf(['Awake', 'Asleep'], { description: 'What it changed to.' }),
      }),
      { maxItems: 60, description: 'Changes between awake and asleep in the last seven days.' },
    ),
  ),
  saved: optional(
    object(
      {
        cpuHours: number({ description: 'CPU requests of sleeping Pods, in core hours.' }),
        memoryGiBHours: number({ description: 'Memory requests of sleeping Pods, in GiB hours.' }),
        countedAt: optional(time({ description: 'Until when both are counted.' })),
      },
      { description: 'What sleeping saved since the environment was created.' },
    ),
  ),
  observedGeneration: optional(
    integer({ minimum: 0, description: 'metadata.generation that the status was computed from.' }),
  ),
  conditions: optional(conditions()),
})

/** One preview or test environment: the life of its Namespace. */
export const environment = defineKind({
  ...sojournGroup,
  kind: 'Environment',
  plural: 'environments',
  scope: 'Namespaced',
  description:
    'Makes its Namespace an environment that sleeps, is announced, kept and deleted by the rules of its class.',
  shortNames: ['env'],
  categories: ['sojourn'],
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
