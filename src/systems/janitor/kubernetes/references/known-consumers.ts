import type { StoredObject } from '../../../../kube/object.ts'

/** Labels and annotations by which tools find ConfigMaps and Secrets that nothing refers to, and who looks for them. After a key that ends with a dash comes a number. */
export const knownConsumers: Readonly<Record<string, string>> = {
  tfstate: 'Terraform',
  'kapp.k14s.io/is-app': 'kapp',
  'cli-utils.sigs.k8s.io/inventory-id': 'cli-utils',
  'applyset.kubernetes.io/id': 'kubectl apply --prune',
  'argocd.argoproj.io/secret-type': 'Argo CD',
  'sealedsecrets.bitnami.com/sealed-secrets-key': 'Sealed Secrets',
  'cluster.x-k8s.io/cluster-name': 'Cluster API',
  grafana_dashboard: 'Grafana',
  grafana_datasource: 'Grafana',
  grafana_alert: 'Grafana',
  prometheus_rule: 'Prometheus',
  loki_rule: 'Loki',
  'workflows.argoproj.io/configmap-type': 'Argo Workflows',
  'spring.cloud.kubernetes.config': 'Spring Cloud Kubernetes',
  'spring.cloud.kubernetes.secret': 'Spring Cloud Kubernetes',
  'kubed.appscode.com/sync': 'Config Syncer',
  'tekton.dev/docker-': 'Tekton',
  'tekton.dev/git-': 'Tekton',
  'build.openshift.io/source-secret-match-uri-': "OpenShift's builds",
  'strimzi.io/cluster': 'Strimzi',
  'reconcile.external-secrets.io/managed': 'External Secrets Operator',
  'istio/multiCluster': 'Istio',
  'jenkins.io/credentials-type': 'Jenkins',
  'reflector.v1.k8s.emberstack.com/reflection-allowed': 'Reflector',
  'reflector.v1.k8s.emberstack.com/reflects': 'Reflector',
  'replicator.v1.mittwald.de/replicate-to': 'kubernetes-replicator',
  'replicator.v1.mittwald.de/replicate-from': 'kubernetes-replicator',
  'trust.cert-manager.io/bundle': 'trust-manager',
  'cert-manager.io/allow-direct-injection': "cert-manager's CA injector",
  'config.openshift.io/inject-trusted-cabundle': "OpenShift's CA injector",
  'service.beta.openshift.io/inject-cabundle': "OpenShift's CA injector",
  'velero.io/plugin-config': 'Velero',
  'velero.io/change-storage-class': 'Velero',
}

/** The tool that finds this object by a label or annotation, or by its well-known name. */
export function knownConsumerOf({ metadata }: StoredObject): string | undefined {
  const { name, labels = {}, annotations = {} } = metadata
  for (const key of [...Object.keys(labels), ...Object.keys(annotations)]) {
    const known = [key, /^.*-(?=\d+$)/.exec(key)?.[0] ?? ''].find((each) => Object.hasOwn(knownConsumers, each))
    const tool = known && knownConsumers[known]
    if (tool !== undefined) return `${tool}, by its label or annotation ${key}`
  }
  return name === 'cacerts' ? 'Istio, as its certificate authority' : undefined
}

/** Labels and annotations by which a GitOps tool knows what it created. It would create the object again. */
const tracking: Readonly<Record<string, string>> = {
  'argocd.argoproj.io/tracking-id': 'Argo CD application',
  'argocd.argoproj.io/instance': 'Argo CD application',
  'kustomize.toolkit.fluxcd.io/name': 'Flux Kustomization',
  'helm.toolkit.fluxcd.io/name': 'Flux HelmRelease',
  'resourceset.fluxcd.controlplane.io/name': 'Flux ResourceSet',
}

/** The GitOps object that tracks this one, for evidence. */
export function trackedBy({ metadata: { labels = {}, annotations = {} } }: StoredObject): string | undefined {
  for (const [key, tool] of Object.entries(tracking)) {
    const value = labels[key] ?? annotations[key]
    if (value !== undefined) return `${tool} ${value.split(':')[0]}, which would create it again`
  }
  return undefined
}
