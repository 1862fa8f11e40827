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
  serviceAccountName,
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
const secretRef = (description: string) =>
  object({ name: string({ minLength: 1, maxLength: 253, description: 'Name of the Secret.' }) }, { description })

const appRef = object(
  {
    apiVersion: string({ minLength: 1, maxLength: 317, description: 'API group and version of the application.' }),
    kind: string({ minLength: 1, maxLength: 63, description: 'Kind of the application, for instance HelmRelease.' }),
    name: string({ minLength: 1, maxLength: 253, description: 'Name of the application object.' }),
  },
  { description: 'The application object to promote: its kind and name, the same in every target.' },
)

const commit = object(
  {
    name: optional(string({ maxLength: 256, description: 'Author name. Default: Sojourn Promoter.' })),
    email: optional(string({ maxLength: 256, description: 'Author e-mail. Default: promoter@sojourn.dev.' })),
    messageTemplate: optional(
      string({ maxLength: 4096, description: 'Commit message, with {{variables}} as in titleTemplate.' }),
    ),
    signingKeyRef: optional(
      secretRef(
        'Secret with the key that signs commits: SSH as `identity` and `password`, or OpenPGP as `git.asc` and `passphrase`. Default: unsigned.',
      ),
    ),
  },
  { description: 'Author, message and signature of the commits.' },
)

const repository = {
  url: string({
    minLength: 1,
    maxLength: 2048,
    description: 'URL of the repository: `https://host/path`, `ssh://user@host/path` or `user@host:path`.',
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
    description: 'Branch that the environment is deployed from.',
  }),
  secretRef: secretRef(
    "Secret with `username` and `password` for git over HTTPS, or `identity`, `known_hosts` and the key's `password` for SSH; `token` for the API; optionally `caFile`.",
  ),
  paths: optional(
    list(string({ minLength: 1, maxLength: 1024 }), {
      maxItems: 64,
      description: 'Folders or files to search for markers. Default: all.',
    }),
  ),
  commit: optional(commit),
}

const pullRequest = object(
  {
    type: oneOf(forgeTypes, { description: 'The kind of forge.' }),
    ...repository,
    apiURL: optional(httpsURL('URL of the API, if it cannot be derived from the repository URL.')),
    supersede: optional(
      oneOf(['Replace', 'Update', 'Keep'], {
        description:
          'What happens to an open pull request of an older revision: close it and open a new one, update it, or keep both. Default Replace.',
      }),
    ),
    autoMerge: optional(
      boolean({
        description: "Merge as soon as the forge allows it, and only the promotion's own commit. Default false.",
      }),
    ),
    labels: optional(
      list(string({ maxLength: 100 }), { maxItems: 20, description: 'Labels to set, where the forge has labels.' }),
    ),
    titleTemplate: optional(
      string({
        maxLength: 1024,
        description:
          'Title, with {{namespace}}, {{pipeline}}, {{environment}}, {{revision}}, {{value}}, {{fromRevision}} and {{id}}.',
      }),
    ),
    bodyTemplate: optional(string({ maxLength: 16384, description: 'Body, with the same variables.' })),
    legacyBranchName: optional(
      boolean({ description: "Use pipeline-controller's branch name `promotion-<ns>-<name>-<env>`. Default false." }),
    ),
  },
  { description: 'Set the marked values on a branch and open a pull request.' },
)

const strategy = object(
  {
    'pull-request': optional(pullRequest),
    notification: optional(
      object({}, { description: "Create an Event and post it to Flux's notification controller." }),
    ),
    commit: optional(
      object(repository, { description: 'Set the marked values on the base branch, without a pull request.' }),
    ),
    webhook: optional(
      object(
        {
          url: httpsURL('URL that receives the CloudEvent.'),
          secretRef: optional(secretRef('Secret with `token` (bearer) and optionally `hmac-key` and `caFile`.')),
        },
        { description: 'Post a CloudEvent; its id is the promotion id.' },
      ),
    ),
    secretRef: optional(
      secretRef(
        'Secret with `hmac-key` (and `hmac-key-previous` during rotation) that verifies signed requests, and `hmac-key.NAME` for the approver NAME.',
      ),
    ),
  },
  {
    description: 'How a revision gets into the environment. Exactly one strategy must be set.',
    'x-kubernetes-validations': [
      {
        rule: '(has(self.pull__dash__request) ? 1 : 0) + (has(self.notification) ? 1 : 0) + (has(self.commit) ? 1 : 0) + (has(self.webhook) ? 1 : 0) == 1',
        message: 'exactly one of pull-request, notification, commit and webhook must be set',
      },
    ],
  },
)

