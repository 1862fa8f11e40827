import type { ResourceType } from '../../../../kube/object.ts'

const namespaced = (group: string, plural: string, kind: string) =>
  ({ group, version: 'v1', kind, plural, namespaced: true }) as const
const clusterScoped = (group: string, plural: string, kind: string) =>
  ({ group, version: 'v1', kind, plural, namespaced: false }) as const
const admission = 'admissionregistration.k8s.io'
const rbac = 'rbac.authorization.k8s.io'

/** The built-in types that detectors read to find references to other objects. */
export const referrerTypes = {
  pods: namespaced('', 'pods', 'Pod'),
  podtemplates: namespaced('', 'podtemplates', 'PodTemplate'),
  replicationcontrollers: namespaced('', 'replicationcontrollers', 'ReplicationController'),
  services: namespaced('', 'services', 'Service'),
  endpoints: namespaced('', 'endpoints', 'Endpoints'),
  serviceaccounts: namespaced('', 'serviceaccounts', 'ServiceAccount'),
  persistentvolumeclaims: namespaced('', 'persistentvolumeclaims', 'PersistentVolumeClaim'),
  persistentvolumes: clusterScoped('', 'persistentvolumes', 'PersistentVolume'),
  volumesnapshotcontents: clusterScoped('snapshot.storage.k8s.io', 'volumesnapshotcontents', 'VolumeSnapshotContent'),
  nodes: clusterScoped('', 'nodes', 'Node'),
  namespaces: clusterScoped('', 'namespaces', 'Namespace'),
  deployments: namespaced('apps', 'deployments', 'Deployment'),
  statefulsets: namespaced('apps', 'statefulsets', 'StatefulSet'),
  daemonsets: namespaced('apps', 'daemonsets', 'DaemonSet'),
  replicasets: namespaced('apps', 'replicasets', 'ReplicaSet'),
  jobs: namespaced('batch', 'jobs', 'Job'),
  cronjobs: namespaced('batch', 'cronjobs', 'CronJob'),
  autoscalers: { ...namespaced('autoscaling', 'horizontalpodautoscalers', 'HorizontalPodAutoscaler'), version: 'v2' },
  endpointslices: namespaced('discovery.k8s.io', 'endpointslices', 'EndpointSlice'),
  ingresses: namespaced('networking.k8s.io', 'ingresses', 'Ingress'),
  ingressclasses: clusterScoped('networking.k8s.io', 'ingressclasses', 'IngressClass'),
  roles: namespaced(rbac, 'roles', 'Role'),
  rolebindings: namespaced(rbac, 'rolebindings', 'RoleBinding'),
  clusterroles: clusterScoped(rbac, 'clusterroles', 'ClusterRole'),
  clusterrolebindings: clusterScoped(rbac, 'clusterrolebindings', 'ClusterRoleBinding'),
  storageclasses: clusterScoped('storage.k8s.io', 'storageclasses', 'StorageClass'),
  validatingwebhooks: clusterScoped(admission, 'validatingwebhookconfigurations', 'ValidatingWebhookConfiguration'),
  mutatingwebhooks: clusterScoped(admission, 'mutatingwebhookconfigurations', 'MutatingWebhookConfiguration'),
  validatingbindings: clusterScoped(admission, 'validatingadmissionpolicybindings', 'ValidatingAdmissionPolicyBinding'),
  mutatingbindings: clusterScoped(admission, 'mutatingadmissionpolicybindings', 'MutatingAdmissionPolicyBinding'),
  apiservices: clusterScoped('apiregistration.k8s.io', 'apiservices', 'APIService'),
  customresourcedefinitions: clusterScoped(
    'apiextensions.k8s.io',
    'customresourcedefinitions',
    'CustomResourceDefinition',
  ),
} as const satisfies Readonly<Record<string, ResourceType>>

export type ReferrerKind = keyof typeof referrerTypes
