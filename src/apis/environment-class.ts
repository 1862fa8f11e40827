import { defineKind, type ObjectOf } from './define-kind.ts'
import { sojournGroup } from './group.ts'
import { forgeTypes } from './pipeline.ts'
import {
  boolean,
  conditions,
  duration,
  integer,
  labelSelector,
  list,
  object,
  objectReference,
  oneOf,
  optional,
  string,
  type Static,
} from './schema.ts'

const sleep = object(
  {
    idleAfter: optional(
      duration({ description: 'Time without a request after which workloads sleep; at least 1m. Default: never.' }),
    ),
    awake: optional(
      string({
        minLength: 1,
        description:
          'Hours in which workloads are kept awake; outside of them they sleep. Name of a WorkSchedule, or hours such as `Mon-Fri 08:00-18:00 Europe/Berlin`.',
      }),
    ),
    grace: optional(
      duration({ description: 'Time after creation and after each deploy in which nothing sleeps. Default: 15m.' }),
    ),
    wakeOn: optional(
      list(oneOf(['Request', 'Deploy']), { description: 'What wakes sleeping workloads. Default: Request.' }),
    ),
    exclude: optional(
      list(labelSelector({ description: 'Selects workloads by label.' }), {
        description: 'Workloads that never sleep. The annotation `sojourn.dev/sleep: "false"` excludes one workload.',
      }),
    ),
  },
  { description: 'When the workloads of an environment sleep. Default: never.' },
)

const deletion = object(
  {
    after: optional(duration({ description: 'Time after which an environment is deleted. Default: never.' })),
    since: optional(
      oneOf(['LastUsed', 'Created', 'LastDeployed'], { description: 'Start of `after`. Default: LastUsed.' }),
    ),
    warnBefore: optional(
      duration({ description: 'Minimum time between the notice to the owner and the deletion. Default: 24h.' }),
    ),
    extendBy: optional(duration({ description: 'Time that one use of the keep link adds. Default: 3d.' })),
    maxAge: optional(
      duration({ description: 'Age at which an environment is deleted; no keep goes beyond it. Default: none.' }),
    ),
    when: optional(
      string({
        minLength: 1,
        maxLength: 4096,
        description:
          'CEL expression over `environment`, `namespace`, `pullRequest` and `time`; an environment is deleted while it is true.',
      }),
    ),
    window: optional(
      string({ minLength: 1, description: 'WorkSchedule outside of which nothing is deleted. Default: any time.' }),
    ),
    via: optional(
      oneOf(['Auto', 'None'], {
        description:
          'Auto: the Argo CD, Flux or flux-operator object that deploys the environment is found by its marks and deleted first. None: only the Namespace is deleted. Default: Auto.',
      }),
    ),
    viaObject: optional(
      objectReference({
        description: 'Object to delete first, instead of `via`. `{{namespace}}` stands for the Namespace.',
      }),
    ),
  },
  { description: 'When an environment is deleted. Default: never by time.' },
)

const pullRequest = object(
  {
    deleteWhenClosed: optional(
      boolean({ description: 'Whether an environment is deleted when its pull request is closed. Default: true.' }),
    ),
    graceAfterClose: optional(duration({ description: 'Time between close and deletion. Default: 1h.' })),
    staleAfter: optional(
      duration({
        description: 'Time without a push or use after which an environment is deleted; at least 1d. Default: never.',
      }),
    ),
    comment: optional(
      boolean({ description: 'Whether one comment on the pull request shows the environment. Default: true.' }),
    ),
    commitStatus: optional(
      boolean({ description: 'Whether the head commit gets a status of the environment. Default: true.' }),
    ),
    label: optional(
      string({
        minLength: 1,
        description:
          'Label that makes a generator (ApplicationSet, ResourceSet) create the environment; removed from the pull request so that the generator deletes it.',
      }),
    ),
    forges: optional(
      list(
        object({
          host: string({ minLength: 1, description: 'Host name of the forge, such as git.example.org.' }),
          type: oneOf(forgeTypes, { description: 'The kind of forge.' }),
          secretRef: object(
            { name: string({ minLength: 1, description: 'Name of the Secret.' }) },
            { description: 'Secret in the namespace of Sojourn with `token`, optionally `username` and `caFile`.' },
          ),
          repositories: list(string({ minLength: 1 }), {
            minItems: 1,
            description: 'Repositories that the token is used for, such as `acme/*`.',
          }),
        }),
        { description: 'Forges with credentials for every environment of the class.' },
      ),
    ),
  },
  { description: 'What the pull request of an environment decides.' },
)

