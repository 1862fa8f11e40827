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

/** The phases of a promotion. */
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

/** The results of reading a target; only `Found` can count as healthy. */
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

const text = (description: string) => string({ description })

const clusterAppRef = object(
  {
    apiVersion: text('API group and version of the application.'),
    kind: text('Kind of the application.'),
    name: text('Name of the application.'),
    clusterRef: optional(
      object(
        {
          apiVersion: optional(text('API group and version of the cluster object.')),
          kind: text('Kind of the cluster object.'),
          name: text('Name of the cluster object.'),
          namespace: optional(text('Namespace of the cluster object.')),
        },
        { description: 'The cluster; absent for the local cluster.' },
      ),
    ),
  },
  { description: "The application in pipeline-controller's notation." },
)

const target = object({
  clusterAppRef: optional(clusterAppRef),
  cluster: optional(string({ description: '`namespace/name` of the GitopsCluster; absent for the local cluster.' })),
  namespace: text('Namespace of the application object.'),
  kind: text('Kind of the application object.'),
  name: text('Name of the application object.'),
  ready: boolean({ description: 'Whether it is healthy.' }),
  revision: optional(text('The revision it runs.')),
  generationObserved: optional(boolean({ description: 'Whether its status is about the newest generation.' })),
  observedAt: optional(time({ description: 'When this state was first observed.' })),
  reason: oneOf(targetReasons, { description: 'What was found.' }),
  message: optional(text('What was found, as a sentence.')),
  error: optional(string({ description: 'The same as message while the target cannot be read.' })),
})

const gate = object({
  name: text('Name of the gate.'),
  state: oneOf(['Open', 'Closed', 'Waiting'], { description: 'Promotions start only when every gate is Open.' }),
  reason: text('Why, in one word.'),
  message: optional(text('Why, as a sentence.')),
  nextCheckAt: optional(time({ description: 'When the state may change by itself.' })),
})

const lastError = object(
  {
    class: oneOf(['Transient', 'RateLimited', 'Permanent'], {
      description: 'Permanent errors are retried only after a change of the spec or a Secret.',
    }),
    reason: text('Why, in one word.'),
    httpStatus: optional(integer({ description: 'Status code of the response, if there was one.' })),
    message: text('Why, as a sentence, without secrets.'),
  },
  { description: 'Error of the last attempt.' },
)

const pullRequest = object(
  {
    number: integer({ description: 'Number of the pull request.' }),
    url: text('URL of the pull request.'),
    state: oneOf(['open', 'merged', 'closed'], { description: 'State of the pull request.' }),
    modified: optional(boolean({ description: 'Whether others have pushed to its branch.' })),
    isConflicting: optional(boolean({ description: 'Whether it conflicts with its base branch.' })),
    checks: optional(text('Its commit statuses and check runs, as counts.')),
    mergeSHA: optional(text('The merge commit.')),
    observedAt: optional(time({ description: 'When this state was observed.' })),
  },
  { description: 'Pull request of the promotion.' },
)

/** Enough to find a branch or pull request after the spec has changed. Holds no secret. */
const strategyRecord = object(
  {
    kind: oneOf(['pull-request', 'commit', 'notification', 'webhook'], { description: 'The strategy.' }),
    type: optional(text('The kind of forge.')),
    url: optional(text('URL of the repository or webhook.')),
    apiURL: optional(text("URL of the forge's API, if set.")),
    baseBranch: optional(text('The branch the environment is deployed from.')),
    secretName: optional(text('Secret with the credentials.')),
    signingSecretName: optional(text('Secret with the signing key.')),
  },
  { description: 'Strategy that the promotion was started with.' },
)

