import { parseTime } from '../kube/time.ts'
import type { LabelSelector } from '../kube/selector.ts'
import type { KubeObject, ObjectMeta, ResourceType, StoredObject } from '../kube/object.ts'

/** These types hold only the fields of Kubernetes' workload kinds that this room reads or writes. */
export interface PodTemplate {
  readonly metadata?: ObjectMeta
  readonly spec: PodSpec
}

/** What a Pod takes over from its template: a name there means nothing. */
function podMetadata({ metadata = {} }: PodTemplate): ObjectMeta {
  const { labels = {}, annotations = {}, finalizers = [] } = metadata
  return { labels, annotations, finalizers }
}

/** A Pod from a template for its owner, with what differs from the template. */
export function podOf(
  {
    type,
    owner,
    template,
  }: { readonly type: ResourceType; readonly owner: StoredObject; readonly template: PodTemplate },
  metadata: ObjectMeta,
  spec: Partial<PodSpec> & Readonly<Record<string, unknown>> = {},
): KubeObject {
  const namespace = owner.metadata.namespace ?? ''
  const ownerReferences = [controllerRef(type, owner)]
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...podMetadata(template), namespace, ownerReferences, ...metadata },
    spec: { ...template.spec, ...spec },
  }
}

export interface PodSpec {
  readonly nodeName?: string
  readonly restartPolicy?: 'Always' | 'OnFailure' | 'Never'
  readonly terminationGracePeriodSeconds?: number
  readonly activeDeadlineSeconds?: number
  readonly containers: readonly Container[]
  readonly initContainers?: readonly Container[]
  readonly hostname?: string
  readonly serviceAccountName?: string
  readonly tolerations?: readonly Toleration[]
  readonly schedulingGates?: readonly { readonly name: string }[]
  readonly schedulerName?: string
  readonly readinessGates?: readonly { readonly conditionType: string }[]
  readonly volumes?: readonly { readonly name: string }[]
  readonly [field: string]: unknown
}

export interface Toleration {
  readonly key?: string
  readonly operator?: string
  readonly effect?: string
}

export interface Container {
  readonly name: string
  readonly image?: string
  readonly command?: readonly string[]
  readonly args?: readonly string[]
  readonly workingDir?: string
  readonly terminationMessagePolicy?: 'File' | 'FallbackToLogsOnError'
  readonly env?: readonly EnvVar[]
  readonly envFrom?: readonly {
    readonly prefix?: string
    readonly configMapRef?: { readonly name: string; readonly optional?: boolean }
    readonly secretRef?: { readonly name: string; readonly optional?: boolean }
  }[]
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number; readonly protocol?: string }[]
  readonly volumeMounts?: readonly { readonly mountPath: string }[]
  readonly readinessProbe?: Probe
  readonly livenessProbe?: Probe
  readonly startupProbe?: Probe
  readonly lifecycle?: { readonly postStart?: Handler; readonly preStop?: Handler }
  readonly resources?: {
    readonly limits?: Readonly<Record<string, string | number>>
    readonly requests?: Readonly<Record<string, string | number>>
  }
  /** Init containers only: `Always` makes it a sidecar. */
  readonly restartPolicy?: 'Always'
}

export interface EnvVar {
  readonly name: string
  readonly value?: string
  readonly valueFrom?: {
    readonly fieldRef?: { readonly fieldPath: string }
    readonly resourceFieldRef?: {
      readonly containerName?: string
      readonly resource: string
      readonly divisor?: string | number
    }
    readonly configMapKeyRef?: { readonly name: string; readonly key: string; readonly optional?: boolean }
    readonly secretKeyRef?: { readonly name: string; readonly key: string; readonly optional?: boolean }
  }
}

/** The action of a probe or a lifecycle hook. */
export interface Handler {
  readonly httpGet?: {
    readonly path?: string
    readonly port: number | string
    readonly scheme?: 'HTTP' | 'HTTPS'
    readonly httpHeaders?: readonly { name: string; value: string }[]
  }
  readonly tcpSocket?: { readonly port: number | string }
  readonly grpc?: { readonly port: number; readonly service?: string }
  readonly exec?: { readonly command?: readonly string[] }
  /** Lifecycle hooks only. */
  readonly sleep?: { readonly seconds: number }
}

export interface Probe extends Handler {
  readonly terminationGracePeriodSeconds?: number
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
  readonly observedGeneration?: number | undefined
  readonly lastTransitionTime: string
  readonly reason?: string | null
  readonly message?: string | null
}

export interface Pod extends StoredObject {
  readonly spec: PodSpec
  readonly status?: {
    readonly phase?: 'Pending' | 'Running' | 'Succeeded' | 'Failed'
    readonly podIP?: string
    readonly startTime?: string
    readonly conditions?: readonly PodCondition[]
    readonly containerStatuses?: readonly ContainerStatus[]
    readonly initContainerStatuses?: readonly ContainerStatus[]
    readonly [field: string]: unknown
  }
}

export interface Node extends StoredObject {
  readonly status?: { readonly allocatable?: { readonly pods?: string } }
  readonly spec?: { readonly unschedulable?: boolean }
}

/** An object that owns Pods created from a template. */
export interface Workload<Spec = unknown> extends StoredObject {
  readonly spec: {
    readonly selector: LabelSelector
    readonly template: PodTemplate
    readonly replicas?: number
    readonly minReadySeconds?: number
  } & Spec
  readonly status?: Record<string, unknown>
}

/** The owner reference from a dependent to its controller. */
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

/** Index of dependents by the uid of their controller. */
export function controllerUid({ metadata }: KubeObject): readonly string[] {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller)
  return owner ? [owner.uid] : []
}

/** Whether a Pod's Ready condition is True and it is not terminating. */
export function isPodReady({ status, metadata }: Pod): boolean {
  return (
    !metadata.deletionTimestamp &&
    (status?.conditions ?? []).some((condition) => condition.type === 'Ready' && condition.status === 'True')
  )
}

/** Whether a container has no command: no process runs for it. */
export function hasSimulated({ spec }: Pod): boolean {
  return spec.containers.some(({ command = [] }) => command.length === 0)
}

/** When a Pod becomes or became available: ready for `minReadySeconds`. Undefined while it is not ready. */
function availableSince(pod: Pod, minReadySeconds = 0): number | undefined {
  if (!isPodReady(pod)) return undefined
  const ready = pod.status?.conditions?.find(({ type: of }) => of === 'Ready')
  return (parseTime(ready?.lastTransitionTime) ?? 0) + minReadySeconds * 1000
}

/** How many Pods are available now, and when the next one becomes available. */
export function availability(
  all: readonly Pod[],
  minReadySeconds: number | undefined,
  now: number,
): { readonly available: number; readonly nextAt?: number } {
  const times = all.flatMap((pod) => availableSince(pod, minReadySeconds) ?? [])
  const coming = times.filter((at) => at > now)
  return {
    available: times.length - coming.length,
    ...(coming.length > 0 ? { nextAt: Math.min(...coming) } : {}),
  }
}

/** Whether a Pod has succeeded or failed for good. */
export function isPodFinished({ status }: Pod): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed'
}
