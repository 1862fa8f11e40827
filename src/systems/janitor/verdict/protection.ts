import type { CleanupOptOut } from '../../../apis/cleanup-opt-out.ts'
import { protectionOf } from '../../../departures/door/protection.ts'
import type { KubeObject } from '../../../kube/object.ts'
import type { Exclusion } from '../model/because.ts'
import type { Surroundings } from './judge.ts'
import type { ResourceRef } from './provider.ts'
import type { Resource } from '../model/resource.ts'

/** The opt-outs that might be about a resource. */
export type OptOutFinder = (resource: Resource) => readonly CleanupOptOut[]

/** Puts opt-outs in order, so that those of one resource are found among very many. */
export function optOutFinder(optOuts: readonly CleanupOptOut[]): OptOutFinder {
  if (optOuts.length === 0) return () => noOptOuts
  const selecting = new Map<string, CleanupOptOut[]>()
  const naming = new Map<string, CleanupOptOut[]>()
  for (const optOut of optOuts.map(withCluster)) {
    const { resource, selector } = optOut.spec
    if (selector) push(selecting, selector.kind.toLowerCase(), optOut)
    if (resource) for (const name of [resource.uid, resource.name, resource.id]) if (name) push(naming, name, optOut)
  }
  return (resource) => [
    ...(selecting.get(resource.kind.toLowerCase()) ?? []),
    ...(naming.get(resource.name) ?? []),
    ...(naming.get(resource.uid) ?? []),
  ]
}

/** What spares resources, in the door's own words, so that nothing is marked that could never leave. */
export function protector(find: OptOutFinder, now: number): Surroundings['protection'] {
  return (resource) => {
    const optOuts = find(resource)
    const protection = protectionOf(dressed(resource), { cluster: resource.cluster, optOuts, bonds: [], now })
    if (protection?.result !== 'refused') return undefined
    return { because: protection.because as Exclusion, ...(protection.detail ? { detail: protection.detail } : {}) }
  }
}

const noOptOuts: readonly CleanupOptOut[] = []

/** A resource as an object that carries its tags as annotations. */
export function dressed({ provider, object, tags }: Resource): KubeObject {
  return provider === 'kubernetes' ? object : { ...object, metadata: { ...object.metadata, annotations: tags } }
}

/** The cluster's part in the name of a cloud location: what opt-outs of cloud resources are matched by. */
export function cloudCluster({
  account = '',
  region = '',
}: {
  readonly account?: string | undefined
  readonly region?: string | undefined
}): string {
  return `aws:${account}:${region}`
}

/** An opt-out of a cloud resource says account and region; matching goes by cluster. */
function withCluster(optOut: CleanupOptOut): CleanupOptOut {
  const { resource } = optOut.spec
  if (resource?.provider !== 'aws' || resource.cluster !== undefined) return optOut
  return { ...optOut, spec: { ...optOut.spec, resource: { ...resource, cluster: cloudCluster(resource) } } }
}

/** The little that a mark knows of its resource, as an object. */
export function sketchOf({ apiVersion, kind, namespace, name, uid }: ResourceRef): KubeObject {
  return { apiVersion, kind, metadata: { name, uid, ...(namespace ? { namespace } : {}) } }
}

function push<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const values = map.get(key)
  if (values) values.push(value)
  else map.set(key, [value])
}
