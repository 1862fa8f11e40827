import type { Client } from '../../../client/client.ts'
import {
  describeRef,
  refOf,
  placeOf,
  type ObjectRef,
  type ResourceType,
  type StoredObject,
} from '../../../kube/object.ts'
import { ignoring } from '../../../kube/status-error.ts'
import type { Observed } from '../decision/facts.ts'

/** The object of a deployment tool that would create the environment again. */
export interface Tool {
  readonly type: ResourceType
  readonly object: StoredObject
  /** The generator that would create the object itself again, such as an ApplicationSet. */
  readonly generator: string | undefined
}

/** The tool objects to delete first, or one that deploys more than this environment and must stay. */
export type Tools = { readonly tools: readonly Tool[] } | { readonly shared: string }

const argo = 'argocd.argoproj.io/tracking-id'
const resourceSet = 'resourceset.fluxcd.controlplane.io/name'
const fluxKinds = {
  'kustomize.toolkit.fluxcd.io': 'Kustomization',
  'helm.toolkit.fluxcd.io': 'HelmRelease',
} as const

/** Finds by its marks what deploys an environment. Throws when that cannot be read: unknown is not absent. */
export async function findTools(client: Client, observed: Observed): Promise<Tools> {
  const { via = 'Auto', viaObject } = observed.environmentClass?.spec.delete ?? {}
  const namespace = observed.namespace.metadata.name
  const found: StoredObject[] = []
  if (viaObject) {
    const named = JSON.parse(JSON.stringify(viaObject).replaceAll('{{namespace}}', namespace)) as ObjectRef
    found.push(...(await read(client, named)))
  } else if (via === 'Auto') {
    for (const ref of marksOf(observed)) found.push(...(await read(client, ref)))
    found.push(...(await applications(client, observed)))
  }
  const shared = viaObject ? undefined : found.find((object) => !isOnlyFor(object, namespace))
  if (shared) return { shared: describeRef(refOf(shared)) }
  const tools: Tool[] = []
  for (const object of found) {
    const type = await client.discovery.typeOf(object)
    if (type) tools.push({ type, object, generator: generatorOf(object) })
  }
  return { tools }
}

function marksOf({ namespace, workloads }: Observed): readonly ObjectRef[] {
  const refs = [namespace, ...workloads].flatMap(({ metadata: { labels = {} } }) =>
    Object.entries(fluxKinds).flatMap(([group, kind]) => {
      const [name, home] = [labels[`${group}/name`], labels[`${group}/namespace`]]
      return name && home ? [{ apiVersion: `${group}/v1`, kind, namespace: home, name }] : []
    }),
  )
  return [...new Map(refs.map((ref) => [describeRef(ref), ref])).values()]
}

/** Applications that a tracking id names and whose destination is this Namespace. */
async function applications(client: Client, { namespace, workloads }: Observed): Promise<readonly StoredObject[]> {
  const ids = [namespace, ...workloads].flatMap(({ metadata }) => metadata.annotations?.[argo] ?? [])
  if (ids.length === 0) return []
  const type = await client.discovery.typeOf({ apiVersion: 'argoproj.io/v1alpha1', kind: 'Application' })
  if (!type) return []
  // `name:…`, or `namespace_name:…` for an Application outside Argo CD's own namespace.
  const names = new Set(ids.flatMap((id) => [id.split(':')[0] ?? '', (id.split(':')[0] ?? '').replace(/^[^_]*_/, '')]))
  const found: StoredObject[] = []
  for await (const { items } of client.listAll<StoredObject>(type))
    for (const item of items)
      if (names.has(item.metadata.name))
        found.push({ ...item, apiVersion: 'argoproj.io/v1alpha1', kind: 'Application' })
  return found
}

async function read(client: Client, ref: ObjectRef): Promise<readonly StoredObject[]> {
  const type = await client.discovery.typeOf(ref)
  const object = type && (await client.get<StoredObject>(type, placeOf(ref)).catch(ignoring('NotFound')))
  return object ? [{ ...object, apiVersion: ref.apiVersion, kind: ref.kind }] : []
}

/**
 * Whether a tool object deploys to this Namespace of this cluster only: deleting it deletes everything it deployed. Tenants write the marks
 * of workloads, so a mark alone proves nothing. What it has deployed is in its inventory, objects of the cluster included.
 */
function isOnlyFor({ metadata, spec, status }: StoredObject, namespace: string): boolean {
  const { targetNamespace, destination, kubeConfig } = (spec ?? {}) as {
    targetNamespace?: string
    destination?: { namespace?: string; server?: string; name?: string }
    kubeConfig?: object
  }
  const { server = ownServer, name = ownName } = destination ?? {}
  const isHere = kubeConfig === undefined && server === ownServer && name === ownName
  const { inventory: { entries = [] } = {}, resources = [] } = (status ?? {}) as {
    inventory?: { entries?: readonly { id: string }[] }
    resources?: readonly { kind: string; name: string; namespace?: string }[]
  }
  const isInside =
    entries.every(({ id }) => id.startsWith(`${namespace}_`) || id === `_${namespace}__Namespace`) &&
    resources.every((each) => each.namespace === namespace || (each.kind === 'Namespace' && each.name === namespace))
  const isListed = targetNamespace === undefined && !destination && entries.length > 0
  const target = targetNamespace ?? destination?.namespace ?? metadata.namespace
  return isHere && isInside && (isListed || target === namespace)
}

/** What Argo CD calls the cluster that it runs in. */
const [ownServer, ownName] = ['https://kubernetes.default.svc', 'in-cluster']

/** The generator that made an object, if one did. */
export function generatorOf({ metadata: { ownerReferences = [], labels = {} } }: StoredObject): string | undefined {
  const owner = ownerReferences.find(({ kind }) => kind === 'ApplicationSet')
  if (owner) return `ApplicationSet ${owner.name}`
  const set = labels[resourceSet]
  return set === undefined ? undefined : `ResourceSet ${set}`
}