const promotion = object(
  {
    manual: optional(boolean({ description: 'Require one approval. Default false.' })),
    approval: optional(
      object(
        {
          required: optional(
            integer({ minimum: 1, maximum: 100, description: 'Number of distinct approvers required. Default 1.' }),
          ),
          approvers: optional(
            list(string({ minLength: 1, maxLength: 253 }), {
              maxItems: 100,
              description: 'Users whose approvals count. Default: all who may create Approvals.',
            }),
          ),
          ttl: optional(duration({ description: 'How long an approval counts. Default: without limit.' })),
          legacySignatures: optional(
            boolean({
              description:
                "Accept pipeline-controller's X-Signature, which does not cover the path, for approvals. For a transition only. Default false.",
            }),
          ),
          rejectClosesRun: optional(boolean({ description: 'A rejection stops the whole run. Default false.' })),
        },
        { description: 'Approvals required before a promotion starts. Default: none.' },
      ),
    ),
    strategy,
  },
  { description: 'How revisions are promoted. On an environment it overrides the one of the pipeline.' },
)

const window = object({
  kind: oneOf(['Allow', 'Deny'], { description: 'Whether promotions may or may not start in the window.' }),
  schedule: string({
    minLength: 9,
    maxLength: 256,
    description: 'Cron schedule with five fields: when the window opens.',
  }),
  duration: duration({ description: 'How long it stays open.' }),
  timeZone: optional(string({ maxLength: 64, description: 'IANA time zone of the schedule. Default UTC.' })),
})

function checkURL(description: string) {
  return string({ pattern: '^https?://[^\\s/@]+(/[^\\s]*)?$', maxLength: 2048, description })
}

const verification = object(
  {
    checks: list(
      object(
        {
          url: optional(checkURL('URL to request with GET.')),
          expectedStatus: optional(
            integer({ minimum: 100, maximum: 599, description: 'Expected status code. Default: any from 200 to 299.' }),
          ),
          prometheus: optional(
            object(
              {
                url: checkURL('URL of Prometheus, without /api.'),
                query: string({
                  minLength: 1,
                  maxLength: 4096,
                  description: 'PromQL with a comparison, without `bool`. The check passes while it returns a sample.',
                }),
                secretRef: optional(secretRef('Secret with `token` (bearer) and optionally `caFile`.')),
              },
              { description: 'A query of Prometheus.' },
            ),
          ),
          job: optional(
            object(
              {
                fromCronJob: string({
                  pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$',
                  maxLength: 52,
                  description:
                    'CronJob in the same namespace, suspended or not, from whose template a Job is created for each promotion.',
                }),
              },
              { description: 'A Job that must succeed. Its containers get SOJOURN_REVISION and SOJOURN_ENVIRONMENT.' },
            ),
          ),
          commitStatuses: optional(
            object(
              {
                names: optional(
                  list(string({ minLength: 1, maxLength: 256 }), {
                    maxItems: 32,
                    description: 'Statuses and check runs that must have succeeded. Default: all, and at least one.',
                  }),
                ),
              },
              {
                description:
                  "Commit statuses and check runs of the revision's commit, in the repository of the pull-request strategy.",
              },
            ),
          ),
        },
        {
          'x-kubernetes-validations': [
            {
              rule: '[has(self.url), has(self.prometheus), has(self.job), has(self.commitStatuses)].filter(each, each).size() == 1',
              message: 'exactly one of url, prometheus, job and commitStatuses must be set',
            },
          ],
        },
      ),
      {
        minItems: 1,
        maxItems: 16,
        description: 'Checks, all of which must pass. One that cannot be made has not passed.',
      },
    ),
    interval: optional(duration({ description: 'How long to wait after a failed check. Default 30s.' })),
    deadline: optional(
      duration({ description: 'After failing this long the pipeline is Stalled; checks continue. Default 10m.' }),
    ),
  },
  { description: 'Checks that must pass once the environments before this one are ready on the revision.' },
)

const environmentName = string({
  pattern: '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$',
  maxLength: 63,
  description: 'Name of an environment, unique in the pipeline.',
})

const target = object({
  namespace: string({ minLength: 1, maxLength: 63, description: 'Namespace of the application object.' }),
  clusterRef: optional(
    object(
      {
        apiVersion: optional(string({ maxLength: 317, description: 'Ignored; accepted for compatibility.' })),
        kind: oneOf(['GitopsCluster'], { description: 'Always GitopsCluster.' }),
        name: string({ minLength: 1, maxLength: 253, description: 'Name of the GitopsCluster.' }),
        namespace: optional(string({ maxLength: 63, description: "Its namespace. Default: the pipeline's." })),
      },
      { description: 'The cluster of the application. Default: the local cluster.' },
    ),
  ),
  appRef: optional(appRef),
})

