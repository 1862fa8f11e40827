import { parseAllDocuments } from 'yaml'
import type { KubeObject } from '../../../kube/object.ts'
import type { ReleaseHook, ReleaseRecord } from './release-record.ts'

/** The steps of an uninstall, in order. */
export interface UninstallPlan {
  readonly before: readonly Hook[]
  readonly objects: readonly KubeObject[]
  /** Objects with `helm.sh/resource-policy: keep`. */
  readonly kept: readonly KubeObject[]
  readonly after: readonly Hook[]
}

/** A hook's object, and when to delete it. */
export interface Hook {
  readonly object: KubeObject
  readonly deleteBefore: boolean
  readonly deleteWhen: readonly ('succeeded' | 'failed')[]
}

/** Plans an uninstall as Helm does: hooks by weight, objects in Helm's uninstall order, keep policies honoured. */
export function planUninstall({ manifest, hooks }: ReleaseRecord): UninstallPlan {
  const objects = parseManifests(manifest)
  const isKept = ({ metadata }: KubeObject) =>
    metadata.annotations?.['helm.sh/resource-policy']?.trim().toLowerCase() === 'keep'
  return {
    before: hooksFor(hooks, 'pre-delete'),
    objects: inUninstallOrder(objects.filter((object) => !isKept(object))),
    kept: objects.filter(isKept),
    after: hooksFor(hooks, 'post-delete'),
  }
}

/** Every object of a stream of YAML documents; Lists are replaced by their items. */
export function parseManifests(text: string): readonly KubeObject[] {
  const documents = parseAllDocuments(text, { uniqueKeys: false })
  const values = Array.isArray(documents) ? documents.map((document) => document.toJS() as unknown) : []
  return values.flatMap(unfold)
}

function unfold(value: unknown): readonly KubeObject[] {
  if (typeof value !== 'object' || value === null || !('kind' in value)) return []
  const object = value as KubeObject & { readonly items?: readonly unknown[] }
  return object.kind.endsWith('List') && Array.isArray(object.items) ? object.items.flatMap(unfold) : [object]
}

function hooksFor(hooks: readonly ReleaseHook[], event: string): readonly Hook[] {
  return hooks
    .filter(({ events }) => events.includes(event))
    .toSorted((left, right) => (left.weight ?? 0) - (right.weight ?? 0) || (left.name < right.name ? -1 : 1))
    .flatMap(({ manifest, delete_policies: written }) => {
      const policies = written && written.length > 0 ? written : ['before-hook-creation']
      const when = (['succeeded', 'failed'] as const).filter((result) => policies.includes(`hook-${result}`))
      return parseManifests(manifest).map((object) => ({
        object,
        deleteBefore: policies.includes('before-hook-creation'),
        deleteWhen: when,
      }))
    })
}

function inUninstallOrder(objects: readonly KubeObject[]): readonly KubeObject[] {
  const rank = ({ kind }: KubeObject) => {
    const index = uninstallOrder.indexOf(kind)
    return index < 0 ? uninstallOrder.length : index
  }
  return objects.toSorted(
    (left, right) => rank(left) - rank(right) || (left.kind < right.kind ? -1 : left.kind > right.kind ? 1 : 0),
  )
}

/** Helm's order: traffic and triggers, then workloads, then permissions and configuration. Unknown kinds come last. */
const uninstallOrder =
  `APIService Ingress IngressClass Service CronJob Job StatefulSet HorizontalPodAutoscaler Deployment
  ReplicaSet ReplicationController Pod DaemonSet RoleBinding Role ClusterRoleBinding ClusterRole CustomResourceDefinition
  PersistentVolumeClaim PersistentVolume StorageClass ConfigMap Secret ServiceAccount PodDisruptionBudget LimitRange
  ResourceQuota NetworkPolicy Namespace PriorityClass`.split(/\s+/)
