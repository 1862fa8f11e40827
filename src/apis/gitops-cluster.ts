import { defineKind } from './define-kind.ts'
import { conditions, integer, object, string } from './schema.ts'

const nameOf = (description: string) =>
  object(description, { name: string('Name of the object.', { minLength: 1, maxLength: 253 }) })

/** Another cluster that pipelines and policies may refer to, and the Secret with its credentials. */
export const gitopsCluster = defineKind({
  group: 'gitops.weave.works',
  version: 'v1alpha1',
  kind: 'GitopsCluster',
  plural: 'gitopsclusters',
  scope: 'Namespaced',
  description: 'Registers a remote cluster and the Secret with its kubeconfig.',
  spec: object({
    'secretRef?': nameOf('Secret in this namespace with the kubeconfig under `kubeconfig`, `value` or `value.yaml`.'),
    'capiClusterRef?': nameOf(
      'Cluster API cluster whose Secret `<name>-kubeconfig` is used; takes precedence over secretRef.',
    ),
  }),
  status: object({
    'conditions?': conditions(),
    'observedGeneration?': integer('metadata.generation that the conditions were computed from.'),
  }),
  columns: [
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Status', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].message' },
  ],
})
