import type { ResourceType } from '../../../../kube/object.ts'

const core = (plural: string, kind: string, namespaced = true) => ({
  group: '',
  version: 'v1',
  kind,
  plural,
  namespaced,
})
const of = (group: string, plural: string, kind: string, namespaced = true, version = 'v1') => ({
  group,
  version,
  kind,
  plural,
  namespaced,
})

/** The kinds that detectors look at to see who uses what. */
export const wellKnown = {
  pods: core('pods', 'Pod'),
  podtemplates: core('podtemplates', 'PodTemplate'),
  replicationcontrollers: core('replicationcontrollers', 'ReplicationController'),
  services: core('services', 'Service'),
  endpoints: core('endpoints', 'Endpoints'),
  serviceaccounts: core('serviceaccounts', 'ServiceAccount'),
  persistentvolumeclaims: core('persistentvolumeclaims', 'PersistentVolumeClaim'),
  persistentvolumes: core('persistentvolumes', 'PersistentVolume', false),
  nodes: core('nodes', 'Node', false),
  namespaces: core('namespaces', 'Namespace', false),
  deployments: of('apps', 'deployments', 'Deployment'),
  statefulsets: of('apps', 'statefulsets', 'StatefulSet'),
  daemonsets: of('apps', 'daemonsets', 'DaemonSet'),
  replicasets: of('apps', 'replicasets', 'ReplicaSet'),
  jobs: of('batch', 'jobs', 'Job'),
  cronjobs: of('batch', 'cronjobs', 'CronJob'),
  autoscalers: of('autoscaling', 'horizontalpodautoscalers', 'HorizontalPodAutoscaler', true, 'v2'),
  endpointslices: of('discovery.k8s.io', 'endpointslices', 'EndpointSlice'),
  ingresses: of('networking.k8s.io', 'ingresses', 'Ingress'),
  ingressclasses: of('networking.k8s.io', 'ingressclasses', 'IngressClass', false),
  roles: of('rbac.authorization.k8s.io', 'roles', 'Role'),
  rolebindings: of('rbac.authorization.k8s.io', 'rolebindings', 'RoleBinding'),
  clusterroles: of('rbac.authorization.k8s.io', 'clusterroles', 'ClusterRole', false),
  clusterrolebindings: of('rbac.authorization.k8s.io', 'clusterrolebindings', 'ClusterRoleBinding', false),
  storageclasses: of('storage.k8s.io', 'storageclasses', 'StorageClass', false),
  validatingwebhooks: of(
    'admissionregistration.k8s.io',
    'validatingwebhookconfigurations',
    'ValidatingWebhookConfiguration',
    false,
  ),
  mutatingwebhooks: of(
    'admissionregistration.k8s.io',
    'mutatingwebhookconfigurations',
    'MutatingWebhookConfiguration',
    false,
  ),
  validatingbindings: of(
    'admissionregistration.k8s.io',
    'validatingadmissionpolicybindings',
    'ValidatingAdmissionPolicyBinding',
    false,
  ),
  mutatingbindings: of(
    'admissionregistration.k8s.io',
    'mutatingadmissionpolicybindings',
    'MutatingAdmissionPolicyBinding',
    false,
  ),
  apiservices: of('apiregistration.k8s.io', 'apiservices', 'APIService', false),
  customresourcedefinitions: of('apiextensions.k8s.io', 'customresourcedefinitions', 'CustomResourceDefinition', false),
} as const satisfies Readonly<Record<string, ResourceType>>

export type WellKnown = keyof typeof wellKnown
