import { defineOwnKind, type ObjectOf } from './define-kind.ts'
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
  objects,
  oneOf,
  secretName,
  string,
  type Static,
} from './schema.ts'

const sleep = object('When the workloads of an environment sleep. Default: never.', {
  'idleAfter?': duration('Time without a request after which workloads sleep; at least 1m. Default: never.'),
  'awake?': string(
    'Hours in which workloads are kept awake; outside of them they sleep. Name of a WorkSchedule, or hours such as `Mon-Fri 08:00-18:00 Europe/Berlin`.',
    { minLength: 1 },
  ),
  'grace?': duration('Time after creation and after each deploy in which nothing sleeps. Default: 15m.'),
  'wakeOn?': list('What wakes sleeping workloads. Default: Request.', oneOf(['Request', 'Deploy'])),
  'exclude?': list(
    'Workloads that never sleep. The annotation `sojourn.dev/sleep: "false"` excludes one workload.',
    labelSelector('Selects workloads by label.'),
  ),
})

const deletion = object('When an environment is deleted. Default: never by time.', {
  'after?': duration('Time after which an environment is deleted. Default: never.'),
  'since?': oneOf('Start of `after`. Default: LastUsed.', ['LastUsed', 'Created', 'LastDeployed']),
  'warnBefore?': duration('Minimum time between the notice to the owner and the deletion. Default: 24h.'),
  'extendBy?': duration('Time that one use of the keep link adds. Default: 3d.'),
  'maxAge?': duration('Age at which an environment is deleted; no keep goes beyond it. Default: none.'),
  'when?': string(
    'CEL expression over `environment`, `namespaceObject`, `pullRequest` and `time`; an environment is deleted while it is true.',
    { minLength: 1, maxLength: 4096 },
  ),
  'window?': string('WorkSchedule outside of which nothing is deleted. Default: any time.', { minLength: 1 }),
  'via?': oneOf(
    'Auto: the Argo CD, Flux or flux-operator object that deploys the environment is found by its marks and deleted first. None: only the Namespace is deleted. Default: Auto.',
    ['Auto', 'None'],
  ),
  'viaObject?': objectReference('Object to delete first, instead of `via`. `{{namespace}}` stands for the Namespace.'),
})

const pullRequest = object('What the pull request of an environment decides.', {
  'deleteWhenClosed?': boolean('Whether an environment is deleted when its pull request is closed. Default: true.'),
  'graceAfterClose?': duration('Time between close and deletion. Default: 1h.'),
  'staleAfter?': duration(
    'Time without a push or use after which an environment is deleted; at least 1d. Default: never.',
  ),
  'comment?': boolean('Whether one comment on the pull request shows the environment. Default: true.'),
  'commitStatus?': boolean('Whether the head commit gets a status of the environment. Default: true.'),
  'label?': string(
    'Label that makes a generator (ApplicationSet, ResourceSet) create the environment; removed from the pull request so that the generator deletes it.',
    { minLength: 1 },
  ),
  'forges?': objects('Forges with credentials for every environment of the class.', {
    host: string('Host name of the forge, such as git.example.org.', { minLength: 1 }),
    type: oneOf('The kind of forge.', forgeTypes),
    secretRef: object('Secret in the namespace of Sojourn with `token`, optionally `username` and `caFile`.', {
      name: secretName,
    }),
    repositories: list('Repositories that the token is used for, such as `acme/*`.', string({ minLength: 1 }), {
      minItems: 1,
    }),
  }),
})

const limits = object('How many environments may exist.', {
  'max?': integer('Maximum number of environments of the class. Default: none.', { minimum: 1 }),
  'maxPerOwner?': integer('Maximum number of environments of one owner. Default: none.', { minimum: 1 }),
  'whenFull?': oneOf(
    'Refuse: admission refuses the new environment. DeleteLeastRecentlyUsed: the least recently used environment is announced for deletion. Default: Refuse.',
    ['Refuse', 'DeleteLeastRecentlyUsed'],
  ),
})

const spec = object(
  {
    namespaceSelector: labelSelector('Namespaces that get an Environment of this class; must not be empty.'),
    'sleep?': sleep,
    'use?': list(
      'What counts as use of an environment. Default: Traffic and Deploy with sleep.idleAfter, else Deploy.',
      oneOf(['Traffic', 'Deploy', 'Exec']),
    ),
    'delete?': deletion,
    'pullRequest?': pullRequest,
    'limits?': limits,
    'owner?': object('Who owns an environment.', {
      'annotation?': string('Annotation of the Namespace that names the owner. Default: sojourn.dev/owner.'),
      'default?': string('Owner of Namespaces without the annotation.'),
    }),
    'channels?': list(
      'NotificationChannels that owners are told by. Default: none; an Event and the pull request tell them.',
      string({ minLength: 1 }),
    ),
    'paused?': boolean('Whether environments are only reported: nothing sleeps, wakes or is deleted. Default: false.'),
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
  'environments?': integer('Number of environments of the class that are not being deleted.'),
  'observedGeneration?': integer('metadata.generation that the status was computed from.', { minimum: 0 }),
  'conditions?': conditions(),
})

/** The rules that environments of one sort live by: sleep, notice, deletion, pull requests, limits. */
export const environmentClass = defineOwnKind({
  kind: 'EnvironmentClass',
  plural: 'environmentclasses',
  scope: 'Cluster',
  description:
    'Defines how a sort of environments lives: when they sleep, when their owners are told and when they are deleted.',
  shortNames: ['envclass'],
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
export type AllowedForge = NonNullable<NonNullable<EnvironmentClassSpec['pullRequest']>['forges']>[number]
