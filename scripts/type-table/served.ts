/** The resources the embedded server offers, by group and version. */
export const served: Readonly<Record<string, readonly string[]>> = {
  v1: [
    'namespaces',
    'pods',
    'services',
    'endpoints',
    'secrets',
    'configmaps',
    'serviceaccounts',
    'events',
    'nodes',
    'resourcequotas',
    'limitranges',
    'persistentvolumeclaims',
    'persistentvolumes',
    'replicationcontrollers',
    'podtemplates',
  ],
  'apps/v1': ['deployments', 'replicasets', 'statefulsets', 'daemonsets', 'controllerrevisions'],
  'batch/v1': ['jobs', 'cronjobs'],
  'coordination.k8s.io/v1': ['leases'],
  'discovery.k8s.io/v1': ['endpointslices'],
  'events.k8s.io/v1': ['events'],
  'apiextensions.k8s.io/v1': ['customresourcedefinitions'],
  'rbac.authorization.k8s.io/v1': ['roles', 'rolebindings', 'clusterroles', 'clusterrolebindings'],
  'authentication.k8s.io/v1': ['tokenreviews', 'selfsubjectreviews'],
  'authorization.k8s.io/v1': [
    'subjectaccessreviews',
    'selfsubjectaccessreviews',
    'selfsubjectrulesreviews',
    'localsubjectaccessreviews',
  ],
  'autoscaling/v1': ['horizontalpodautoscalers'],
  'autoscaling/v2': ['horizontalpodautoscalers'],
  'networking.k8s.io/v1': ['ingresses', 'ingressclasses', 'networkpolicies'],
  'policy/v1': ['poddisruptionbudgets'],
  'storage.k8s.io/v1': ['storageclasses', 'csinodes'],
  'node.k8s.io/v1': ['runtimeclasses'],
  'certificates.k8s.io/v1': ['certificatesigningrequests'],
  'flowcontrol.apiserver.k8s.io/v1': ['flowschemas', 'prioritylevelconfigurations'],
  'apiregistration.k8s.io/v1': ['apiservices'],
  'scheduling.k8s.io/v1': ['priorityclasses'],
  'admissionregistration.k8s.io/v1': [
    'validatingadmissionpolicies',
    'validatingadmissionpolicybindings',
    'validatingwebhookconfigurations',
    'mutatingwebhookconfigurations',
    'mutatingadmissionpolicies',
    'mutatingadmissionpolicybindings',
  ],
}

/** Resources that only the server itself writes. */
export const readOnly: ReadonlySet<string> = new Set(['apiservices'])

/** Subresources that need a container runtime's streams, or a proxy. */
export const unservedSubresources: ReadonlySet<string> = new Set(['proxy', 'exec', 'attach', 'portforward'])

/** Short names, as `kubectl api-resources` shows them. */
export const shortNames: Readonly<Record<string, string>> = {
  namespaces: 'ns',
  pods: 'po',
  services: 'svc',
  endpoints: 'ep',
  configmaps: 'cm',
  serviceaccounts: 'sa',
  events: 'ev',
  nodes: 'no',
  resourcequotas: 'quota',
  limitranges: 'limits',
  persistentvolumeclaims: 'pvc',
  persistentvolumes: 'pv',
  replicationcontrollers: 'rc',
  deployments: 'deploy',
  replicasets: 'rs',
  statefulsets: 'sts',
  daemonsets: 'ds',
  cronjobs: 'cj',
  customresourcedefinitions: 'crd,crds',
  horizontalpodautoscalers: 'hpa',
  ingresses: 'ing',
  networkpolicies: 'netpol',
  poddisruptionbudgets: 'pdb',
  storageclasses: 'sc',
  priorityclasses: 'pc',
  certificatesigningrequests: 'csr',
}

/** Categories other than none. */
export const categories: Readonly<Record<string, readonly string[]>> = {
  all: [
    'pods',
    'services',
    'replicationcontrollers',
    'deployments',
    'replicasets',
    'statefulsets',
    'daemonsets',
    'jobs',
    'cronjobs',
    'horizontalpodautoscalers',
  ],
  'api-extensions': [
    'apiservices',
    'customresourcedefinitions',
    'validatingadmissionpolicies',
    'validatingadmissionpolicybindings',
    'validatingwebhookconfigurations',
    'mutatingwebhookconfigurations',
    'mutatingadmissionpolicies',
    'mutatingadmissionpolicybindings',
  ],
}

/** Types wanted although no served resource mentions them: options, events of a watch, bodies of subresources. */
export const extraTypes: Readonly<Record<string, readonly string[]>> = {
  'meta/v1': ['Status', 'DeleteOptions', 'CreateOptions', 'UpdateOptions', 'PatchOptions', 'ListMeta', 'WatchEvent'],
}
