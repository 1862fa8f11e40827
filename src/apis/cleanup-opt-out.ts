import { defineKind, type ObjectOf } from './define-kind.ts'
import { sojournGroup } from './group.ts'
import { boolean, conditions, labelSelector, object, optional, string, time, type Static } from './schema.ts'

const resource = object(
  {
    provider: optional(string({ description: 'kubernetes or aws. Defaults to kubernetes.' })),
    cluster: optional(string()),
    account: optional(string()),
    region: optional(string()),
    apiVersion: optional(string()),
    kind: string({ minLength: 1 }),
    namespace: optional(string()),
    name: optional(string()),
    uid: optional(string()),
    id: optional(string({ description: 'The id of a cloud resource.' })),
  },
  { description: 'The one resource that is spared.' },
)

const spec = object({
  resource: optional(resource),
  selector: optional(
    object(
      {
        apiVersion: optional(string()),
        kind: string({ minLength: 1 }),
        namespace: optional(string()),
        labels: labelSelector(),
      },
      { description: 'All resources of a kind with these labels are spared.' },
    ),
  ),
  reason: optional(string({ maxLength: 1024 })),
  requestedBy: optional(string({ maxLength: 256 })),
  expiresAt: optional(time({ description: 'When it ends by itself; never when absent.' })),
})

const status = object({
  since: optional(time()),
  mirrored: optional(boolean({ description: 'Whether the resource itself carries the mark too.' })),
  conditions: optional(conditions()),
})

/** Spares a resource, for every system, until it is revoked. */
export const cleanupOptOut = defineKind({
  ...sojournGroup,
  kind: 'CleanupOptOut',
  plural: 'cleanupoptouts',
  scope: 'Cluster',
  description: 'This resource, or these, must stay: no system of ours may delete them.',
  shortNames: ['optout'],
  categories: ['sojourn'],
  spec,
  status,
  columns: [
    { name: 'Kind', type: 'string', jsonPath: '.spec.resource.kind' },
    { name: 'Namespace', type: 'string', jsonPath: '.spec.resource.namespace' },
    { name: 'Name', type: 'string', jsonPath: '.spec.resource.name' },
    { name: 'By', type: 'string', jsonPath: '.spec.requestedBy' },
    { name: 'Until', type: 'date', jsonPath: '.spec.expiresAt' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
})

export type CleanupOptOut = ObjectOf<typeof cleanupOptOut>
export type CleanupOptOutSpec = Static<typeof spec>
