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
  secretName,
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
  string(description, { pattern: '^https://[^\\s/@]+(/[^\\s]*)?$', maxLength: 2048 })
const secretRef = (description: string) => object(description, { name: secretName })

const appRef = object('The application object to promote: its kind and name, the same in every target.', {
  apiVersion: string('API group and version of the application.', { minLength: 1, maxLength: 317 }),
  kind: string('Kind of the application, for instance HelmRelease.', { minLength: 1, maxLength: 63 }),
  name: string('Name of the application object.', { minLength: 1, maxLength: 253 }),
})

const commit = object('Author, message and signature of the commits.', {
  'name?': string('Author name. Default: Sojourn Promoter.', { maxLength: 256 }),
  'email?': string('Author e-mail. Default: promoter@sojourn.dev.', { maxLength: 256 }),
  'messageTemplate?': string('Commit message, with {{variables}} as in titleTemplate.', { maxLength: 4096 }),
  'signingKeyRef?': secretRef(
    'Secret with the key that signs commits: SSH as `identity` and `password`, or OpenPGP as `git.asc` and `passphrase`. Default: unsigned.',
  ),
})

const repository = {
  url: string('URL of the repository: `https://host/path`, `ssh://user@host/path` or `user@host:path`.', {
    minLength: 1,
    maxLength: 2048,
    'x-kubernetes-validations': [
      {
        rule: "self.matches(r'^(https://[^\\s/@]+(/\\S*)?|ssh://([^\\s/@:]+@)?[^\\s/@]+/\\S+|[^\\s/@:]+@[^\\s/@:]+:\\S+)$')",
        message: 'must be https://host/path, ssh://user@host/path or user@host:path, without a password',
      },
    ],
  }),
  baseBranch: string('Branch that the environment is deployed from.', { minLength: 1, maxLength: 255 }),
  secretRef: secretRef(
    "Secret with `username` and `password` for git over HTTPS, or `identity`, `known_hosts` and the key's `password` for SSH; `token` for the API; optionally `caFile`.",
  ),
  'paths?': list('Folders or files to search for markers. Default: all.', string({ minLength: 1, maxLength: 1024 }), {
    maxItems: 64,
  }),
  'commit?': commit,
}

const pullRequest = object('Set the marked values on a branch and open a pull request.', {
  type: oneOf('The kind of forge.', forgeTypes),
  ...repository,
  'apiURL?': httpsURL('URL of the API, if it cannot be derived from the repository URL.'),
  'supersede?': oneOf(
    'What happens to an open pull request of an older revision: close it and open a new one, update it, or keep both. Default Replace.',
    ['Replace', 'Update', 'Keep'],
  ),
  'autoMerge?': boolean("Merge as soon as the forge allows it, and only the promotion's own commit. Default false."),
  'labels?': list('Labels to set, where the forge has labels.', string({ maxLength: 100 }), { maxItems: 20 }),
  'titleTemplate?': string(
    'Title, with {{namespace}}, {{pipeline}}, {{environment}}, {{revision}}, {{value}}, {{fromRevision}} and {{id}}.',
    { maxLength: 1024 },
  ),
  'bodyTemplate?': string('Body, with the same variables.', { maxLength: 16384 }),
  'legacyBranchName?': boolean("Use pipeline-controller's branch name `promotion-<ns>-<name>-<env>`. Default false."),
})

