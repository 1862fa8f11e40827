import { defineOwnKind, type ObjectOf } from './define-kind.ts'
import { boolean, health, labelSelector, object, string, time, type Static } from './schema.ts'

const resource = object('One resource to protect. Set either resource or selector.', {
  'provider?': string('kubernetes or aws. Default: kubernetes.'),
  'cluster?': string('GitopsCluster of the object, as namespace.name. Default: the local cluster.'),
  'account?': string('ProviderAccount of the cloud resource.'),
  'region?': string('Region of the cloud resource.'),
  'apiVersion?': string('API group and version of the object, such as apps/v1.'),
  kind: string('Kind of the object, or type of the cloud resource.', { minLength: 1 }),
  'namespace?': string('Namespace of the object.'),
  'name?': string('Name of the resource.'),
  'uid?': string('UID of the object, to protect this one but not a successor of its name.'),
  'id?': string('ID of the cloud resource.'),
})

const spec = object({
  'resource?': resource,
  'selector?': object('Protects all objects of a kind with these labels.', {
    'apiVersion?': string('API group and version of the objects, such as apps/v1.'),
    kind: string('Kind of the objects.', { minLength: 1 }),
    'namespace?': string('Namespace of the objects. Default: all namespaces.'),
    labels: labelSelector('Selects the objects by label.'),
  }),
  'reason?': string('Why the resources must be kept.', { maxLength: 1024 }),
  'requestedBy?': string('Who requested the opt-out.', { maxLength: 256 }),
  'expiresAt?': time('When the opt-out expires. Default: never.'),
})

const status = object({
  'since?': time('When the opt-out took effect.'),
  'mirrored?': boolean('Whether the keep mark was also set on the resource itself.'),
  ...health,
})

/** Protects resources from deletion by every system until it is deleted or expires. */
export const cleanupOptOut = defineOwnKind({
  kind: 'CleanupOptOut',
  scope: 'Cluster',
  description: 'Protects resources: no system of Sojourn deletes them.',
  shortNames: ['optout'],
  spec,
  status,
  columns: [
    { name: 'Kind', type: 'string', jsonPath: '.spec.resource.kind' },
    { name: 'Namespace', type: 'string', jsonPath: '.spec.resource.namespace' },
    { name: 'Name', type: 'string', jsonPath: '.spec.resource.name' },
    { name: 'By', type: 'string', jsonPath: '.spec.requestedBy' },
    { name: 'Until', type: 'string', jsonPath: '.spec.expiresAt' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
})

export type CleanupOptOut = ObjectOf<typeof cleanupOptOut>
export type CleanupOptOutSpec = Static<typeof spec>
