import type { ResourceType } from '../../../kube/object.ts'

const core = { group: '', version: 'v1', namespaced: true } as const
const apps = { group: 'apps', version: 'v1', namespaced: true } as const

export const services: ResourceType = { ...core, kind: 'Service', plural: 'services' }
export const configMaps: ResourceType = { ...core, kind: 'ConfigMap', plural: 'configmaps' }
export const endpoints: ResourceType = { ...core, kind: 'Endpoints', plural: 'endpoints' }
export const secrets: ResourceType = { ...core, kind: 'Secret', plural: 'secrets' }
export const deployments: ResourceType = { ...apps, kind: 'Deployment', plural: 'deployments' }
export const statefulSets: ResourceType = { ...apps, kind: 'StatefulSet', plural: 'statefulsets' }
export const replicaSets: ResourceType = { ...apps, kind: 'ReplicaSet', plural: 'replicasets' }
export const endpointSlices: ResourceType = {
  group: 'discovery.k8s.io',
  version: 'v1',
  namespaced: true,
  kind: 'EndpointSlice',
  plural: 'endpointslices',
}
export const autoscalers: ResourceType = {
  group: 'autoscaling',
  version: 'v2',
  namespaced: true,
  kind: 'HorizontalPodAutoscaler',
  plural: 'horizontalpodautoscalers',
}