const strategy = object(
  'How a revision gets into the environment. Exactly one strategy must be set.',
  {
    'pull-request?': pullRequest,
    'notification?': object("Create an Event and post it to Flux's notification controller.", {}),
    'commit?': object('Set the marked values on the base branch, without a pull request.', repository),
    'webhook?': object('Post a CloudEvent; its id is the promotion id.', {
      url: httpsURL('URL that receives the CloudEvent.'),
      'secretRef?': secretRef('Secret with `token` (bearer) and optionally `hmac-key` and `caFile`.'),
    }),
    'secretRef?': secretRef(
      'Secret with `hmac-key` (and `hmac-key-previous` during rotation) that verifies signed requests, and `hmac-key.NAME` for the approver NAME.',
    ),
  },
  {
    'x-kubernetes-validations': [
      {
        rule: '(has(self.pull__dash__request) ? 1 : 0) + (has(self.notification) ? 1 : 0) + (has(self.commit) ? 1 : 0) + (has(self.webhook) ? 1 : 0) == 1',
        message: 'exactly one of pull-request, notification, commit and webhook must be set',
      },
    ],
  },
)

const promotion = object('How revisions are promoted. On an environment it overrides the one of the pipeline.', {
  'manual?': boolean('Require one approval. Default false.'),
  'approval?': object('Approvals required before a promotion starts. Default: none.', {
    'required?': integer('Number of distinct approvers required. Default 1.', { minimum: 1, maximum: 100 }),
    'approvers?': list(
      'Users whose approvals count. Default: all who may create Approvals.',
      string({ minLength: 1, maxLength: 253 }),
      { maxItems: 100 },
    ),
    'ttl?': duration('How long an approval counts. Default: without limit.'),
    'legacySignatures?': boolean(
      "Accept pipeline-controller's X-Signature, which does not cover the path, for approvals. For a transition only. Default false.",
    ),
    'rejectClosesRun?': boolean('A rejection stops the whole run. Default false.'),
  }),
  strategy,
})

const window = object({
  kind: oneOf('Whether promotions may or may not start in the window.', ['Allow', 'Deny']),
  schedule: string('Cron schedule with five fields: when the window opens.', { minLength: 9, maxLength: 256 }),
  duration: duration('How long it stays open.'),
  'timeZone?': string('IANA time zone of the schedule. Default UTC.', { maxLength: 64 }),
})

function checkURL(description: string) {
  return string(description, { pattern: '^https?://[^\\s/@]+(/[^\\s]*)?$', maxLength: 2048 })
}

