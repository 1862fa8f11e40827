import { defineKind, type ObjectOf } from './define-kind.ts'
import { sojournGroup } from './group.ts'
import { boolean, health, labelSelector, object, optional, string, time, type Static } from './schema.ts'

const resource = object(
  {
    provider: optional(string({ description: 'kubernetes or aws. Default: kubernetes.' })),
    cluster: optional(
      string({ description: 'GitopsCluster of the object, as namespace.name. Default: the local cluster.' }),
    ),
    account: optional(string({ description: 'ProviderAccount of the cloud resource.' })),
    region: optional(string({ description: 'Region of the cloud resource.' })),
    apiVersion: optional(string({ description: 'API group and version of the object, such as apps/v1.' })),
    kind: string({ minLength: 1, description: 'Kind of the object, or type of the cloud resource.' }),
    namespace: optional(string({ description: 'Namespace of the object.' })),
    name: optional(string({ description: 'Name of the resource.' })),
    uid: optional(string({ description: 'UID of the object, to protect this one but not a successor of its name.' })),
    id: optional(string({ description: 'ID of the cloud resource.' })),
  },
  { description: 'One resource to protect. Set either resource or selector.' },
)

const spec = object({
  resource: optional(resource),
  selector: optional(
    object(
      {
        apiVersion: optional(string({ description: 'API group and version of the objects, such as apps/v1.' })),
        kind: string({ minLength: 1, description: 'Kind of the objects.' }),
        namespace: optional(string({ description: 'Namespace of the objects. Default: all namespaces.' })),
        labels: labelSelector({ description: 'Selects the objects by label.' }),
      },
      { description: 'Protects all objects of a kind with these labels.' },
    ),
  ),
  reason: optional(string({ maxLength: 1024, description: 'Why the resources must be kept.' })),
  requestedBy: optional(string({ maxLength: 256, description: 'Who requested the opt-out.' })),
  expiresAt: optional(time({ description: 'When the opt-out expires. Default: never.' })),
})

const status = object({
  since: optional(time({ description: 'When the opt-out took effect.' })),
  mirrored: optional(boolean({ description: 'Whether the keep mark was also set on the resource itself.' })),
  ...health,
})

/** Protects resources from deletion by every system until it is deleted or expires. */
export const cleanupOptOut = defineKind({
  ...sojournGroup,
  kind: 'CleanupOptOut',
  plural: 'cleanupoptouts',
  scope: 'Cluster',
  description: 'Protects resources: no system of Sojourn deletes them.',
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
