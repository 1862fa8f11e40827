import type { ResourceType } from './object.ts'

/** Where Kubernetes serves the kinds of its own that Sojourn reads or writes. */

const core = { group: '', version: 'v1', namespaced: true } as const
const apps = { group: 'apps', version: 'v1', namespaced: true } as const
const batch = { group: 'batch', version: 'v1', namespaced: true } as const

export const configMaps: ResourceType = { ...core, kind: 'ConfigMap', plural: 'configmaps' }
export const endpoints: ResourceType = { ...core, kind: 'Endpoints', plural: 'endpoints' }
export const events: ResourceType = { ...core, kind: 'Event', plural: 'events' }
export const namespaces: ResourceType = { ...core, kind: 'Namespace', plural: 'namespaces', namespaced: false }
export const nodes: ResourceType = { ...core, kind: 'Node', plural: 'nodes', namespaced: false }
export const persistentVolumes: ResourceType = {
  ...core,
  kind: 'PersistentVolume',
  plural: 'persistentvolumes',
  namespaced: false,
}
export const pods: ResourceType = { ...core, kind: 'Pod', plural: 'pods' }
export const replicationControllers: ResourceType = {
  ...core,
  kind: 'ReplicationController',
  plural: 'replicationcontrollers',
}
export const secrets: ResourceType = { ...core, kind: 'Secret', plural: 'secrets' }
export const serviceAccounts: ResourceType = { ...core, kind: 'ServiceAccount', plural: 'serviceaccounts' }
export const services: ResourceType = { ...core, kind: 'Service', plural: 'services' }

export const controllerRevisions: ResourceType = { ...apps, kind: 'ControllerRevision', plural: 'controllerrevisions' }
export const daemonSets: ResourceType = { ...apps, kind: 'DaemonSet', plural: 'daemonsets' }
export const deployments: ResourceType = { ...apps, kind: 'Deployment', plural: 'deployments' }
export const replicaSets: ResourceType = { ...apps, kind: 'ReplicaSet', plural: 'replicasets' }
export const statefulSets: ResourceType = { ...apps, kind: 'StatefulSet', plural: 'statefulsets' }

export const cronJobs: ResourceType = { ...batch, kind: 'CronJob', plural: 'cronjobs' }
export const jobs: ResourceType = { ...batch, kind: 'Job', plural: 'jobs' }

export const customResourceDefinitions: ResourceType = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
}
export const endpointSlices: ResourceType = {
  group: 'discovery.k8s.io',
  version: 'v1',
  kind: 'EndpointSlice',
  plural: 'endpointslices',
  namespaced: true,
}
export const horizontalPodAutoscalers: ResourceType = {
  group: 'autoscaling',
  version: 'v2',
  kind: 'HorizontalPodAutoscaler',
  plural: 'horizontalpodautoscalers',
  namespaced: true,
}
export const leases: ResourceType = {
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  plural: 'leases',
  namespaced: true,
}
export const podDisruptionBudgets: ResourceType = {
  group: 'policy',
  version: 'v1',
  kind: 'PodDisruptionBudget',
  plural: 'poddisruptionbudgets',
  namespaced: true,
}
const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1', namespaced: true } as const
export const roles: ResourceType = { ...rbac, kind: 'Role', plural: 'roles' }
export const roleBindings: ResourceType = { ...rbac, kind: 'RoleBinding', plural: 'rolebindings' }
export const clusterRoleBindings: ResourceType = {
  ...rbac,
  kind: 'ClusterRoleBinding',
  plural: 'clusterrolebindings',
  namespaced: false,
}
