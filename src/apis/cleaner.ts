import { defineKind, type ObjectOf } from './define-kind.ts'
import { sojournGroup } from './group.ts'
import {
  anything,
  boolean,
  health,
  integer,
  labelSelector,
  list,
  mapOf,
  object,
  oneOf,
  optional,
  serviceAccountName,
  string,
  time,
  type Static,
} from './schema.ts'

const reference = object(
  {
    apiGroup: optional(string({ description: 'API group of the kind. Default: the core group.' })),
    version: optional(string({ description: 'API version of the kind, together with apiGroup.' })),
    apiVersion: optional(
      string({ description: 'API group and version such as apps/v1, instead of apiGroup and version.' }),
    ),
    kind: string({ minLength: 1, description: 'Kind of the target. Case does not matter: service, Service.' }),
    name: optional(string({ minLength: 1, description: 'Name of the target. Conditions see it as one object.' })),
    matchLabels: optional(
      mapOf(string(), { description: 'Labels of the targets, instead of a name. Conditions see a list in `items`.' }),
    ),
    labelSelector: optional(labelSelector({ description: 'Label selector of the targets, instead of matchLabels.' })),
    matchAll: optional(
      boolean({ description: 'Selects all objects of the kind in this namespace, instead of a name or labels.' }),
    ),
  },
  { description: 'The objects that the target stands for, in this namespace: one by name, or several by label.' },
)

const helmRelease = {
  release: optional(string({ maxLength: 53, description: 'Name of a Helm release in this namespace.' })),
  delete: optional(boolean({ description: 'Whether to uninstall the release. Default: false.' })),
  driver: optional(
    oneOf(['secret', 'configmap'], { description: 'Storage driver of Helm that holds the release. Default: secret.' }),
  ),
  disableHooks: optional(boolean({ description: 'Whether to skip the delete hooks of the release. Default: false.' })),
  timeout: optional(string({ description: 'Timeout of each delete hook. Default: 5m.' })),
}

const spec = object({
  serviceAccountName,
  ttl: string({
    description:
      'Time from the creation of the Cleaner to the first evaluation of its conditions, such as 90m, 360h, 15d or 2w.',
  }),
  retry: optional(
    object(
      {
        period: string({
          description: 'Time between evaluations when neither a change nor a computed instant triggers one.',
        }),
        monotonic: optional(
          boolean({
            description:
              'Asserts that the conditions, once true, stay true. Lets Sojourn search for the instant at which they become true where it cannot compute it. Default: false.',
          }),
        ),
      },
      { description: 'When conditions are evaluated again.' },
    ),
  ),
  helm: optional(
    object(
      {
        ...helmRelease,
        releases: optional(list(object(helmRelease), { description: 'Further releases to uninstall.' })),
      },
      { description: 'Helm releases to uninstall once the targets are deleted.' },
    ),
  ),
  targets: optional(
    list(
      object({
        name: string({
          minLength: 1,
          maxLength: 63,
          description: 'Name of the variable that conditions use for the target.',
        }),
        reference,
        delete: optional(
          boolean({ description: 'Whether to delete the target once all conditions are true. Default: false.' }),
        ),
        includeWhenEvaluating: optional(
          boolean({ description: 'Whether conditions can read the target. Default: false.' }),
        ),
        onMissing: optional(
          oneOf(['Wait', 'Null', 'Complete'], {
            description:
              'What happens when a named target that conditions read does not exist. Wait: wait for it. Null: conditions see null. Complete: the conditions count as true. Default: Wait.',
          }),
        ),
        excludeTerminating: optional(
          boolean({ description: 'Whether objects with a deletionTimestamp count as deleted. Default: false.' }),
        ),
        propagationPolicy: optional(
          oneOf(['Background', 'Foreground', 'Orphan'], {
            description: 'Propagation policy of the deletion. Default: Background.',
          }),
        ),
      }),
      { description: 'Objects that the conditions read, that are deleted, or both.' },
    ),
  ),
  conditions: optional(
    list(string({ minLength: 1 }), {
      description: 'CEL expressions over the targets and `time`; all must be true before anything is deleted.',
    }),
  ),
  wait: optional(
    string({
      description:
        'Maximum time to wait for the finalizers of the deleted targets before releases are uninstalled and the CloudEvent is sent. Default: no wait.',
    }),
  ),
  cloudEventSink: optional(string({ description: 'URL that receives a CloudEvent once everything is deleted.' })),
  cloudEventRequired: optional(
    boolean({
      description: 'Whether to retry without a limit until the sink accepts the CloudEvent. Default: false.',
    }),
  ),
  cloudEventTimeout: optional(
    string({ description: 'How long the delivery of the CloudEvent is retried. Default: 24h.' }),
  ),
  suspend: optional(boolean({ description: 'Whether the Cleaner is paused. Default: false.' })),
  dryRun: optional(
    boolean({ description: 'Whether to report what would be deleted instead of deleting it. Default: false.' }),
  ),
  schedule: optional(
    string({ description: 'Name of the WorkSchedule outside of whose windows nothing is deleted. Default: any time.' }),
  ),
})

