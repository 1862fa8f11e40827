import { findCondition, type Condition } from '../../kube/conditions.ts'
import { namespaced } from '../../kube/core-types.ts'
import type { StoredObject } from '../../kube/object.ts'

/** A cluster as Weave GitOps names it: where its kubeconfig is. */
export interface GitopsCluster extends StoredObject {
  readonly spec?: {
    readonly secretRef?: { readonly name?: string }
    readonly capiClusterRef?: { readonly name?: string }
  }
  readonly status?: { readonly conditions?: readonly Condition[] }
}

/** A Secret, as far as a kubeconfig can be in it. */
export interface KubeconfigSecret extends StoredObject {
  readonly data?: Readonly<Record<string, string>>
}

export const gitopsClusters = namespaced('gitops.weave.works/v1alpha1', 'GitopsCluster')

/** The place of the GitopsCluster that keys name as `namespace.name`: a namespace has no dots. */
export function placeOfCluster(cluster: string): { readonly namespace: string; readonly name: string } {
  const dot = cluster.indexOf('.')
  return { namespace: cluster.slice(0, Math.max(0, dot)), name: cluster.slice(dot + 1) }
}

/** The Secret that holds a cluster's kubeconfig; a Cluster API reference wins. */
export function secretNameOf({ spec }: GitopsCluster): string | undefined {
  const { capiClusterRef, secretRef } = spec ?? {}
  return capiClusterRef?.name ? `${capiClusterRef.name}-kubeconfig` : secretRef?.name || undefined
}

/** The kubeconfig in a Secret, under any of the keys in use. */
export function kubeconfigIn({ data = {} }: KubeconfigSecret): string | undefined {
  const encoded = data.kubeconfig ?? data.value ?? data['value.yaml']
  return encoded ? Buffer.from(encoded, 'base64').toString('utf8') : undefined
}

/** Why a cluster says of itself that it is not ready; one that says nothing is. */
export function unreadiness({ status }: GitopsCluster): string | undefined {
  const ready = findCondition(status?.conditions, 'Ready')
  return ready && ready.status !== 'True' ? ready.message || ready.reason : undefined
}