const limits = object(
  {
    max: optional(integer({ minimum: 1, description: 'Maximum number of environments of the class. Default: none.' })),
    maxPerOwner: optional(
      integer({ minimum: 1, description: 'Maximum number of environments of one owner. Default: none.' }),
    ),
    whenFull: optional(
      oneOf(['Refuse', 'DeleteLeastRecentlyUsed'], {
        description:
          'Refuse: admission refuses the new environment. DeleteLeastRecentlyUsed: the least recently used environment is announced for deletion. Default: Refuse.',
      }),
    ),
  },
  { description: 'How many environments may exist.' },
)

const spec = object(
  {
    namespaceSelector: labelSelector({
      description: 'Namespaces that get an Environment of this class; must not be empty.',
    }),
    sleep: optional(sleep),
    use: optional(
      list(oneOf(['Traffic', 'Deploy', 'Exec']), {
        description:
          'What counts as use of an environment. Default: Traffic and Deploy with sleep.idleAfter, else Deploy.',
      }),
    ),
    delete: optional(deletion),
    pullRequest: optional(pullRequest),
    limits: optional(limits),
    owner: optional(
      object(
        {
          annotation: optional(
            string({ description: 'Annotation of the Namespace that names the owner. Default: sojourn.dev/owner.' }),
          ),
          default: optional(string({ description: 'Owner of Namespaces without the annotation.' })),
        },
        { description: 'Who owns an environment.' },
      ),
    ),
    channels: optional(
      list(string({ minLength: 1 }), {
        description:
          'NotificationChannels that owners are told by. Default: none; an Event and the pull request tell them.',
      }),
    ),
    paused: optional(
      boolean({
        description: 'Whether environments are only reported: nothing sleeps, wakes or is deleted. Default: false.',
      }),
    ),
  },
  {
    'x-kubernetes-validations': [
      {
        rule: '(has(self.namespaceSelector.matchLabels) && size(self.namespaceSelector.matchLabels) > 0) || (has(self.namespaceSelector.matchExpressions) && size(self.namespaceSelector.matchExpressions) > 0)',
        message: 'namespaceSelector must not be empty',
      },
    ],
  },
)

const status = object({
  environments: optional(integer({ description: 'Number of environments of the class that are not being deleted.' })),
  observedGeneration: optional(
    integer({ minimum: 0, description: 'metadata.generation that the status was computed from.' }),
  ),
  conditions: optional(conditions()),
})

/** The rules that environments of one sort live by: sleep, notice, deletion, pull requests, limits. */
export const environmentClass = defineKind({
  ...sojournGroup,
  kind: 'EnvironmentClass',
  plural: 'environmentclasses',
  scope: 'Cluster',
  description:
    'Defines how a sort of environments lives: when they sleep, when their owners are told and when they are deleted.',
  shortNames: ['envclass'],
  categories: ['sojourn'],
  spec,
  status,
  columns: [
    { name: 'Idle', type: 'string', jsonPath: '.spec.sleep.idleAfter' },
    { name: 'Awake', type: 'string', jsonPath: '.spec.sleep.awake' },
    { name: 'Delete', type: 'string', jsonPath: '.spec.delete.after' },
    { name: 'Environments', type: 'integer', jsonPath: '.status.environments' },
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
})

export type EnvironmentClass = ObjectOf<typeof environmentClass>
export type EnvironmentClassSpec = Static<typeof spec>