const verification = object('Checks that must pass once the environments before this one are ready on the revision.', {
  checks: list(
    'Checks, all of which must pass. One that cannot be made has not passed.',
    object(
      {
        'url?': checkURL('URL to request with GET.'),
        'expectedStatus?': integer('Expected status code. Default: any from 200 to 299.', {
          minimum: 100,
          maximum: 599,
        }),
        'prometheus?': object('A query of Prometheus.', {
          url: checkURL('URL of Prometheus, without /api.'),
          query: string('PromQL with a comparison, without `bool`. The check passes while it returns a sample.', {
            minLength: 1,
            maxLength: 4096,
          }),
          'secretRef?': secretRef('Secret with `token` (bearer) and optionally `caFile`.'),
        }),
        'job?': object('A Job that must succeed. Its containers get SOJOURN_REVISION and SOJOURN_ENVIRONMENT.', {
          fromCronJob: string(
            'CronJob in the same namespace, suspended or not, from whose template a Job is created for each promotion.',
            { pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$', maxLength: 52 },
          ),
        }),
        'commitStatuses?': object("Commit statuses and check runs of the revision's commit.", {
          'repository?': object('The repository to ask. Default: the one of the pull-request strategy.', {
            type: oneOf('The kind of forge.', forgeTypes),
            url: httpsURL('URL of the repository that the revision comes from.'),
            secretRef: secretRef('Secret with `token` for the API; optionally `caFile`.'),
            'apiURL?': httpsURL('URL of the API, if it cannot be derived from the repository URL.'),
          }),
          'names?': list(
            'Statuses and check runs that must have succeeded. Default: all, and at least one.',
            string({ minLength: 1, maxLength: 256 }),
            { maxItems: 32 },
          ),
        }),
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
    { minItems: 1, maxItems: 16 },
  ),
  'interval?': duration('How long to wait after a failed check. Default 30s.'),
  'deadline?': duration('After failing this long the pipeline is Stalled; checks continue. Default 10m.'),
})

const environmentName = string('Name of an environment, unique in the pipeline.', {
  pattern: '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$',
  maxLength: 63,
})

const target = object({
  namespace: string('Namespace of the application object.', { minLength: 1, maxLength: 63 }),
  'clusterRef?': object('The cluster of the application. Default: the local cluster.', {
    'apiVersion?': string('Ignored; accepted for compatibility.', { maxLength: 317 }),
    kind: oneOf('Always GitopsCluster.', ['GitopsCluster']),
    name: string('Name of the GitopsCluster.', { minLength: 1, maxLength: 253 }),
    'namespace?': string("Its namespace. Default: the pipeline's.", { maxLength: 63 }),
  }),
  'appRef?': appRef,
})

const environment = object({
  name: environmentName,
  targets: list('Where the application runs in this environment.', target, { minItems: 1, maxItems: 64 }),
  'promotion?': promotion,
  'appRef?': appRef,
  'dependsOn?': list(
    'Environments that must be ready on the revision first. Default: the previous one in the list.',
    environmentName,
    { maxItems: 64 },
  ),
  'soak?': duration('How long the environments before must be ready on the revision first. Default 0.'),
  'verification?': verification,
  'windows?': list('When promotions may start. An active Deny window wins over Allow. Default: any time.', window, {
    maxItems: 16,
  }),
  'rolloutDeadline?': duration('After this time a roll-out is reported as Stalled. Default 30m.'),
  'requireTargets?': intOrString('Targets that must be ready: `All`, a number or a percentage. Default All.'),
})

const spec = object({
  ...serviceAccountName,
  appRef,
  environments: list(
    'The environments. Revisions come from the first and are promoted through the others.',
    environment,
    {
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
          message: 'dependsOn must be empty for the first environment: revisions come from it',
        },
      ],
    },
  ),
  'promotion?': promotion,
  'suspend?': boolean('Observe and report, but promote nothing. Default false.'),
  'interval?': duration('Reconcile at least this often. Default 5m.'),
  'settle?': object('How long a revision must be stable before a run starts.', {
    'quietPeriod?': duration('How long a revision must stay unchanged before a run starts. Default 60s.'),
    'maxWait?': duration('A run of the newest revision starts after this time at the latest. Default 15m.'),
  }),
  'runPolicy?': oneOf(
    'What a new revision does to the current run: restart, wait until it finishes, or promote between neighbours only. Default Restart.',
    ['Restart', 'Finish', 'Pairwise'],
  ),
  'maxRestarts?': integer('Restarts in a row after which a run finishes before a newer one starts. Default 3.', {
    minimum: 0,
    maximum: 1000,
  }),
  'maxRunDuration?': duration('A run that takes longer has failed. Default: no limit.'),
  'rollback?': oneOf(
    'What happens when the first environment is rolled back: require an approval, promote the older revision, or hold. Default RequireApproval.',
    ['RequireApproval', 'Follow', 'Hold'],
  ),
  'drift?': oneOf(
    'What happens when an environment no longer runs the revision that was promoted to it: set the condition Drifted, or also promote it again. Default Report.',
    ['Report', 'Promote'],
  ),
  'withdrawal?': oneOf(
    'What happens to open pull requests when the pipeline or an environment is deleted: close them or leave them. Default Close.',
    ['Close', 'Orphan'],
  ),
  'adapter?': object('How health and revision are read from kinds that Sojourn does not know.', {
    'healthy?': string('CEL over `self`: whether the application is healthy.', { maxLength: 4096 }),
    'revision?': string('CEL over `self`: the revision it runs, as a string.', { maxLength: 4096 }),
    'value?': string(
      'CEL over `revision`: the value to write at the marker. Default: the hash of a commit, the digest of an OCI artifact, else the revision.',
      { maxLength: 4096 },
    ),
  }),
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
