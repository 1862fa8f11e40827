import { defineKind, type ObjectOf } from './define-kind.ts'
import { pipelineStatus } from './pipeline-status.ts'
import {
  boolean,
  duration,
  integer,
  intOrString,
  list,
  object,
  oneOf,
  optional,
  string,
  type Static,
} from './schema.ts'

/** The forges a pull request can be opened on. */
export const forgeTypes = [
  'github',
  'gitlab',
  'gitea',
  'forgejo',
  'bitbucket-server',
  'bitbucket-cloud',
  'azure-devops',
] as const

export type ForgeType = (typeof forgeTypes)[number]

const httpsURL = (description: string) =>
  string({ pattern: '^https://[^\\s/@]+(/[^\\s]*)?$', maxLength: 2048, description })
const secretRef = (description: string) => object({ name: string({ minLength: 1, maxLength: 253 }) }, { description })

const appRef = object(
  {
    apiVersion: string({ minLength: 1, maxLength: 317 }),
    kind: string({ minLength: 1, maxLength: 63 }),
    name: string({ minLength: 1, maxLength: 253 }),
  },
  { description: 'The application that is promoted, by name, in every target.' },
)

const commit = object({
  name: optional(string({ maxLength: 256 })),
  email: optional(string({ maxLength: 256 })),
  messageTemplate: optional(string({ maxLength: 4096 })),
  signingKeyRef: optional(
    secretRef(
      'Secret with the key that signs commits: SSH as `identity` and `password`, or OpenPGP as `git.asc` and `passphrase`. Default: unsigned.',
    ),
  ),
})

const repository = {
  url: string({
    minLength: 1,
    maxLength: 2048,
    description: 'Address of the repository: `https://host/path`, `ssh://user@host/path` or `user@host:path`.',
    'x-kubernetes-validations': [
      {
        rule: "self.matches(r'^(https://[^\\s/@]+(/\\S*)?|ssh://([^\\s/@:]+@)?[^\\s/@]+/\\S+|[^\\s/@:]+@[^\\s/@:]+:\\S+)$')",
        message: 'must be https://host/path, ssh://user@host/path or user@host:path, without a password',
      },
    ],
  }),
  baseBranch: string({
    minLength: 1,
    maxLength: 255,
    description: 'The branch that the environment is deployed from.',
  }),
  secretRef: secretRef(
    "Secret with `username` and `password` for git over HTTPS, or `identity`, `known_hosts` and the key's `password` for SSH; `token` for the API; optionally `caFile`.",
  ),
  paths: optional(
    list(string({ minLength: 1, maxLength: 1024 }), { maxItems: 64, description: 'Folders to look for markers in.' }),
  ),
  commit: optional(commit),
}

const pullRequest = object(
  {
    type: oneOf(forgeTypes),
    ...repository,
    apiURL: optional(httpsURL('Address of the API where it does not follow from the URL.')),
    supersede: optional(
      oneOf(['Replace', 'Update', 'Keep'], {
        description: 'What happens to an open pull request of an older revision. Default Replace.',
      }),
    ),
    autoMerge: optional(
      boolean({ description: 'Merge once the forge allows it, and only the commit we made. Default false.' }),
    ),
    labels: optional(list(string({ maxLength: 100 }), { maxItems: 20 })),
    titleTemplate: optional(string({ maxLength: 1024 })),
    bodyTemplate: optional(string({ maxLength: 16384 })),
    legacyBranchName: optional(
      boolean({ description: 'Keep the branch name `promotion-<ns>-<name>-<env>`. Default false.' }),
    ),
  },
  { description: 'Change the marked values on a branch and open a pull request.' },
)

const strategy = object(
  {
    'pull-request': optional(pullRequest),
    notification: optional(object({}, { description: 'Emit an Event and tell the Flux events address.' })),
    commit: optional(object(repository, { description: 'Change the marked values on the base branch directly.' })),
    webhook: optional(
      object(
        {
          url: httpsURL('Where a CloudEvent is posted.'),
          secretRef: optional(secretRef('Secret with `token` (bearer) and optionally `hmac-key` and `caFile`.')),
        },
        { description: 'Post a CloudEvent; its id is the promotion id.' },
      ),
    ),
    secretRef: optional(secretRef('Secret with `hmac-key` (and `hmac-key-previous`) for signed requests.')),
  },
  {
    description: 'How a revision gets into the next environment: exactly one way.',
    'x-kubernetes-validations': [
      {
        rule: '(has(self.pull__dash__request) ? 1 : 0) + (has(self.notification) ? 1 : 0) + (has(self.commit) ? 1 : 0) + (has(self.webhook) ? 1 : 0) == 1',
        message: 'exactly one of pull-request, notification, commit and webhook must be set',
      },
    ],
  },
)

const promotion = object({
  manual: optional(boolean({ description: 'Wait for one approval. Default false.' })),
  approval: optional(
    object({
      required: optional(integer({ minimum: 1, maximum: 100, description: 'Distinct approvers needed. Default 1.' })),
      approvers: optional(list(string({ minLength: 1, maxLength: 253 }), { maxItems: 100 })),
      ttl: optional(duration({ description: 'How long an approval counts. Default: for ever.' })),
      rejectClosesRun: optional(boolean({ description: 'A refusal ends the run. Default false.' })),
    }),
  ),
  strategy,
})

const window = object({
  kind: oneOf(['Allow', 'Deny']),
  schedule: string({ minLength: 9, maxLength: 256, description: 'Five cron fields: when the window opens.' }),
  duration: duration({ description: 'How long it stays open.' }),
  timeZone: optional(string({ maxLength: 64, description: 'IANA zone. Default UTC.' })),
})

