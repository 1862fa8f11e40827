import { decisionStatus, evaluatedTargets } from './cleaner.ts'
import { defineKind, type ObjectOf } from './define-kind.ts'
import {
  boolean,
  health,
  integer,
  labelSelector,
  list,
  object,
  objects,
  serviceAccountName,
  string,
  time,
  type Static,
} from './schema.ts'

const spec = object({
  ...serviceAccountName,
  ttl: string('Time from the creation of this object to the first evaluation of its conditions, as a Go duration.'),
  'retry?': object('When conditions are evaluated again.', { period: string('Time between evaluations.') }),
  'helm?': object('Helm release to uninstall once the targets are deleted.', {
    'release?': string('Name of a Helm release in this namespace.'),
    'delete?': boolean('Whether to uninstall the release.'),
  }),
  'targets?': objects('Objects that the conditions read, that are deleted, or both.', {
    name: string('Name of the variable that conditions use for the target.', { minLength: 1 }),
    delete: boolean('Whether to delete the target once all conditions are true.'),
    includeWhenEvaluating: boolean('Whether conditions can read the target.'),
    reference: object('The objects that the target stands for: one by name, or several by label.', {
      'apiVersion?': string('API group and version of the target, such as apps/v1.'),
      'kind?': string('Kind of the target, such as Deployment.'),
      'name?': string('Name of the target. Conditions see it as one object.'),
      'labelSelector?': labelSelector('Selects targets by label. Conditions see a list in `items`.'),
    }),
  }),
  'conditions?': list(
    'CEL expressions over the targets and `time`; all must be true before anything is deleted.',
    string(),
  ),
  'suspend?': boolean('Whether the ConditionalTTL is paused. Default: false.'),
  'cloudEventSink?': string('URL that receives a CloudEvent once everything is deleted.'),
})

const status = object({
  ...health,
  'evaluationTime?': time('When all conditions were found true.'),
  'targets?': evaluatedTargets,
  'resolvedTargets?': list('Objects that the conditions read, as name.plural.group/version; at most 100.', string()),
  'resolvedCount?': integer('Number of objects that the conditions read.'),
  'nextScheduledEvaluation?': time('When the conditions are evaluated next, if known.'),
  'decision?': decisionStatus,
})

/** The kind of cleaner-controller, with its schema, so that existing manifests work unchanged. */
export const conditionalTtl = defineKind({
  group: 'cleaner.vtex.io',
  version: 'v1alpha1',
  kind: 'ConditionalTTL',
  plural: 'conditionalttls',
  scope: 'Namespaced',
  description: 'Deletes its targets, its Helm release and itself once its TTL has expired and its conditions are true.',
  shortNames: ['cttl'],
  categories: ['sojourn'],
  spec,
  status,
  columns: [
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    { name: 'TTL', type: 'string', jsonPath: '.spec.ttl' },
    { name: 'Status', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].reason' },
  ],
})

export type ConditionalTtl = ObjectOf<typeof conditionalTtl>
export type ConditionalTtlSpec = Static<typeof spec>
