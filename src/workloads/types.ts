import type { LabelSelector } from '../kube/selector.ts'
import type { KubeObject, ObjectMeta, ResourceType, StoredObject } from '../kube/object.ts'

/** The parts of Kubernetes' workload kinds that are of use here. */
export interface PodTemplate {
  readonly metadata?: ObjectMeta
  readonly spec: PodSpec
}

export interface PodSpec {
  readonly nodeName?: string
  readonly restartPolicy?: 'Always' | 'OnFailure' | 'Never'
  readonly terminationGracePeriodSeconds?: number
  readonly containers: readonly Container[]
  readonly initContainers?: readonly Container[]
  readonly hostname?: string
  readonly serviceAccountName?: string
  readonly [field: string]: unknown
}

export interface Container {
  readonly name: string
  readonly image?: string
  readonly command?: readonly string[]
  readonly args?: readonly string[]
  readonly workingDir?: string
  readonly env?: readonly EnvVar[]
  readonly envFrom?: readonly {
    readonly prefix?: string
    readonly configMapRef?: { readonly name: string; readonly optional?: boolean }
    readonly secretRef?: { readonly name: string; readonly optional?: boolean }
  }[]
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number; readonly protocol?: string }[]
  readonly readinessProbe?: Probe
  readonly livenessProbe?: Probe
  readonly startupProbe?: Probe
}

export interface EnvVar {
  readonly name: string
  readonly value?: string
  readonly valueFrom?: {
    readonly fieldRef?: { readonly fieldPath: string }
    readonly configMapKeyRef?: { readonly name: string; readonly key: string; readonly optional?: boolean }
    readonly secretKeyRef?: { readonly name: string; readonly key: string; readonly optional?: boolean }
  }
}

export interface Probe {
  readonly httpGet?: {
    readonly path?: string
    readonly port: number | string
    readonly httpHeaders?: readonly { name: string; value: string }[]
  }
  readonly tcpSocket?: { readonly port: number | string }
  readonly exec?: { readonly command?: readonly string[] }
  readonly initialDelaySeconds?: number
  readonly periodSeconds?: number
  readonly timeoutSeconds?: number
  readonly successThreshold?: number
  readonly failureThreshold?: number
}

export interface ContainerStatus {
  readonly name: string
  readonly image: string
  readonly imageID: string
  readonly containerID?: string
  readonly ready: boolean
  readonly started: boolean
  readonly restartCount: number
  readonly state: ContainerState
  readonly lastState?: ContainerState
}

export interface ContainerState {
  readonly waiting?: { readonly reason: string; readonly message?: string }
  readonly running?: { readonly startedAt: string }
  readonly terminated?: {
    readonly exitCode: number
    readonly reason: string
    readonly signal?: number
    readonly startedAt: string
    readonly finishedAt: string
    readonly message?: string
  }
}

export interface PodCondition {
  readonly type: string
  readonly status: 'True' | 'False'
  readonly lastTransitionTime: string
  readonly reason?: string
  readonly message?: string
}

export interface Pod extends StoredObject {
  readonly spec: PodSpec
  readonly status?: {
    readonly phase?: 'Pending' | 'Running' | 'Succeeded' | 'Failed'
    readonly podIP?: string
    readonly conditions?: readonly PodCondition[]
    readonly containerStatuses?: readonly ContainerStatus[]
    readonly [field: string]: unknown
  }
}

/** A kind that owns Pods made from a template. */
export interface Workload<Spec = Record<string, unknown>> extends StoredObject {
  readonly spec: { readonly selector: LabelSelector; readonly template: PodTemplate; readonly replicas?: number } & Spec
  readonly status?: Record<string, unknown>
}

function type(group: string, kind: string, plural: string): ResourceType {
  return { group, version: 'v1', kind, plural, namespaced: true }
}

export const pods = type('', 'Pod', 'pods')
export const services = type('', 'Service', 'services')
export const endpoints = type('', 'Endpoints', 'endpoints')
export const endpointSlices = type('discovery.k8s.io', 'EndpointSlice', 'endpointslices')
export const deployments = type('apps', 'Deployment', 'deployments')
export const replicaSets = type('apps', 'ReplicaSet', 'replicasets')
export const statefulSets = type('apps', 'StatefulSet', 'statefulsets')
export const daemonSets = type('apps', 'DaemonSet', 'daemonsets')
export const jobs = type('batch', 'Job', 'jobs')
export const cronJobs = type('batch', 'CronJob', 'cronjobs')
export const disruptionBudgets = type('policy', 'PodDisruptionBudget', 'poddisruptionbudgets')

/** The reference by which a controller owns what it made. */
export function controllerRef(type: ResourceType, { metadata }: StoredObject) {
  const { group, version, kind } = type
  return {
    apiVersion: group ? `${group}/${version}` : version,
    kind,
    name: metadata.name,
    uid: metadata.uid,
    controller: true,
    blockOwnerDeletion: true,
  }
}

/** The uid of the controller of an object: an index by which its dependents are found. */
export function controllerUid({ metadata }: KubeObject): readonly string[] {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller)
  return owner ? [owner.uid] : []
}

/** Whether a Pod serves, by its Ready condition. */
export function isPodReady({ status, metadata }: Pod): boolean {
  return (
    !metadata.deletionTimestamp &&
    (status?.conditions ?? []).some((condition) => condition.type === 'Ready' && condition.status === 'True')
  )
}

/** Whether a Pod has ended and will not run again. */
export function isPodFinished({ status }: Pod): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed'
}