const promotion = object(
  {
    id: text('Identifies the promotion everywhere: branch, commit, pull request, Event and CloudEvent.'),
    runSequence: integer({ description: 'Number of the run it belongs to.' }),
    retry: optional(integer({ description: 'How often it was retried after a rejection.' })),
    revision: text('The revision to promote.'),
    direction: optional(oneOf(['Forward', 'Backward'], { description: 'Backward for an older revision.' })),
    approvedBy: optional(list(string(), { description: 'The approvers that were counted.' })),
    value: optional(text('The value written at the marker.')),
    requestedBy: optional(text('The user who requested it, if a user did.')),
    leadSeconds: optional(
      integer({
        description: 'Seconds from when the revision was first ready in the first environment until it was ready here.',
      }),
    ),
    fromRevision: optional(text('The revision before the promotion, if all targets ran the same.')),
    strategyHash: text('Digest of the destination; a change starts a new promotion.'),
    strategy: optional(strategyRecord),
    phase: oneOf(promotionPhases, { description: 'How far it has got.' }),
    because: text('Why it is in this phase, in one word.'),
    phaseAt: time({ description: 'When it entered this phase.' }),
    attempt: integer({ description: 'Attempts in this phase.' }),
    intentAt: optional(time({ description: 'When it was decided to carry it out.' })),
    lastAttemptAt: optional(time({ description: 'When the last attempt started.' })),
    nextAttemptAt: optional(time({ description: 'No attempt before this time.' })),
    lastError: optional(lastError),
    failedIn: optional(
      oneOf(promotionPhases, { description: 'The phase it failed in, and continues in after a retry.' }),
    ),
    armedBy: optional(text('Generation and Secret versions of the last attempt; a change retries a failed promotion.')),
    branch: optional(text('The branch it is pushed to.')),
    baseSHA: optional(text('Tip of the base branch at the push.')),
    headSHA: optional(text('The commit it has pushed.')),
    verification: optional(
      object(
        {
          state: oneOf(['Due', 'Failing', 'Passed'], { description: 'State of the verification checks.' }),
          at: optional(time({ description: 'When they passed or began to fail.' })),
          message: optional(text('The check that fails.')),
        },
        { description: 'Result of the verification checks.' },
      ),
    ),
    replaces: optional(text('URL of the pull request that this one replaces.')),
    replacesSHA: optional(text('Tip that the shared branch must still have when it is updated.')),
    pullRequest: optional(pullRequest),
    eventID: optional(text('Id of the Event or CloudEvent.')),
    supersededBy: optional(text('The newer revision.')),
    withdraw: optional(
      oneOf(['Due', 'Done', 'Abandoned'], { description: 'Whether its branch and pull request have been withdrawn.' }),
    ),
  },
  { description: 'The current or last promotion to this environment.' },
)

const approval = object({
  approver: text('The user.'),
  decision: oneOf(['Approve', 'Reject'], { description: 'The decision.' }),
  at: time({ description: 'When it was made.' }),
  comment: optional(text('The comment.')),
})

const environment = object({
  targets: optional(list(target, { description: 'The targets; in a very large pipeline only those not ready.' })),
  targetsTotal: optional(integer({ description: 'Number of targets.' })),
  targetsDone: optional(integer({ description: "Number of targets ready on the run's revision." })),
  gates: optional(list(gate, { description: 'Everything that can hold the promotion back.' })),
  readyOn: optional(
    object(
      { revision: text('The revision.'), since: time({ description: 'Since when.' }) },
      { description: 'The revision the environment is ready on.' },
    ),
  ),
  passedRun: optional(integer({ description: 'The newest run whose revision this environment was ready on.' })),
  passedAt: optional(time({ description: 'When that run passed.' })),
  unreadySince: optional(time({ description: 'Since when the environment is not ready on any revision.' })),
  pin: optional(
    object(
      {
        revision: text('The revision.'),
        sequence: integer({ description: 'Number of the request among the runs; a newer run ends it.' }),
        by: text('The user who requested it.'),
        at: time({ description: 'When it was requested.' }),
      },
      { description: 'A revision that a user has requested for this environment.' },
    ),
  ),
  retry: optional(
    object(
      { sequence: integer({ description: 'The run.' }), count: integer({ description: 'Number of retries.' }) },
      { description: 'Retries requested after a rejection.' },
    ),
  ),
  promotion: optional(promotion),
  waitingApproval: optional(
    object(
      {
        revision: text('The revision that waits for approval.'),
        promotionId: optional(text('The promotion to name in an Approval.')),
        since: optional(time({ description: 'Since when it waits.' })),
        required: optional(integer({ description: 'Number of distinct approvers required.' })),
        approvals: optional(list(approval, { description: 'The approvals counted so far.' })),
      },
      { description: 'The promotion that waits for approval.' },
    ),
  ),
  history: optional(
    list(
      object({
        id: text('Id of the promotion.'),
        revision: text('Its revision.'),
        phase: oneOf(promotionPhases, { description: 'How it ended.' }),
        because: text('Why, in one word.'),
        endedAt: time({ description: 'When it ended.' }),
        pullRequest: optional(text('URL of its pull request.')),
        approvedBy: optional(list(string(), { description: 'The approvers that were counted.' })),
        requestedBy: optional(text('The user who requested it, if a user did.')),
        leadSeconds: optional(integer({ description: 'Seconds from the first environment until it was ready here.' })),
      }),
      { description: 'Former promotions to this environment, newest first.' },
    ),
  ),
})