const environment = object({
  name: environmentName,
  targets: list(target, { minItems: 1, maxItems: 64, description: 'Where the application runs in this environment.' }),
  promotion: optional(promotion),
  appRef: optional(appRef),
  dependsOn: optional(
    list(environmentName, {
      maxItems: 64,
      description: 'Environments that must be ready on the revision first. Default: the previous one in the list.',
    }),
  ),
  soak: optional(
    duration({ description: 'How long the environments before must be ready on the revision first. Default 0.' }),
  ),
  verification: optional(verification),
  windows: optional(
    list(window, {
      maxItems: 16,
      description: 'When promotions may start. An active Deny window wins over Allow. Default: any time.',
    }),
  ),
  rolloutDeadline: optional(
    duration({ description: 'After this time a roll-out is reported as Stalled. Default 30m.' }),
  ),
  requireTargets: optional(
    intOrString({ description: 'Targets that must be ready: `All`, a number or a percentage. Default All.' }),
  ),
})

const spec = object({
  serviceAccountName,
  appRef,
  environments: list(environment, {
    minItems: 1,
    maxItems: 64,
    description: 'The environments. Revisions come from the first and are promoted through the others.',
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['name'],
    'x-kubernetes-validations': [
      {
        rule: 'self.all(each, !has(each.dependsOn) || each.dependsOn.all(name, name != each.name && self.exists(other, other.name == name)))',
        message: 'dependsOn must name other environments of this pipeline',
      },
      {
        rule: 'self.size() == 0 || !has(self[0].dependsOn) || self[0].dependsOn.size() == 0',
        message: 'dependsOn must be empty for the first environment: revisions come from it',
      },
    ],
  }),
  promotion: optional(promotion),
  suspend: optional(boolean({ description: 'Observe and report, but promote nothing. Default false.' })),
  interval: optional(duration({ description: 'Reconcile at least this often. Default 5m.' })),
  settle: optional(
    object(
      {
        quietPeriod: optional(
          duration({ description: 'How long a revision must stay unchanged before a run starts. Default 60s.' }),
        ),
        maxWait: optional(
          duration({ description: 'A run of the newest revision starts after this time at the latest. Default 15m.' }),
        ),
      },
      { description: 'How long a revision must be stable before a run starts.' },
    ),
  ),
  runPolicy: optional(
    oneOf(['Restart', 'Finish', 'Pairwise'], {
      description:
        'What a new revision does to the current run: restart, wait until it finishes, or promote between neighbours only. Default Restart.',
    }),
  ),
  maxRestarts: optional(
    integer({
      minimum: 0,
      maximum: 1000,
      description: 'Restarts in a row after which a run finishes before a newer one starts. Default 3.',
    }),
  ),
  maxRunDuration: optional(duration({ description: 'A run that takes longer has failed. Default: no limit.' })),
  rollback: optional(
    oneOf(['RequireApproval', 'Follow', 'Hold'], {
      description:
        'What happens when the first environment is rolled back: require an approval, promote the older revision, or hold. Default RequireApproval.',
    }),
  ),
  drift: optional(
    oneOf(['Report', 'Promote'], {
      description:
        'What happens when an environment no longer runs the revision that was promoted to it: set the condition Drifted, or also promote it again. Default Report.',
    }),
  ),
  withdrawal: optional(
    oneOf(['Close', 'Orphan'], {
      description:
        'What happens to open pull requests when the pipeline or an environment is deleted: close them or leave them. Default Close.',
    }),
  ),
  adapter: optional(
    object(
      {
        healthy: optional(
          string({ maxLength: 4096, description: 'CEL over `self`: whether the application is healthy.' }),
        ),
        revision: optional(
          string({ maxLength: 4096, description: 'CEL over `self`: the revision it runs, as a string.' }),
        ),
        value: optional(
          string({
            maxLength: 4096,
            description:
              'CEL over `revision`: the value to write at the marker. Default: the hash of a commit, the digest of an OCI artifact, else the revision.',
          }),
        ),
      },
      { description: 'How health and revision are read from kinds that Sojourn does not know.' },
    ),
  ),
})

/** Promotes one application through its environments. */
export const pipeline = defineKind({
  group: 'pipelines.weave.works',
  version: 'v1alpha1',
  kind: 'Pipeline',
  plural: 'pipelines',
  scope: 'Namespaced',
  description: 'Promotes revisions of an application from the first environment through all others.',
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
