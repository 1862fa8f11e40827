import { departure } from '../../apis/departure.ts'
import type { Client } from '../../client/client.ts'
import type { DiscoveredType } from '../../client/discovery.ts'
import { apiVersionOf, groupResource, parseApiVersion, type KubeObject } from '../../kube/object.ts'

/** Everything a namespace holds, all of which leaves with it. Throws when that cannot be known for certain. */
export async function* contentsOf(
  client: Client,
  namespace: string,
  { metadataOnly }: { readonly metadataOnly: boolean },
): AsyncGenerator<KubeObject, void, undefined> {
  // A kind that came since the last look may be the one that matters.
  client.discovery.forget()
  for (const type of contentTypes(await client.discovery.complete()))
    for await (const { items } of client.listAll(type, { namespace, metadataOnly }))
      for (const item of items) yield { ...item, apiVersion: apiVersionOf(type), kind: type.kind }
}

/** Every object of the kind that a CustomResourceDefinition of this name defines, all of which leave with it. Throws when that cannot be known for certain. */
export async function* instancesOf(
  client: Client,
  definition: string,
  { metadataOnly }: { readonly metadataOnly: boolean },
): AsyncGenerator<KubeObject, void, undefined> {
  client.discovery.forget()
  const type = (await client.discovery.complete()).find((served) => groupResource(served) === definition)
  if (!type) throw new Error(`${definition} is not served: nobody can say what there is of it`)
  for await (const { items } of client.listAll(type, { metadataOnly }))
    for (const item of items) yield { ...item, apiVersion: apiVersionOf(type), kind: type.kind }
}

/** Whether the cluster makes it anew by itself (Pods, ReplicaSets, EndpointSlices), so that it would only be in the way of a restore. */
export function isRecreatedByController({ kind, metadata }: KubeObject): boolean {
  const { name = '', ownerReferences = [] } = metadata
  const controller = ownerReferences.find((owner) => owner.controller)
  const isMadeByCluster =
    controller !== undefined && builtInControllerGroups.has(parseApiVersion(controller.apiVersion).group)
  return isMadeByCluster || namespaceDefaults.has(`${kind}/${name}`)
}

/** What a restore will need of all that leaves along. */
export async function* restorable(
  objects: AsyncIterable<KubeObject> | Iterable<KubeObject>,
): AsyncGenerator<KubeObject, void, undefined> {
  for await (const object of objects) if (!isRecreatedByController(object)) yield object
}

/** The groups of Kubernetes' own controllers, which every cluster has. */
const builtInControllerGroups = new Set(['', 'apps', 'batch', 'discovery.k8s.io'])

/** What every new namespace is given. */
const namespaceDefaults = new Set(['ServiceAccount/default', 'ConfigMap/kube-root-ca.crt'])

/** Each kind of a namespace once, without what only tells of the others. */
export function contentTypes(all: readonly DiscoveredType[]): readonly DiscoveredType[] {
  const kept = all.filter(
    (type) =>
      type.namespaced &&
      ['list', 'delete'].every((verb) => type.verbs.includes(verb)) &&
      !derivedTypes.has(groupResource(type)),
  )
  return kept.filter((type, index) => kept.findIndex((other) => groupResource(other) === groupResource(type)) === index)
}

const derivedTypes = new Set(
  [
    { group: '', plural: 'events' },
    { group: 'events.k8s.io', plural: 'events' },
    { group: '', plural: 'endpoints' },
    { group: 'coordination.k8s.io', plural: 'leases' },
    departure.type,
  ].map(groupResource),
)
