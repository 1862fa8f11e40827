import {
  boolean,
  conditions,
  integer,
  list,
  mapOf,
  object,
  objects,
  oneOf,
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

const clusterAppRef = object("The application in pipeline-controller's notation.", {
  apiVersion: string('API group and version of the application.'),
  kind: string('Kind of the application.'),
  name: string('Name of the application.'),
  'clusterRef?': object('The cluster; absent for the local cluster.', {
    'apiVersion?': string('API group and version of the cluster object.'),
    kind: string('Kind of the cluster object.'),
    name: string('Name of the cluster object.'),
    'namespace?': string('Namespace of the cluster object.'),
  }),
})

const target = object({
  'clusterAppRef?': clusterAppRef,
  'cluster?': string('`namespace/name` of the GitopsCluster; absent for the local cluster.'),
  namespace: string('Namespace of the application object.'),
  kind: string('Kind of the application object.'),
  name: string('Name of the application object.'),
  ready: boolean('Whether it is healthy.'),
  'revision?': string('The revision it runs.'),
  'generationObserved?': boolean('Whether its status is about the newest generation.'),
  'observedAt?': time('When this state was first observed.'),
  reason: oneOf('What was found.', targetReasons),
  'message?': string('What was found, as a sentence.'),
  'error?': string('The same as message while the target cannot be read.'),
})

const gate = object({
  name: string('Name of the gate.'),
  state: oneOf('Promotions start only when every gate is Open.', ['Open', 'Closed', 'Waiting']),
  reason: string('Why, in one word.'),
  'message?': string('Why, as a sentence.'),
  'nextCheckAt?': time('When the state may change by itself.'),
})

const lastError = object('Error of the last attempt.', {
  class: oneOf('Permanent errors are retried only after a change of the spec or a Secret.', [
    'Transient',
    'RateLimited',
    'Permanent',
  ]),
  reason: string('Why, in one word.'),
  'httpStatus?': integer('Status code of the response, if there was one.'),
  message: string('Why, as a sentence, without secrets.'),
})

const pullRequest = object('Pull request of the promotion.', {
  number: integer('Number of the pull request.'),
  url: string('URL of the pull request.'),
  state: oneOf('State of the pull request.', ['open', 'merged', 'closed']),
  'modified?': boolean('Whether others have pushed to its branch.'),
  'isConflicting?': boolean('Whether it conflicts with its base branch.'),
  'checks?': string('Its commit statuses and check runs, as counts.'),
  'mergeSHA?': string('The merge commit.'),
  'observedAt?': time('When this state was observed.'),
})

/** Enough to find a branch or pull request after the spec has changed. Holds no secret. */
const strategyRecord = object('Strategy that the promotion was started with.', {
  kind: oneOf('The strategy.', ['pull-request', 'commit', 'notification', 'webhook']),
  'type?': string('The kind of forge.'),
  'url?': string('URL of the repository or webhook.'),
  'apiURL?': string("URL of the forge's API, if set."),
  'baseBranch?': string('The branch the environment is deployed from.'),
  'secretName?': string('Secret with the credentials.'),
  'signingSecretName?': string('Secret with the signing key.'),
})

const promotion = object('The current or last promotion to this environment.', {
  id: string('Identifies the promotion everywhere: branch, commit, pull request, Event and CloudEvent.'),
  runSequence: integer('Number of the run it belongs to.'),
  'retry?': integer('How often it was retried after a rejection.'),
  revision: string('The revision to promote.'),
  'direction?': oneOf('Backward for an older revision.', ['Forward', 'Backward']),
  'approvedBy?': list('The approvers that were counted.', string()),
  'value?': string('The value written at the marker.'),
  'requestedBy?': string('The user who requested it, if a user did.'),
  'leadSeconds?': integer(
    'Seconds from when the revision was first ready in the first environment until it was ready here.',
  ),
  'fromRevision?': string('The revision before the promotion, if all targets ran the same.'),
  strategyHash: string('Digest of the destination; a change starts a new promotion.'),
  'strategy?': strategyRecord,
  phase: oneOf('How far it has got.', promotionPhases),
  because: string('Why it is in this phase, in one word.'),
  phaseAt: time('When it entered this phase.'),
  attempt: integer('Attempts in this phase.'),
  'intentAt?': time('When it was decided to carry it out.'),
  'lastAttemptAt?': time('When the last attempt started.'),
  'nextAttemptAt?': time('No attempt before this time.'),
  'lastError?': lastError,
  'failedIn?': oneOf('The phase it failed in, and continues in after a retry.', promotionPhases),
  'armedBy?': string('Generation and Secret versions of the last attempt; a change retries a failed promotion.'),
  'branch?': string('The branch it is pushed to.'),
  'baseSHA?': string('Tip of the base branch at the push.'),
  'headSHA?': string('The commit it has pushed.'),
  'verification?': object('Result of the verification checks.', {
    state: oneOf('State of the verification checks.', ['Due', 'Failing', 'Passed']),
    'at?': time('When they passed or began to fail.'),
    'message?': string('The check that fails.'),
  }),
  'replaces?': string('URL of the pull request that this one replaces.'),
  'replacesSHA?': string('Tip that the shared branch must still have when it is updated.'),
  'pullRequest?': pullRequest,
  'eventID?': string('Id of the Event or CloudEvent.'),
  'supersededBy?': string('The newer revision.'),
  'withdraw?': oneOf('Whether its branch and pull request have been withdrawn.', ['Due', 'Done', 'Abandoned']),
})

const approval = object({
  approver: string('The user.'),
  decision: oneOf('The decision.', ['Approve', 'Reject']),
  at: time('When it was made.'),
  'comment?': string('The comment.'),
})

const environment = object({
  'targets?': list('The targets; in a very large pipeline only those not ready.', target),
  'targetsTotal?': integer('Number of targets.'),
  'targetsDone?': integer("Number of targets ready on the run's revision."),
  'gates?': list('Everything that can hold the promotion back.', gate),
  'readyOn?': object('The revision the environment is ready on.', {
    revision: string('The revision.'),
    since: time('Since when.'),
  }),
  'passedRun?': integer('The newest run whose revision this environment was ready on.'),
  'passedAt?': time('When that run passed.'),
  'unreadySince?': time('Since when the environment is not ready on any revision.'),
  'pin?': object('A revision that a user has requested for this environment.', {
    revision: string('The revision.'),
    sequence: integer('Number of the request among the runs; it ends once the revision of a newer run is due here.'),
    by: string('The user who requested it.'),
    at: time('When it was requested.'),
  }),
  'retry?': object('Retries requested after a rejection.', {
    sequence: integer('The run.'),
    count: integer('Number of retries.'),
  }),
  'promotion?': promotion,
  'waitingApproval?': object('The promotion that waits for approval.', {
    revision: string('The revision that waits for approval.'),
    'promotionId?': string('The promotion to name in an Approval.'),
    'since?': time('Since when it waits.'),
    'required?': integer('Number of distinct approvers required.'),
    'approvals?': list('The approvals counted so far.', approval),
  }),
  'history?': objects('Former promotions to this environment, newest first.', {
    id: string('Id of the promotion.'),
    revision: string('Its revision.'),
    'fromRevision?': string('The revision before it.'),
    phase: oneOf('How it ended.', promotionPhases),
    because: string('Why, in one word.'),
    endedAt: time('When it ended.'),
    'pullRequest?': string('URL of its pull request.'),
    'approvedBy?': list('The approvers that were counted.', string()),
    'requestedBy?': string('The user who requested it, if a user did.'),
    'leadSeconds?': integer('Seconds from the first environment until it was ready here.'),
  }),
})

const run = object('One revision on its way through the environments.', {
  sequence: integer('Number of the run.'),
  revision: string('The revision it promotes.'),
  phase: oneOf('How far it has got.', ['Settling', 'Running', 'Complete', 'Held', 'Superseded', 'Failed']),
  direction: oneOf('Backward for an older revision.', ['Forward', 'Backward']),
  startedAt: time('When it started.'),
  'completedAt?': time('When it ended.'),
  restarts: integer('Unfinished runs in a row before it.'),
  'aliases?': list('Revisions that differ from this one only by promotions, newest first.', string()),
})

/** The observed, decided and completed state of a pipeline. */
export const pipelineStatus = object(
  {
    'observedGeneration?': integer('The generation the status is about.'),
    'conditions?': conditions(),
    'latestRevision?': string('The newest ready revision of the first environment.'),
    'sequence?': integer('Number of the newest run or, pairwise, promotion. Never decreases.'),
    'run?': run,
    'candidate?': object('The revision that has to settle before a run starts.', {
      revision: string('The revision.'),
      firstSeenAt: time('When maxWait began.'),
      'stableSince?': time('Since when it is ready and unchanged.'),
      'origin?': oneOf('Whether it is known to change more than the values that promotions set.', [
        'Unknown',
        'Foreign',
      ]),
      'nextCheckAt?': time('When its origin is looked up again.'),
      'lastError?': lastError,
    }),
    'unsettledSince?': time('Since when the targets of the first environment do not agree on a revision.'),
    'revisions?': objects('The revisions seen in the first environment, newest first.', {
      revision: string('The revision.'),
      seenAt: time('When it was first ready.'),
    }),
    'suspension?': object('A user has suspended the pipeline by a request.', {
      by: string('The user.'),
      at: time('Since when.'),
      'comment?': string('The reason.'),
    }),
    'requests?': objects('The last requests of users, newest first.', {
      uid: string('UID of the Approval.'),
      decision: string('What was requested.'),
      environment: string('For which environment; `*` for all.'),
      'revision?': string('Of which revision.'),
      by: string('By whom.'),
      at: time('When it was handled.'),
      result: string('What became of it, in one word.'),
      'comment?': string('The comment.'),
    }),
    'recentRuns?': list('The runs before, newest first.', run),
    'retryHandled?': string('The last value of the retry annotation that was handled.'),
    'environments?': mapOf('State of each environment, by name.', environment),
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
