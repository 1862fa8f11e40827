import { decisionStatus, evaluatedTargets } from './cleaner.ts'
import { defineKind, type ObjectOf } from './define-kind.ts'
import {
  boolean,
  health,
  integer,
  labelSelector,
  list,
  object,
  optional,
  serviceAccountName,
  string,
  time,
  type Static,
} from './schema.ts'

const spec = object({
  serviceAccountName,
  ttl: string({
    description: 'Time from the creation of this object to the first evaluation of its conditions, as a Go duration.',
  }),
  retry: optional(
    object(
      { period: string({ description: 'Time between evaluations.' }) },
      { description: 'When conditions are evaluated again.' },
    ),
  ),
  helm: optional(
    object(
      {
        release: optional(string({ description: 'Name of a Helm release in this namespace.' })),
        delete: optional(boolean({ description: 'Whether to uninstall the release.' })),
      },
      { description: 'Helm release to uninstall once the targets are deleted.' },
    ),
  ),
  targets: optional(
    list(
      object({
        name: string({ minLength: 1, description: 'Name of the variable that conditions use for the target.' }),
        delete: boolean({ description: 'Whether to delete the target once all conditions are true.' }),
        includeWhenEvaluating: boolean({ description: 'Whether conditions can read the target.' }),
        reference: object(
          {
            apiVersion: optional(string({ description: 'API group and version of the target, such as apps/v1.' })),
            kind: optional(string({ description: 'Kind of the target, such as Deployment.' })),
            name: optional(string({ description: 'Name of the target. Conditions see it as one object.' })),
            labelSelector: optional(
              labelSelector({ description: 'Selects targets by label. Conditions see a list in `items`.' }),
            ),
          },
          { description: 'The objects that the target stands for: one by name, or several by label.' },
        ),
      }),
      { description: 'Objects that the conditions read, that are deleted, or both.' },
    ),
  ),
  conditions: optional(
    list(string(), {
      description: 'CEL expressions over the targets and `time`; all must be true before anything is deleted.',
    }),
  ),
  suspend: optional(boolean({ description: 'Whether the ConditionalTTL is paused. Default: false.' })),
  cloudEventSink: optional(string({ description: 'URL that receives a CloudEvent once everything is deleted.' })),
})

const status = object({
  ...health,
  evaluationTime: optional(time({ description: 'When all conditions were found true.' })),
  targets: optional(evaluatedTargets),
  resolvedTargets: optional(
    list(string(), { description: 'Objects that the conditions read, as name.plural.group/version; at most 100.' }),
  ),
  resolvedCount: optional(integer({ description: 'Number of objects that the conditions read.' })),
  nextScheduledEvaluation: optional(time({ description: 'When the conditions are evaluated next, if known.' })),
  decision: optional(decisionStatus),
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