const run = object(
  {
    sequence: integer({ description: 'Number of the run.' }),
    revision: text('The revision it promotes.'),
    phase: oneOf(['Settling', 'Running', 'Complete', 'Held', 'Superseded', 'Failed'], {
      description: 'How far it has got.',
    }),
    direction: oneOf(['Forward', 'Backward'], { description: 'Backward for an older revision.' }),
    startedAt: time({ description: 'When it started.' }),
    completedAt: optional(time({ description: 'When it ended.' })),
    restarts: integer({ description: 'Unfinished runs in a row before it.' }),
    aliases: optional(
      list(string(), { description: 'Revisions that differ from this one only by promotions, newest first.' }),
    ),
  },
  { description: 'One revision on its way through the environments.' },
)

/** The observed, decided and completed state of a pipeline. */
export const pipelineStatus = object(
  {
    observedGeneration: optional(integer({ description: 'The generation the status is about.' })),
    conditions: optional(conditions()),
    latestRevision: optional(text('The newest ready revision of the first environment.')),
    sequence: optional(integer({ description: 'Number of the newest run or, pairwise, promotion. Never decreases.' })),
    run: optional(run),
    candidate: optional(
      object(
        {
          revision: text('The revision.'),
          firstSeenAt: time({ description: 'When maxWait began.' }),
          stableSince: optional(time({ description: 'Since when it is ready and unchanged.' })),
          origin: optional(
            oneOf(['Unknown', 'Foreign'], {
              description: 'Whether it is known to change more than the values that promotions set.',
            }),
          ),
          nextCheckAt: optional(time({ description: 'When its origin is looked up again.' })),
        },
        { description: 'The revision that has to settle before a run starts.' },
      ),
    ),
    unsettledSince: optional(
      time({
        description: 'Since when the targets of the first environment do not agree on a revision.',
      }),
    ),
    revisions: optional(
      list(object({ revision: text('The revision.'), seenAt: time({ description: 'When it was first ready.' }) }), {
        description: 'The revisions seen in the first environment, newest first.',
      }),
    ),
    suspension: optional(
      object(
        {
          by: text('The user.'),
          at: time({ description: 'Since when.' }),
          comment: optional(text('The reason.')),
        },
        { description: 'A user has suspended the pipeline by a request.' },
      ),
    ),
    requests: optional(
      list(
        object({
          uid: text('UID of the Approval.'),
          decision: text('What was requested.'),
          environment: text('For which environment; `*` for all.'),
          revision: optional(text('Of which revision.')),
          by: text('By whom.'),
          at: time({ description: 'When it was handled.' }),
          result: text('What became of it, in one word.'),
          comment: optional(text('The comment.')),
        }),
        { description: 'The last requests of users, newest first.' },
      ),
    ),
    recentRuns: optional(list(run, { description: 'The runs before, newest first.' })),
    retryHandled: optional(text('The last value of the retry annotation that was handled.')),
    environments: optional(mapOf(environment, { description: 'State of each environment, by name.' })),
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
