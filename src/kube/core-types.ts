import { parseApiVersion, type ResourceType } from './object.ts'

/** Where Kubernetes serves the kinds of its own that Sojourn reads or writes. */

export const configMaps = namespaced('v1', 'ConfigMap')
export const endpoints = namespaced('v1', 'Endpoints', 'endpoints')
export const events = namespaced('v1', 'Event')
export const namespaces = clusterScoped('v1', 'Namespace')
export const nodes = clusterScoped('v1', 'Node')
export const persistentVolumes = clusterScoped('v1', 'PersistentVolume')
export const pods = namespaced('v1', 'Pod')
export const replicationControllers = namespaced('v1', 'ReplicationController')
export const secrets = namespaced('v1', 'Secret')
export const serviceAccounts = namespaced('v1', 'ServiceAccount')
export const services = namespaced('v1', 'Service')

export const controllerRevisions = namespaced('apps/v1', 'ControllerRevision')
export const daemonSets = namespaced('apps/v1', 'DaemonSet')
export const deployments = namespaced('apps/v1', 'Deployment')
export const replicaSets = namespaced('apps/v1', 'ReplicaSet')
export const statefulSets = namespaced('apps/v1', 'StatefulSet')

export const cronJobs = namespaced('batch/v1', 'CronJob')
export const jobs = namespaced('batch/v1', 'Job')

export const admissionPolicies = clusterScoped(
  'admissionregistration.k8s.io/v1',
  'ValidatingAdmissionPolicy',
  'validatingadmissionpolicies',
)
export const admissionPolicyBindings = clusterScoped(
  'admissionregistration.k8s.io/v1',
  'ValidatingAdmissionPolicyBinding',
)
export const customResourceDefinitions = clusterScoped('apiextensions.k8s.io/v1', 'CustomResourceDefinition')
export const endpointSlices = namespaced('discovery.k8s.io/v1', 'EndpointSlice')
export const horizontalPodAutoscalers = namespaced('autoscaling/v2', 'HorizontalPodAutoscaler')
export const leases = namespaced('coordination.k8s.io/v1', 'Lease')
export const podDisruptionBudgets = namespaced('policy/v1', 'PodDisruptionBudget')
export const roles = namespaced('rbac.authorization.k8s.io/v1', 'Role')
export const roleBindings = namespaced('rbac.authorization.k8s.io/v1', 'RoleBinding')
export const clusterRoleBindings = clusterScoped('rbac.authorization.k8s.io/v1', 'ClusterRoleBinding')

/** A kind whose objects are in namespaces; most plurals only add an s. */
export function namespaced(apiVersion: string, kind: string, plural = `${kind.toLowerCase()}s`): ResourceType {
  return { ...parseApiVersion(apiVersion), kind, plural, namespaced: true }
}

/** A kind whose objects are in no namespace. */
export function clusterScoped(apiVersion: string, kind: string, plural?: string): ResourceType {
  return { ...namespaced(apiVersion, kind, plural), namespaced: false }
}
