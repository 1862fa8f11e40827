import {
  boolean,
  conditions,
  integer,
  list,
  mapOf,
  object,
  oneOf,
  optional,
  string,
  time,
  type Static,
} from './schema.ts'

/** Where a promotion of one revision into one environment stands. */
export const promotionPhases = [
  'Gated',
  'AwaitingApproval',
  'Intended',
  'Pushed',
  'Proposed',
  'Notified',
  'Merged',
  'RollingOut',
  'Succeeded',
  'Rejected',
  'Superseded',
  'Failed',
] as const

/** What was found where a target should be; only `Found` can count as healthy. */
export const targetReasons = [
  'Found',
  'NotFound',
  'NamespaceNotFound',
  'KindNotFound',
  'ClusterNotFound',
  'ClusterNotReady',
  'ClusterUnreachable',
  'Forbidden',
  'NotSynced',
  'Stale',
  'RevisionUnknown',
  'Invalid',
] as const

const clusterAppRef = object({
  apiVersion: string(),
  kind: string(),
  name: string(),
  clusterRef: optional(
    object({
      apiVersion: optional(string()),
      kind: string(),
      name: string(),
      namespace: optional(string()),
    }),
  ),
})

const target = object({
  clusterAppRef: optional(clusterAppRef),
  cluster: optional(string({ description: '`namespace/name` of the GitopsCluster; absent for the local cluster.' })),
  namespace: string(),
  kind: string(),
  name: string(),
  ready: boolean(),
  revision: optional(string()),
  generationObserved: optional(boolean({ description: 'Whether the status speaks of the newest generation.' })),
  observedAt: optional(time({ description: 'Since when it has looked like this.' })),
  reason: oneOf(targetReasons),
  message: optional(string()),
  error: optional(string({ description: 'The message again while the target cannot be read.' })),
})

const gate = object({
  name: string(),
  state: oneOf(['Open', 'Closed', 'Waiting']),
  reason: string(),
  message: optional(string()),
  nextCheckAt: optional(time()),
})

const lastError = object({
  class: oneOf(['Transient', 'RateLimited', 'Permanent']),
  reason: string(),
  httpStatus: optional(integer()),
  message: string(),
})

const pullRequest = object({
  number: integer(),
  url: string(),
  state: oneOf(['open', 'merged', 'closed']),
  modified: optional(boolean({ description: 'Somebody else has pushed to its branch.' })),
  mergeSHA: optional(string()),
  observedAt: optional(time()),
})

/** Enough to find what was opened again after the spec has changed; never holds a secret. */
const strategyRecord = object({
  kind: oneOf(['pull-request', 'commit', 'notification', 'webhook']),
  type: optional(string()),
  url: optional(string()),
  apiURL: optional(string()),
  baseBranch: optional(string()),
  secretName: optional(string()),
  signingSecretName: optional(string()),
})

const promotion = object({
  id: string(),
  runSequence: integer(),
  retry: optional(integer()),
  revision: string(),
  direction: optional(oneOf(['Forward', 'Backward'])),
  approvedBy: optional(list(string())),
  value: optional(string({ description: 'What is written at the marker when it differs from the revision.' })),
  fromRevision: optional(string()),
  strategyHash: string(),
  strategy: optional(strategyRecord),
  phase: oneOf(promotionPhases),
  because: string(),
  phaseAt: time({ description: 'When it entered this phase.' }),
  attempt: integer(),
  intentAt: optional(time()),
  lastAttemptAt: optional(time()),
  nextAttemptAt: optional(time()),
  lastError: optional(lastError),
  failedIn: optional(oneOf(promotionPhases)),
  armedBy: optional(string({ description: 'Generation and Secret version last tried with; a change arms it again.' })),
  branch: optional(string()),
  baseSHA: optional(string()),
  headSHA: optional(string()),
  verification: optional(
    object({
      state: oneOf(['Due', 'Failing', 'Passed']),
      at: optional(time({ description: 'When it passed, or since when it fails.' })),
      message: optional(string()),
    }),
  ),
  replaces: optional(string({ description: 'Address of the pull request this one takes the place of.' })),
  replacesSHA: optional(string({ description: 'Tip the shared branch must still have when it is updated.' })),
  pullRequest: optional(pullRequest),
  eventID: optional(string()),
  supersededBy: optional(string()),
  withdraw: optional(oneOf(['Due', 'Done', 'Abandoned'])),
})

const approval = object({
  approver: string(),
  decision: oneOf(['Approve', 'Reject']),
  at: time(),
  comment: optional(string()),
})

const environment = object({
  targets: optional(list(target)),
  targetsTotal: optional(integer()),
  targetsDone: optional(integer()),
  gates: optional(list(gate)),
  readyOn: optional(
    object({ revision: string(), since: time() }, { description: 'The revision all needed targets have run since.' }),
  ),
  passedRun: optional(integer({ description: 'The newest run whose revision this environment has been ready on.' })),
  passedAt: optional(time()),
  retry: optional(
    object(
      { sequence: integer(), count: integer() },
      { description: 'How often a retry was asked for, in which run.' },
    ),
  ),
  promotion: optional(promotion),
  waitingApproval: optional(
    object({
      revision: string(),
      promotionId: optional(string()),
      since: optional(time()),
      required: optional(integer()),
      approvals: optional(list(approval)),
    }),
  ),
  history: optional(
    list(
      object({
        id: string(),
        revision: string(),
        phase: oneOf(promotionPhases),
        because: string(),
        endedAt: time(),
        pullRequest: optional(string()),
      }),
    ),
  ),
})

const run = object({
  sequence: integer(),
  revision: string(),
  phase: oneOf(['Settling', 'Running', 'Complete', 'Held', 'Superseded', 'Failed']),
  direction: oneOf(['Forward', 'Backward']),
  startedAt: time(),
  completedAt: optional(time()),
  restarts: integer(),
})

/** What the promoter has seen, decided and done. */
export const pipelineStatus = object(
  {
    observedGeneration: optional(integer()),
    conditions: optional(conditions()),
    latestRevision: optional(string()),
    sequence: optional(
      integer({ description: 'The number of the newest run or, pairwise, promotion. Never goes back.' }),
    ),
    run: optional(run),
    candidate: optional(
      object({
        revision: string(),
        firstSeenAt: time(),
        stableSince: optional(time()),
      }),
    ),
    unsettledSince: optional(
      time({
        description: 'When the first environment began to differ, while its targets do not agree on a revision.',
      }),
    ),
    recentRuns: optional(list(run)),
    retryHandled: optional(string({ description: 'The last value of the retry annotation that was acted on.' })),
    environments: optional(mapOf(environment)),
  },
  { default: { observedGeneration: -1 } },
)

export type PipelineStatus = Static<typeof pipelineStatus>
export type EnvironmentStatus = Static<typeof environment>
export type TargetStatus = Static<typeof target>
export type Gate = Static<typeof gate>
export type Promotion = Static<typeof promotion>
export type TargetReason = (typeof targetReasons)[number]
export type LastError = Static<typeof lastError>
export type PullRequestStatus = Static<typeof pullRequest>
export type StrategyRecord = Static<typeof strategyRecord>
export type Run = Static<typeof run>
