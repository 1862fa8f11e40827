import { departurePage } from '../../apis/departure-page.ts'
import { departure } from '../../apis/departure.ts'
import type { Client } from '../../client/client.ts'
import { eachKindOnce, type DiscoveredType } from '../../client/discovery.ts'
import { apiVersionOf, groupResource, parseApiVersion, type KubeObject } from '../../kube/object.ts'

/** All objects in a namespace, which are deleted with it. Throws if any kind cannot be listed. */
export async function* contentsOf(
  client: Client,
  namespace: string,
  { metadataOnly }: { readonly metadataOnly: boolean },
): AsyncGenerator<KubeObject, void, undefined> {
  // A kind added since the last discovery may hold the object that matters.
  client.discovery.forget()
  for (const type of contentTypes(await client.discovery.complete()))
    for await (const { items } of client.listAll(type, { namespace, metadataOnly }))
      for (const item of items) yield { ...item, apiVersion: apiVersionOf(type), kind: type.kind }
}

/** All objects of the kind that a CustomResourceDefinition defines, which are deleted with it. Throws if they cannot be listed. */
export async function* instancesOf(
  client: Client,
  definition: string,
  { metadataOnly }: { readonly metadataOnly: boolean },
): AsyncGenerator<KubeObject, void, undefined> {
  client.discovery.forget()
  const type = (await client.discovery.complete()).find((served) => groupResource(served) === definition)
  if (!type) throw new Error(`${definition} is not served: its objects cannot be listed`)
  for await (const { items } of client.listAll(type, { metadataOnly }))
    for (const item of items) yield { ...item, apiVersion: apiVersionOf(type), kind: type.kind }
}

/** Whether a controller recreates an object by itself (Pods, ReplicaSets, EndpointSlices): a restore must not create it, too. */
export function isRecreatedByController({ kind, metadata }: KubeObject): boolean {
  const { name = '', ownerReferences = [] } = metadata
  const controller = ownerReferences.find((owner) => owner.controller)
  const isMadeByCluster =
    controller !== undefined && builtInControllerGroups.has(parseApiVersion(controller.apiVersion).group)
  return isMadeByCluster || namespaceDefaults.has(`${kind}/${name}`)
}

/** The objects that a restore has to create. */
export async function* restorable(
  objects: AsyncIterable<KubeObject> | Iterable<KubeObject>,
): AsyncGenerator<KubeObject, void, undefined> {
  for await (const object of objects) if (!isRecreatedByController(object)) yield object
}

/** The groups of Kubernetes' own controllers, which every cluster has. */
const builtInControllerGroups = new Set(['', 'apps', 'batch', 'discovery.k8s.io'])

/** Objects that Kubernetes creates in every namespace. */
const namespaceDefaults = new Set(['ServiceAccount/default', 'ConfigMap/kube-root-ca.crt'])

/** Each namespaced kind once, without Events and other objects derived from the rest. */
export function contentTypes(all: readonly DiscoveredType[]): readonly DiscoveredType[] {
  const kept = all.filter(
    (type) =>
      type.namespaced &&
      ['list', 'delete'].every((verb) => type.verbs.includes(verb)) &&
      !derivedTypes.has(groupResource(type)),
  )
  return eachKindOnce(kept)
}

const derivedTypes = new Set(
  [
    { group: '', plural: 'events' },
    { group: 'events.k8s.io', plural: 'events' },
    { group: '', plural: 'endpoints' },
    { group: 'coordination.k8s.io', plural: 'leases' },
    departure.type,
    departurePage.type,
  ].map(groupResource),
)

/** What is deleted with a namespace, in words: `14 objects, among them 2 volumes with their data`. Throws if any kind cannot be listed. */
export async function contentsText(
  client: Client,
  namespace: string,
  { keepsSecretData }: { readonly keepsSecretData: boolean },
): Promise<string> {
  const all = restorable(contentsOf(client, namespace, { metadataOnly: true }))
  const kinds = await Array.fromAsync(all, ({ kind }) => kind)
  const parts = [
    [kinds.filter((kind) => kind === 'PersistentVolumeClaim').length, 'volume', ' with all data'],
    [
      kinds.filter((kind) => kind === 'Secret').length,
      'Secret',
      keepsSecretData ? '' : ' whose data cannot be restored',
    ],
  ] as const
  const special = parts.flatMap(([count, noun, what]) => (count > 0 ? [counted(count, noun) + what] : []))
  return `${counted(kinds.length, 'object')}${special.length > 0 ? `, among them ${special.join(' and ')}` : ''}`
}

/** `1 workload`, `2 workloads`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
