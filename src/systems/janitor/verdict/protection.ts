import type { CleanupOptOut } from '../../../apis/cleanup-opt-out.ts'
import { protectionOf } from '../../../departures/door/protection.ts'
import type { KubeObject } from '../../../kube/object.ts'
import type { Exclusion } from '../model/because.ts'
import type { JudgeContext } from './judge.ts'
import type { ResourceRef } from './provider.ts'
import type { Resource } from '../model/resource.ts'

/** Finds the opt-outs that may apply to a resource. */
export type OptOutFinder = (resource: Resource) => readonly CleanupOptOut[]

/** Indexes opt-outs, so that those of one resource are found quickly among very many. */
export function optOutFinder(optOuts: readonly CleanupOptOut[]): OptOutFinder {
  if (optOuts.length === 0) return () => noOptOuts
  const selecting = new Map<string, CleanupOptOut[]>()
  const naming = new Map<string, CleanupOptOut[]>()
  for (const optOut of optOuts.map(withCluster)) {
    const { resource, selector } = optOut.spec
    if (selector) selecting.getOrInsert(selector.kind.toLowerCase(), []).push(optOut)
    for (const name of [resource?.uid, resource?.name, resource?.id])
      if (name) naming.getOrInsert(name, []).push(optOut)
  }
  return (resource) => [
    ...(selecting.get(resource.kind.toLowerCase()) ?? []),
    ...(naming.get(resource.name) ?? []),
    ...(naming.get(resource.uid) ?? []),
  ]
}

/** Applies the door's protection rules, so that the janitor never marks what the door would refuse to delete. */
export function protectionCheck(find: OptOutFinder, now: number): JudgeContext['protection'] {
  return (resource) => {
    const optOuts = find(resource)
    const protection = protectionOf(withTagsAsAnnotations(resource), {
      cluster: resource.cluster,
      optOuts,
      bonds: [],
      now,
    })
    if (protection?.result !== 'refused') return undefined
    return { because: protection.because as Exclusion, ...(protection.detail ? { detail: protection.detail } : {}) }
  }
}

const noOptOuts: readonly CleanupOptOut[] = []

/** A resource as an object; the tags of a cloud resource become its annotations. */
export function withTagsAsAnnotations({ provider, object, tags }: Resource): KubeObject {
  return provider === 'kubernetes' ? object : { ...object, metadata: { ...object.metadata, annotations: tags } }
}

/** The cluster name of a cloud account and region, by which opt-outs of cloud resources are matched. */
export function cloudCluster({ account = '', region = '' }: Pick<Resource, 'account' | 'region'>): string {
  return `aws:${account}:${region}`
}

/** Opt-outs of cloud resources name account and region; they are matched by cluster. */
function withCluster(optOut: CleanupOptOut): CleanupOptOut {
  const { resource } = optOut.spec
  if (resource?.provider !== 'aws' || resource.cluster !== undefined) return optOut
  return { ...optOut, spec: { ...optOut.spec, resource: { ...resource, cluster: cloudCluster(resource) } } }
}

/** An object with nothing but the identity that a mark stores. */
export function minimalObject({ apiVersion, kind, namespace, name, uid }: ResourceRef): KubeObject {
  return { apiVersion, kind, metadata: { name, uid, ...(namespace ? { namespace } : {}) } }
}
