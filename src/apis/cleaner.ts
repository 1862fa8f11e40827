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
  objects,
  oneOf,
  serviceAccountName,
  string,
  time,
  type Static,
} from './schema.ts'

const reference = object(
  'The objects that the target stands for, in this namespace: one by name, or several by label.',
  {
    'apiGroup?': string('API group of the kind. Default: the core group.'),
    'version?': string('API version of the kind, together with apiGroup.'),
    'apiVersion?': string('API group and version such as apps/v1, instead of apiGroup and version.'),
    kind: string('Kind of the target. Case does not matter: service, Service.', { minLength: 1 }),
    'name?': string('Name of the target. Conditions see it as one object.', { minLength: 1 }),
    'matchLabels?': mapOf('Labels of the targets, instead of a name. Conditions see a list in `items`.', string()),
    'labelSelector?': labelSelector('Label selector of the targets, instead of matchLabels.'),
    'matchAll?': boolean('Selects all objects of the kind in this namespace, instead of a name or labels.'),
  },
)

const helmRelease = {
  'release?': string('Name of a Helm release in this namespace.', { maxLength: 53 }),
  'delete?': boolean('Whether to uninstall the release. Default: false.'),
  'driver?': oneOf('Storage driver of Helm that holds the release. Default: secret.', ['secret', 'configmap']),
  'disableHooks?': boolean('Whether to skip the delete hooks of the release. Default: false.'),
  'timeout?': string('Timeout of each delete hook. Default: 5m.'),
}

const spec = object({
  ...serviceAccountName,
  ttl: string(
    'Time from the creation of the Cleaner to the first evaluation of its conditions, such as 90m, 360h, 15d or 2w.',
  ),
  'retry?': object('When conditions are evaluated again.', {
    period: string('Time between evaluations when neither a change nor a computed instant triggers one.'),
    'monotonic?': boolean(
      'Asserts that the conditions, once true, stay true. Lets Sojourn search for the instant at which they become true where it cannot compute it. Default: false.',
    ),
  }),
  'helm?': object('Helm releases to uninstall once the targets are deleted.', {
    ...helmRelease,
    'releases?': objects('Further releases to uninstall.', helmRelease),
  }),
  'targets?': objects('Objects that the conditions read, that are deleted, or both.', {
    name: string('Name of the variable that conditions use for the target.', { minLength: 1, maxLength: 63 }),
    reference,
    'delete?': boolean('Whether to delete the target once all conditions are true. Default: false.'),
    'includeWhenEvaluating?': boolean('Whether conditions can read the target. Default: false.'),
    'onMissing?': oneOf(
      'What happens when a named target that conditions read does not exist. Wait: wait for it. Null: conditions see null. Complete: the conditions count as true. Default: Wait.',
      ['Wait', 'Null', 'Complete'],
    ),
    'excludeTerminating?': boolean('Whether objects with a deletionTimestamp count as deleted. Default: false.'),
    'propagationPolicy?': oneOf('Propagation policy of the deletion. Default: Background.', [
      'Background',
      'Foreground',
      'Orphan',
    ]),
  }),
  'conditions?': list(
    'CEL expressions over the targets and `time`; all must be true before anything is deleted.',
    string({ minLength: 1 }),
  ),
  'wait?': string(
    'Maximum time to wait for the finalizers of the deleted targets before releases are uninstalled and the CloudEvent is sent. Default: no wait.',
  ),
  'cloudEventSink?': string('URL that receives a CloudEvent once everything is deleted.'),
  'cloudEventRequired?': boolean(
    'Whether to retry without a limit until the sink accepts the CloudEvent. Default: false.',
  ),
  'cloudEventTimeout?': string('How long the delivery of the CloudEvent is retried. Default: 24h.'),
  'warn?': object('Announces the deletion before it happens. Nothing is deleted before the announced date.', {
    before: string('Minimum time between the notice and the deletion, such as 24h.'),
    'channels?': list(
      'Names of the NotificationChannels that carry the notice. Its author needs the right to get them. Default: a Kubernetes Event on the Cleaner.',
      string({ minLength: 1 }),
    ),
  }),
  'suspend?': boolean('Whether the Cleaner is paused. Default: false.'),
  'dryRun?': boolean('Whether to report what would be deleted instead of deleting it. Default: false.'),
  'schedule?': string('Name of the WorkSchedule outside of whose windows nothing is deleted. Default: any time.'),
})

/** The recorded decision: written before anything is deleted, and resumed from after a crash. */
export const decisionStatus = object('The deletion that was decided and is being carried out.', {
  at: time('When the decision was made.'),
  generation: integer('metadata.generation that the decision was made for.'),
  targets: objects('Targets to delete. Objects created after the decision are kept.', {
    name: string('Name of the target in the spec.'),
    apiVersion: string('API group and version of the objects.'),
    kind: string('Kind of the objects.'),
    'namespace?': string('Namespace of the objects.'),
    'propagationPolicy?': oneOf('Propagation policy of the deletion.', ['Background', 'Foreground', 'Orphan']),
    objects: objects('Objects to delete.', {
      name: string('Name of the object.'),
      uid: string('UID of the object; one with another UID is kept.'),
    }),
  }),
  'notFound?': list('What was to be deleted and did not exist, each with its target or release.', string()),
  'waitUntil?': time('Until when releases and CloudEvent wait for the finalizers of the targets.'),
  'releases?': objects('Helm releases to uninstall.', {
    name: string('Name of the Helm release.'),
    driver: oneOf('Storage driver of Helm that holds the release.', ['secret', 'configmap']),
    disableHooks: boolean('Whether its delete hooks are skipped.'),
    timeoutSeconds: integer('Timeout of each delete hook, in seconds.'),
    'digest?': string('Digest of the release record that the decision was made for.'),
  }),
  'sink?': object('Where the CloudEvent is sent.', {
    url: string('URL that receives the CloudEvent.'),
    required: boolean('Whether to retry until it is accepted.'),
    'timeoutSeconds?': integer('How long delivery is retried, in seconds.'),
  }),
})

/** The targets as they were evaluated when it was decided. */
export const evaluatedTargets = objects('The targets at the time of the decision.', {
  name: string('Name of the target in the spec.'),
  delete: boolean('Whether the target is deleted.'),
  includeWhenEvaluating: boolean('Whether the conditions read the target.'),
  'state?': anything('The target as the conditions read it; absent if all targets together are too large.'),
})

const status = object({
  'resolvedTargets?': list('Objects that the conditions read, as name.plural.group/version; at most 100.', string()),
  'resolvedCount?': integer('Number of objects that the conditions read.'),
  'nextScheduledEvaluation?': time('When the conditions are evaluated next, if known.'),
  'evaluationTime?': time('When all conditions were found true.'),
  'warning?': object('The announced deletion, where spec.warn is set.', {
    announcedAt: time('When it was first announced, or should have been.'),
    date: time('Nothing is deleted before.'),
    generation: integer('metadata.generation that was announced. A changed spec is announced again.'),
    'toldAt?': time('When a channel accepted the notice.'),
    'attempts?': integer('How often delivery failed.'),
    'retryAt?': time('When delivery is tried again.'),
    'error?': string('Why delivery failed.'),
  }),
  'keptUntil?': time('Until when a user keeps it, by the link of a notice.'),
  ...health,
  'targets?': evaluatedTargets,
  'decision?': decisionStatus,
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
