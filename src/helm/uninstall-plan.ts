import type { KubeObject } from '../kube/object.ts'
import type { ReadRelease } from './release-record.ts'

/** The steps of an uninstall, in order. */
export interface UninstallPlan {
  readonly before: readonly Hook[]
  readonly objects: readonly KubeObject[]
  readonly after: readonly Hook[]
}

/** A hook's object, and when to delete it. */
export interface Hook {
  readonly object: KubeObject
  readonly deleteBefore: boolean
  readonly deleteWhen: readonly ('succeeded' | 'failed')[]
}

/** Plans an uninstall as Helm does: hooks by weight, objects in Helm's uninstall order, keep policies honoured. */
export function planUninstall(record: ReadRelease): UninstallPlan {
  const { objects } = record.parsed
  const isKept = ({ metadata }: KubeObject) =>
    metadata.annotations?.['helm.sh/resource-policy']?.trim().toLowerCase() === 'keep'
  return {
    before: hooksFor(record, 'pre-delete'),
    objects: inUninstallOrder(objects.filter((object) => !isKept(object))),
    after: hooksFor(record, 'post-delete'),
  }
}

function hooksFor({ hooks, parsed }: ReadRelease, event: string): readonly Hook[] {
  return hooks
    .map((hook, index) => ({ ...hook, objects: parsed.hooks[index] ?? [] }))
    .filter(({ events }) => events.includes(event))
    .toSorted((left, right) => (left.weight ?? 0) - (right.weight ?? 0) || (left.name < right.name ? -1 : 1))
    .flatMap(({ objects, delete_policies: written }) => {
      const policies = written && written.length > 0 ? written : ['before-hook-creation']
      const when = (['succeeded', 'failed'] as const).filter((result) => policies.includes(`hook-${result}`))
      return objects.map((object) => ({
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
