import { decisionStatus, evaluatedTargets } from './cleaner.ts'
import { defineKind, type ObjectOf } from './define-kind.ts'
import {
  boolean,
  conditions,
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
  ttl: string({ description: 'A Go duration counted from this object’s creation.' }),
  retry: optional(object({ period: string({ description: 'How long to wait between evaluations.' }) })),
  helm: optional(object({ release: optional(string()), delete: optional(boolean()) })),
  targets: optional(
    list(
      object({
        name: string({ minLength: 1, description: 'The variable that stands for it in conditions.' }),
        delete: boolean(),
        includeWhenEvaluating: boolean(),
        reference: object({
          apiVersion: optional(string()),
          kind: optional(string()),
          name: optional(string()),
          labelSelector: optional(labelSelector()),
        }),
      }),
    ),
  ),
  conditions: optional(list(string())),
  cloudEventSink: optional(string()),
})

const status = object({
  conditions: optional(conditions()),
  evaluationTime: optional(time()),
  targets: optional(evaluatedTargets),
  resolvedTargets: optional(list(string())),
  resolvedCount: optional(integer()),
  nextScheduledEvaluation: optional(time()),
  decision: optional(decisionStatus),
})

/** cleaner-controller's own kind, as its users know it. */
export const conditionalTtl = defineKind({
  group: 'cleaner.vtex.io',
  version: 'v1alpha1',
  kind: 'ConditionalTTL',
  plural: 'conditionalttls',
  scope: 'Namespaced',
  description: 'Deletes its targets, its Helm release and itself once its time is up and its conditions are true.',
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
