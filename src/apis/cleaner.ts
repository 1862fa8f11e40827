import { defineKind, type ObjectOf } from './define-kind.ts'
import {
  anything,
  boolean,
  conditions,
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

const reference = object({
  apiGroup: optional(string({ description: 'The kind’s group; absent for the core group.' })),
  version: optional(string({ description: 'The kind’s version, with apiGroup.' })),
  apiVersion: optional(string({ description: 'Group and version in one, instead of apiGroup and version.' })),
  kind: string({ minLength: 1, description: 'In any case: service, Service.' }),
  name: optional(string({ minLength: 1, description: 'One object by its name.' })),
  matchLabels: optional(mapOf(string(), { description: 'All objects with these labels, instead of one by name.' })),
  labelSelector: optional(labelSelector({ description: 'The same, with expressions.' })),
  matchAll: optional(
    boolean({ description: 'All objects of the kind in this namespace, instead of some by name or labels.' }),
  ),
})

const helmRelease = {
  release: optional(string({ maxLength: 53, description: 'The name of a release in this namespace.' })),
  delete: optional(boolean({ description: 'Uninstall it. Defaults to false.' })),
  driver: optional(
    oneOf(['secret', 'configmap'], { description: 'Where the release is recorded. Defaults to secret.' }),
  ),
  disableHooks: optional(boolean({ description: 'Run no delete hooks. Defaults to false.' })),
  timeout: optional(string({ description: 'How long each hook may take. Defaults to 5m.' })),
}

const spec = object({
  serviceAccountName,
  ttl: string({ description: 'How long after its creation this Cleaner starts to look: 90m, 360h, 15d, 2w.' }),
  retry: optional(
    object({
      period: string({ description: 'How often to look again when nothing else tells when.' }),
      monotonic: optional(
        boolean({
          description:
            'The user’s word that once true, the conditions stay true by time alone. Only needed where the next instant cannot be computed: it is searched for then.',
        }),
      ),
    }),
  ),
  helm: optional(
    object({ ...helmRelease, releases: optional(list(object(helmRelease), { description: 'Several releases.' })) }),
  ),
  targets: optional(
    list(
      object({
        name: string({ minLength: 1, maxLength: 63, description: 'The variable that stands for it in conditions.' }),
        reference,
        delete: optional(boolean({ description: 'Delete it when all conditions are true. Defaults to false.' })),
        includeWhenEvaluating: optional(boolean({ description: 'Let conditions see it. Defaults to false.' })),
        onMissing: optional(
          oneOf(['Wait', 'Null', 'Complete'], {
            description:
              'When a named, evaluated target is not there: wait for it, see null, or count as done. Defaults to Wait.',
          }),
        ),
        excludeTerminating: optional(
          boolean({ description: 'Take what is on its way out already for gone. Defaults to false.' }),
        ),
        propagationPolicy: optional(
          oneOf(['Background', 'Foreground', 'Orphan'], {
            description: 'What becomes of what the target owns. Defaults to Background.',
          }),
        ),
      }),
      { description: 'What is looked at and what is deleted.' },
    ),
  ),
  conditions: optional(list(string({ minLength: 1 }), { description: 'CEL; all must be true.' })),
  wait: optional(
    string({
      description:
        'After the targets are deleted, hold releases and CloudEvent until they are gone, at most this long. Defaults to not at all.',
    }),
  ),
  cloudEventSink: optional(string({ description: 'Gets a CloudEvent when everything is deleted.' })),
  cloudEventRequired: optional(
    boolean({ description: 'Stay until the sink has taken the event. Defaults to false: five tries, then a warning.' }),
  ),
  suspend: optional(boolean({ description: 'Do nothing for now. Defaults to false.' })),
  dryRun: optional(boolean({ description: 'Only say what would be deleted. Defaults to false.' })),
  schedule: optional(string({ description: 'A WorkSchedule within which to delete.' })),
})

/** What was decided, before anything was done about it. */
export const decisionStatus = object({
  at: time(),
  generation: integer(),
  targets: list(
    object({
      name: string({ description: 'The target’s name in the spec.' }),
      apiVersion: string(),
      kind: string(),
      namespace: optional(string()),
      propagationPolicy: optional(oneOf(['Background', 'Foreground', 'Orphan'])),
      objects: list(object({ name: string(), uid: string() })),
    }),
  ),
  waitUntil: optional(time({ description: 'How long to hold what follows the targets.' })),
  releases: optional(
    list(
      object({
        name: string(),
        driver: oneOf(['secret', 'configmap']),
        disableHooks: boolean(),
        timeoutSeconds: integer(),
      }),
    ),
  ),
  sink: optional(object({ url: string(), required: boolean() })),
})

/** The targets as they were evaluated when it was decided. */
export const evaluatedTargets = list(
  object({
    name: string(),
    delete: boolean(),
    includeWhenEvaluating: boolean(),
    state: optional(
      anything({ description: 'The target as it was evaluated; left out where all together are too large.' }),
    ),
  }),
)

const status = object({
  resolvedTargets: optional(
    list(string(), { description: 'name.plural.group/version of what conditions see, at most 100.' }),
  ),
  resolvedCount: optional(integer()),
  nextScheduledEvaluation: optional(time()),
  evaluationTime: optional(time({ description: 'When all conditions were true.' })),
  conditions: optional(conditions()),
  targets: optional(evaluatedTargets),
  decision: optional(decisionStatus),
})

/** Deletes targets, Helm releases and itself once its time is up and its conditions are true. */
export const cleaner = defineKind({
  group: 'cleaner.vtex.dev',
  version: 'v1alpha',
  kind: 'Cleaner',
  plural: 'cleaners',
  scope: 'Namespaced',
  description: 'Deletes its targets, its Helm releases and itself once its time is up and its conditions are true.',
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
})

export type Cleaner = ObjectOf<typeof cleaner>
export type CleanerSpec = Static<typeof spec>