/** The recorded decision: written before anything is deleted, and resumed from after a crash. */
export const decisionStatus = object(
  {
    at: time({ description: 'When the decision was made.' }),
    generation: integer({ description: 'metadata.generation that the decision was made for.' }),
    targets: list(
      object({
        name: string({ description: 'Name of the target in the spec.' }),
        apiVersion: string({ description: 'API group and version of the objects.' }),
        kind: string({ description: 'Kind of the objects.' }),
        namespace: optional(string({ description: 'Namespace of the objects.' })),
        propagationPolicy: optional(
          oneOf(['Background', 'Foreground', 'Orphan'], { description: 'Propagation policy of the deletion.' }),
        ),
        objects: list(
          object({
            name: string({ description: 'Name of the object.' }),
            uid: string({ description: 'UID of the object; one with another UID is kept.' }),
          }),
          { description: 'Objects to delete.' },
        ),
      }),
      { description: 'Targets to delete. Objects created after the decision are kept.' },
    ),
    notFound: optional(
      list(string(), { description: 'What was to be deleted and did not exist, each with its target or release.' }),
    ),
    waitUntil: optional(
      time({ description: 'Until when releases and CloudEvent wait for the finalizers of the targets.' }),
    ),
    releases: optional(
      list(
        object({
          name: string({ description: 'Name of the Helm release.' }),
          driver: oneOf(['secret', 'configmap'], { description: 'Storage driver of Helm that holds the release.' }),
          disableHooks: boolean({ description: 'Whether its delete hooks are skipped.' }),
          timeoutSeconds: integer({ description: 'Timeout of each delete hook, in seconds.' }),
          digest: optional(string({ description: 'Digest of the release record that the decision was made for.' })),
        }),
        { description: 'Helm releases to uninstall.' },
      ),
    ),
    sink: optional(
      object(
        {
          url: string({ description: 'URL that receives the CloudEvent.' }),
          required: boolean({ description: 'Whether to retry until it is accepted.' }),
          timeoutSeconds: optional(integer({ description: 'How long delivery is retried, in seconds.' })),
        },
        { description: 'Where the CloudEvent is sent.' },
      ),
    ),
  },
  { description: 'The deletion that was decided and is being carried out.' },
)

/** The targets as they were evaluated when it was decided. */
export const evaluatedTargets = list(
  object({
    name: string({ description: 'Name of the target in the spec.' }),
    delete: boolean({ description: 'Whether the target is deleted.' }),
    includeWhenEvaluating: boolean({ description: 'Whether the conditions read the target.' }),
    state: optional(
      anything({ description: 'The target as the conditions read it; absent if all targets together are too large.' }),
    ),
  }),
  { description: 'The targets at the time of the decision.' },
)

const status = object({
  resolvedTargets: optional(
    list(string(), { description: 'Objects that the conditions read, as name.plural.group/version; at most 100.' }),
  ),
  resolvedCount: optional(integer({ description: 'Number of objects that the conditions read.' })),
  nextScheduledEvaluation: optional(time({ description: 'When the conditions are evaluated next, if known.' })),
  evaluationTime: optional(time({ description: 'When all conditions were found true.' })),
  ...health,
  targets: optional(evaluatedTargets),
  decision: optional(decisionStatus),
})

const definition = {
  kind: 'Cleaner',
  plural: 'cleaners',
  scope: 'Namespaced',
  description:
    'Deletes its targets, its Helm releases and itself once its TTL has expired and its conditions are true.',
  categories: ['sojourn'],
  spec,
  status,
  columns: [
    { name: 'TTL', type: 'string', jsonPath: '.spec.ttl' },
    { name: 'Status', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].reason' },
    { name: 'Next', type: 'string', jsonPath: '.status.nextScheduledEvaluation' },
    { name: 'Message', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].message', priority: 1 },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
} as const

/** Deletes targets, Helm releases and itself once its TTL has expired and its conditions are true: the kind of the founding manifest. */
export const cleaner = defineKind({ group: 'cleaner.vtex.dev', version: 'v1alpha', ...definition })

/** The same under Sojourn's own name. */
export const ownCleaner = defineKind({ ...sojournGroup, ...definition })

export type Cleaner = ObjectOf<typeof cleaner>
export type CleanerSpec = Static<typeof spec>
