import {
  groupResource,
  parseApiVersion,
  type KubeObject,
  type ResourceType,
  type StoredObject,
} from '../../../kube/object.ts'
import { formatTime } from '../../../kube/time.ts'
import { annotation } from './annotations.ts'

/** How a kind that is put to sleep by a patch of the object itself says whether it runs. */
export interface PowerKind {
  /** How many replicas it asks for; 1 or 0 for a kind that only runs or rests. */
  readonly replicas: (object: StoredObject) => number
  /** What a merge patch sets for that many replicas. */
  readonly patch: (replicas: number) => Patch
  /** What an Event says of such an object that now rests, or runs again. */
  readonly words?: readonly [rests: string, runs: string]
}

interface Patch {
  readonly spec?: Readonly<Record<string, unknown>>
  readonly annotations?: Readonly<Record<string, string | null>>
}

/** How many replicas an object asks for in `spec.replicas`; the API's default is one. */
export function replicasOf({ spec }: StoredObject): number {
  return (spec as { readonly replicas?: number } | undefined)?.replicas ?? 1
}

const byReplicas: PowerKind = { replicas: replicasOf, patch: (replicas) => ({ spec: { replicas } }) }

const kinds: Readonly<Record<string, PowerKind>> = {
  'cronjobs.batch': {
    replicas: ({ spec }) => ((spec as { readonly suspend?: boolean } | undefined)?.suspend ? 0 : 1),
    patch: (replicas) => ({ spec: { suspend: replicas === 0 } }),
    words: ['Suspended', 'Resumed'],
  },
  // KEDA deletes its HorizontalPodAutoscaler while paused, so that nothing but us scales the target.
  'scaledobjects.keda.sh': {
    replicas: ({ metadata: { annotations = {} } }) =>
      annotations[kedaPaused] === 'true' || `${kedaPaused}-replicas` in annotations ? 0 : 1,
    patch: (replicas) => ({ annotations: { [kedaPaused]: replicas === 0 ? 'true' : null } }),
    words: ['Paused', 'Resumed'],
  },
  'clusters.postgresql.cnpg.io': {
    replicas: ({ metadata: { annotations = {} } }) => (annotations[hibernation] === 'on' ? 0 : 1),
    patch: (replicas) => ({ annotations: { [hibernation]: replicas === 0 ? 'on' : 'off' } }),
    words: ['Hibernated', 'Resumed'],
  },
  'rollouts.argoproj.io': byReplicas,
}

const kedaPaused = 'autoscaling.keda.sh/paused'
const hibernation = 'cnpg.io/hibernation'

/** Undefined for a kind that is scaled by its scale subresource only. */
export function powerKindOf(type: ResourceType): PowerKind | undefined {
  return type.group === 'apps' ? byReplicas : kinds[groupResource(type)]
}

/** What an Event says was done to an object that now has so many replicas. */
export function scaledText(type: ResourceType, replicas: number, former?: number): string {
  const [rests, runs] = powerKindOf(type)?.words ?? []
  if (rests !== undefined && runs !== undefined) return replicas === 0 ? rests : runs
  return `Scaled ${former === undefined ? '' : `from ${former} `}to ${replicas}`
}

/** A manifest as the activator leaves what it puts to sleep; unchanged where that never sleeps, sleeps already, or is scaled by its owner. */
export function asleep(manifest: KubeObject, now: number): KubeObject {
  const { apiVersion, kind, metadata } = manifest
  const { group } = parseApiVersion(apiVersion)
  const isCore = group === 'apps' && (kind === 'Deployment' || kind === 'StatefulSet')
  const power = isCore ? byReplicas : kinds[`${kind.toLowerCase()}s.${group}`]
  const object = manifest as StoredObject
  const replicas = power?.replicas(object) ?? 0
  const isOwned = metadata.ownerReferences?.some(({ controller }) => controller)
  if (!power || replicas === 0 || isOwned || losesDataAsleep(object)) return manifest
  const { spec, annotations } = power.patch(0)
  const noted = { [annotation.formerReplicas]: String(replicas), [annotation.asleepSince]: formatTime(now) }
  const marks = { ...metadata.annotations, ...noted, ...annotations } as Readonly<Record<string, string>>
  return { ...manifest, metadata: { ...metadata, annotations: marks }, spec: { ...(manifest.spec as object), ...spec } }
}

/** Whether a sleep rule of a namespace is about this kind, given its subresources. */
export function canSleep(type: ResourceType, subresources: readonly string[]): boolean {
  // ReplicaSets and ReplicationControllers without an owner are too rare to watch all the owned ones for.
  if (!type.namespaced || type.plural === 'replicasets' || type.plural === 'replicationcontrollers') return false
  return groupResource(type) in kinds || subresources.includes('scale')
}

/** Databases wake first and sleep last. */
export function isDatabase({ apiVersion, kind }: StoredObject): boolean {
  return kind === 'StatefulSet' || (kind === 'Cluster' && apiVersion.startsWith('postgresql.cnpg.io/'))
}

/** Whether it has a pod that is ready, as far as its status says; a kind without such a status counts as ready. */
export function isReady({ kind, apiVersion, status }: StoredObject): boolean {
  const { readyReplicas = 0, readyInstances = 0 } = (status ?? {}) as {
    readonly readyReplicas?: number
    readonly readyInstances?: number
  }
  if (apiVersion.startsWith('apps/')) return readyReplicas > 0
  return !isDatabase({ kind, apiVersion } as StoredObject) || readyInstances > 0
}

/** Whether scaling it to zero deletes the data of its PersistentVolumeClaims. */
export function losesDataAsleep({ kind, spec }: StoredObject): boolean {
  const { persistentVolumeClaimRetentionPolicy: policy } = (spec ?? {}) as {
    readonly persistentVolumeClaimRetentionPolicy?: { readonly whenScaled?: string }
  }
  return kind === 'StatefulSet' && policy?.whenScaled === 'Delete'
}

/** What a ScaledObject scales, or the Deployment that a Rollout takes its pods from: `Kind/name`. */
export function targetOf({ kind, spec }: StoredObject): string | undefined {
  const { scaleTargetRef, workloadRef } = (spec ?? {}) as {
    readonly scaleTargetRef?: { readonly kind?: string; readonly name?: string }
    readonly workloadRef?: { readonly kind?: string; readonly name?: string }
  }
  const ref = kind === 'ScaledObject' ? scaleTargetRef : kind === 'Rollout' ? workloadRef : undefined
  return ref?.name === undefined ? undefined : `${ref.kind ?? 'Deployment'}/${ref.name}`
}
