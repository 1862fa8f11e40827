import { defineKind } from './define-kind.ts'
import { conditions, integer, object, optional, string } from './schema.ts'

const secretName = (description: string) =>
  optional(object({ name: string({ minLength: 1, maxLength: 253 }) }, { description }))

/** A cluster that pipelines and policies may point at, and where its credentials are. */
export const gitopsCluster = defineKind({
  group: 'gitops.weave.works',
  version: 'v1alpha1',
  kind: 'GitopsCluster',
  plural: 'gitopsclusters',
  scope: 'Namespaced',
  description: 'Another cluster and the Secret that holds its kubeconfig.',
  spec: object({
    secretRef: secretName('Secret in this namespace with the kubeconfig under `kubeconfig`, `value` or `value.yaml`.'),
    capiClusterRef: secretName('Cluster API cluster whose Secret `<name>-kubeconfig` is used; wins over secretRef.'),
  }),
  status: object({
    conditions: optional(conditions()),
    observedGeneration: optional(integer()),
  }),
  columns: [
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Status', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].message' },
  ],
})
