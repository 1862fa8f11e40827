import { jobRules } from './job-rules.ts'
import { plainRules, type KindRules } from './kind-rules.ts'
import { namespaceRules } from './namespace-rules.ts'
import { podRules } from './pod-rules.ts'
import { secretRules } from './secret-rules.ts'
import { volumeClaimRules, volumeRules } from './volume-rules.ts'

/** Kinds whose `metadata.generation` counts spec changes. */
const hasGeneration = new Set([
  'pods',
  'podtemplates',
  'replicationcontrollers',
  'deployments.apps',
  'replicasets.apps',
  'statefulsets.apps',
  'daemonsets.apps',
  'jobs.batch',
  'cronjobs.batch',
  'endpointslices.discovery.k8s.io',
  'customresourcedefinitions.apiextensions.k8s.io',
  'ingresses.networking.k8s.io',
  'ingressclasses.networking.k8s.io',
  'networkpolicies.networking.k8s.io',
  'poddisruptionbudgets.policy',
  'priorityclasses.scheduling.k8s.io',
  'flowschemas.flowcontrol.apiserver.k8s.io',
  'prioritylevelconfigurations.flowcontrol.apiserver.k8s.io',
  'validatingadmissionpolicies.admissionregistration.k8s.io',
  'validatingadmissionpolicybindings.admissionregistration.k8s.io',
  'validatingwebhookconfigurations.admissionregistration.k8s.io',
  'mutatingwebhookconfigurations.admissionregistration.k8s.io',
  'mutatingadmissionpolicies.admissionregistration.k8s.io',
  'mutatingadmissionpolicybindings.admissionregistration.k8s.io',
])

/** Kinds that a PUT creates when they do not exist. */
const allowsCreateOnUpdate = new Set([
  'endpoints',
  'events',
  'limitranges',
  'resourcequotas',
  'services',
  'leases.coordination.k8s.io',
  'roles.rbac.authorization.k8s.io',
  'rolebindings.rbac.authorization.k8s.io',
  'clusterroles.rbac.authorization.k8s.io',
  'clusterrolebindings.rbac.authorization.k8s.io',
])

/** Kinds whose PUT requires a resourceVersion. */
const needsVersion = new Set([
  'leases.coordination.k8s.io',
  'poddisruptionbudgets.policy',
  'customresourcedefinitions.apiextensions.k8s.io',
  'validatingadmissionpolicies.admissionregistration.k8s.io',
  'validatingadmissionpolicybindings.admissionregistration.k8s.io',
])

/** Kinds whose DELETE answers with the object instead of a Status. */
const returnsDeletedObject = new Set([
  'pods',
  'namespaces',
  'services',
  'serviceaccounts',
  'persistentvolumes',
  'persistentvolumeclaims',
  'podtemplates',
  'resourcequotas',
  'storageclasses.storage.k8s.io',
  'csinodes.storage.k8s.io',
])

const orphansByDefault = new Set(['replicationcontrollers', 'jobs.batch'])

const special: Readonly<Record<string, Partial<KindRules>>> = {
  'deployments.apps': { statusMetadata: 'no labels' },
  'customresourcedefinitions.apiextensions.k8s.io': { statusMetadata: 'none' },
  'validatingadmissionpolicies.admissionregistration.k8s.io': { statusMetadata: 'none' },
  // Only the server writes them, status included.
  'apiservices.apiregistration.k8s.io': { hasStatus: false },
  namespaces: namespaceRules,
  pods: podRules,
  secrets: secretRules,
  persistentvolumes: volumeRules,
  persistentvolumeclaims: volumeClaimRules,
  'jobs.batch': jobRules,
}

/** The rules of a built-in kind, by its name in the store. */
export function builtinRules(resource: string, hasStatus: boolean): KindRules {
  return {
    ...plainRules,
    hasStatus,
    hasGeneration: hasGeneration.has(resource),
    allowsCreateOnUpdate: allowsCreateOnUpdate.has(resource),
    allowsUnconditionalUpdate: !needsVersion.has(resource),
    returnsDeletedObject: returnsDeletedObject.has(resource),
    orphansByDefault: orphansByDefault.has(resource),
    ...special[resource],
  }
}
