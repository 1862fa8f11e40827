import type { GroupVersionKind, KubeObject } from '../../../kube/object.ts'
import { maxErrors, type FieldError } from '../types/field-error.ts'
import { admissionBindingFaults, admissionPolicyFaults, webhookConfigurationFaults } from './admission.ts'
import { changeFaults } from './changes.ts'
import type { Json } from './parts/checks.ts'
import * as core from './core.ts'
import * as jobs from './jobs.ts'
import { metadataChangeFaults, metadataFaults } from './parts/metadata.ts'
import {
  namespaceFaults,
  pathSegmentFaults,
  labelFaults,
  subdomainFaults,
  type NameCheck,
} from '../../../kube/names.ts'
import * as networking from './networking.ts'
import * as others from './others.ts'
import * as rbac from './rbac.ts'
import * as services from './services.ts'
import * as workloads from './workloads.ts'

/** Faults of a new object with defaults applied. For custom resources, only of the metadata. */
export function validateCreate(gvk: GroupVersionKind, object: KubeObject): readonly FieldError[] {
  const key = keyOf(gvk)
  return [...metadataFaults(object, nameChecks[key] ?? subdomainFaults), ...kindFaults(key, object)]
}

/** Faults of an updated object and of the change itself. */
export function validateUpdate(gvk: GroupVersionKind, object: KubeObject, old: KubeObject): readonly FieldError[] {
  const key = keyOf(gvk)
  return [
    ...metadataChangeFaults(object, old),
    ...kindFaults(key, object),
    ...changeFaults(key, object as unknown as Json, old as unknown as Json),
  ]
}

type Check = (object: Json) => Generator<FieldError>

const checks: Readonly<Record<string, Check>> = {
  ConfigMap: core.configMapFaults,
  Secret: core.secretFaults,
  Pod: core.podFaults,
  PodTemplate: core.podTemplateFaults,
  PersistentVolumeClaim: core.claimFaults,
  PersistentVolume: core.volumeFaults,
  ResourceQuota: core.quotaFaults,
  LimitRange: core.limitRangeFaults,
  Event: core.eventFaults,
  'events.k8s.io/Event': core.newEventFaults,
  Service: services.serviceFaults,
  Endpoints: services.endpointsFaults,
  ReplicationController: workloads.replicationControllerFaults,
  'discovery.k8s.io/EndpointSlice': services.endpointSliceFaults,
  'apps/Deployment': workloads.deploymentFaults,
  'apps/ReplicaSet': workloads.replicaSetFaults,
  'apps/StatefulSet': workloads.statefulSetFaults,
  'apps/DaemonSet': workloads.daemonSetFaults,
  'batch/Job': jobs.jobFaults,
  'batch/CronJob': jobs.cronJobFaults,
  'rbac.authorization.k8s.io/Role': rbac.roleFaults,
  'rbac.authorization.k8s.io/ClusterRole': rbac.clusterRoleFaults,
  'rbac.authorization.k8s.io/RoleBinding': rbac.roleBindingFaults,
  'rbac.authorization.k8s.io/ClusterRoleBinding': rbac.clusterRoleBindingFaults,
  'networking.k8s.io/Ingress': networking.ingressFaults,
  'networking.k8s.io/IngressClass': networking.ingressClassFaults,
  'networking.k8s.io/NetworkPolicy': networking.networkPolicyFaults,
  'autoscaling/HorizontalPodAutoscaler': others.autoscalerFaults,
  'policy/PodDisruptionBudget': others.disruptionBudgetFaults,
  'storage.k8s.io/StorageClass': others.storageClassFaults,
  'scheduling.k8s.io/PriorityClass': others.priorityClassFaults,
  'coordination.k8s.io/Lease': others.leaseFaults,
  'admissionregistration.k8s.io/ValidatingAdmissionPolicy': admissionPolicyFaults,
  'admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding': admissionBindingFaults,
  'admissionregistration.k8s.io/MutatingAdmissionPolicy': admissionPolicyFaults,
  'admissionregistration.k8s.io/MutatingAdmissionPolicyBinding': admissionBindingFaults,
  'admissionregistration.k8s.io/ValidatingWebhookConfiguration': webhookConfigurationFaults,
  'admissionregistration.k8s.io/MutatingWebhookConfiguration': webhookConfigurationFaults,
}

/** Kinds whose names are not DNS subdomains. */
const nameChecks: Readonly<Record<string, NameCheck>> = {
  Namespace: namespaceFaults,
  Service: labelFaults,
  'rbac.authorization.k8s.io/Role': pathSegmentFaults,
  'rbac.authorization.k8s.io/ClusterRole': pathSegmentFaults,
  'rbac.authorization.k8s.io/RoleBinding': pathSegmentFaults,
  'rbac.authorization.k8s.io/ClusterRoleBinding': pathSegmentFaults,
  'apiregistration.k8s.io/APIService': pathSegmentFaults,
}

function kindFaults(key: string, object: KubeObject): readonly FieldError[] {
  return [...(checks[key]?.(object as unknown as Json).take(maxErrors) ?? [])]
}

function keyOf({ group, kind }: GroupVersionKind): string {
  return group ? `${group}/${kind}` : kind
}