const verification = object(
  {
    checks: list(
      object({
        url: string({ pattern: '^https?://[^\\s/@]+(/[^\\s]*)?$', maxLength: 2048, description: 'Fetched with GET.' }),
        expectedStatus: optional(integer({ minimum: 100, maximum: 599, description: 'Default: any from 200 to 299.' })),
      }),
      { minItems: 1, maxItems: 16 },
    ),
    interval: optional(duration({ description: 'How long to wait after a check has failed. Default 30s.' })),
    deadline: optional(
      duration({ description: 'After failing this long the pipeline is Stalled, and goes on checking. Default 10m.' }),
    ),
  },
  { description: 'Calls that must be answered well by what runs before, once it is ready on the revision.' },
)

const environmentName = string({ pattern: '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$', maxLength: 63 })

const target = object({
  namespace: string({ minLength: 1, maxLength: 63, description: 'Where the application object lives.' }),
  clusterRef: optional(
    object(
      {
        apiVersion: optional(string({ maxLength: 317 })),
        kind: oneOf(['GitopsCluster']),
        name: string({ minLength: 1, maxLength: 253 }),
        namespace: optional(string({ maxLength: 63 })),
      },
      { description: 'The cluster it lives in. Default: the local one.' },
    ),
  ),
  appRef: optional(appRef),
})

const environment = object({
  name: environmentName,
  targets: list(target, { minItems: 1, maxItems: 64 }),
  promotion: optional(promotion),
  appRef: optional(appRef),
  dependsOn: optional(
    list(environmentName, { maxItems: 64, description: 'Default: the environment before it in the list.' }),
  ),
  soak: optional(
    duration({ description: 'How long the environments before must have been ready on the revision. Default 0.' }),
  ),
  verification: optional(verification),
  windows: optional(list(window, { maxItems: 16, description: 'An active Deny always wins. Default: any time.' })),
  rolloutDeadline: optional(duration({ description: 'After this long a roll-out counts as stalled. Default 30m.' })),
  requireTargets: optional(intOrString({ description: '`All`, a number or a percentage of targets. Default All.' })),
})

const spec = object({
  appRef,
  environments: list(environment, {
    minItems: 1,
    maxItems: 64,
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['name'],
    'x-kubernetes-validations': [
      {
        rule: 'self.all(each, !has(each.dependsOn) || each.dependsOn.all(name, name != each.name && self.exists(other, other.name == name)))',
        message: 'dependsOn must name other environments of this pipeline',
      },
      {
        rule: 'self.size() == 0 || !has(self[0].dependsOn) || self[0].dependsOn.size() == 0',
        message: 'the first environment depends on none: revisions come from it',
      },
    ],
  }),
  promotion: optional(promotion),
  suspend: optional(boolean({ description: 'Observe and report, promote nothing. Default false.' })),
  interval: optional(duration({ description: 'Look again at least this often. Default 5m.' })),
  settle: optional(
    object({
      quietPeriod: optional(duration({ description: 'A revision must be unchanged this long. Default 60s.' })),
      maxWait: optional(duration({ description: 'The newest one goes after this long at the latest. Default 15m.' })),
    }),
  ),
  runPolicy: optional(
    oneOf(['Restart', 'Finish', 'Pairwise'], { description: 'What a new revision does to a run. Default Restart.' }),
  ),
  maxRestarts: optional(
    integer({ minimum: 0, maximum: 1000, description: 'Restarts in a row before a run is let finish. Default 3.' }),
  ),
  maxRunDuration: optional(duration({ description: 'A run that takes longer has failed. Default: none.' })),
  rollback: optional(
    oneOf(['RequireApproval', 'Follow', 'Hold'], {
      description: 'What happens to an older revision. Default RequireApproval.',
    }),
  ),
  withdrawal: optional(
    oneOf(['Close', 'Orphan'], {
      description: 'What happens to our open pull requests when pipeline or environment go. Default Close.',
    }),
  ),
  adapter: optional(
    object({
      healthy: optional(
        string({ maxLength: 4096, description: 'CEL over `self`: whether the application is healthy.' }),
      ),
      revision: optional(string({ maxLength: 4096, description: 'CEL over `self`: the revision it runs, a string.' })),
      value: optional(string({ maxLength: 4096, description: 'CEL over `revision`: what is written at the marker.' })),
    }),
  ),
})

/** One application's way through its environments. */
export const pipeline = defineKind({
  group: 'pipelines.weave.works',
  version: 'v1alpha1',
  kind: 'Pipeline',
  plural: 'pipelines',
  scope: 'Namespaced',
  description: 'Carries the revision that runs in the first environment through all the others.',
  spec,
  status: pipelineStatus,
  columns: [
    { name: 'App Kind', type: 'string', jsonPath: '.spec.appRef.kind' },
    { name: 'App Name', type: 'string', jsonPath: '.spec.appRef.name' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Status', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].message' },
    { name: 'Revision', type: 'string', jsonPath: '.status.run.revision', priority: 1 },
    { name: 'Run', type: 'string', jsonPath: '.status.run.phase', priority: 1 },
  ],
})

export type Pipeline = ObjectOf<typeof pipeline>
export type PipelineSpec = Static<typeof spec>
export type EnvironmentSpec = Static<typeof environment>
export type PromotionSpec = Static<typeof promotion>
export type PullRequestSpec = Static<typeof pullRequest>
export type AppRef = Static<typeof appRef>
