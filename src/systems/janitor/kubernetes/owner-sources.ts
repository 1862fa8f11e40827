import type { Client } from '../../../client/client.ts'
import { apiVersionOf, type KubeObject, type StoredObject } from '../../../kube/object.ts'
import type { OwnerSources } from '../policy/owner.ts'
import type { ClusterSources } from './cluster-sources.ts'
import { referrerTypes, type ReferrerKind } from './references/referrer-types.ts'

export interface OwnerSourcePorts {
  readonly client: Client
  readonly sources: ClusterSources
  readonly signal: AbortSignal
}

const ownerKinds = ['deployments', 'statefulsets', 'daemonsets', 'replicasets', 'jobs', 'cronjobs'] as const

/** Reads what owner strategies need. A failed read loses owners, but does not make the inventory incomplete. */
export async function ownerSources(
  { client, sources, signal }: OwnerSourcePorts,
  includesOwned: boolean,
): Promise<OwnerSources> {
  const read = async (kind: ReferrerKind) => {
    const type = referrerTypes[kind]
    const served = await client.discovery.typeOf({ apiVersion: apiVersionOf(type), kind: type.kind })
    return served ? sources.list(type, undefined, signal) : []
  }
  const readSafely = (kind: ReferrerKind) => read(kind).catch(() => [])
  const namespaces = await readSafely('namespaces')
  const tags = new Map(namespaces.map(({ metadata }) => [metadata.name, tagsOf({ metadata })]))
  const owners = includesOwned ? (await Promise.all(ownerKinds.map(readSafely))).flat() : []
  const byUid = new Map(owners.map((object) => [object.metadata.uid, object]))
  return { namespaceTags: (namespace) => tags.get(namespace), ownersOf: ({ object }) => ownersOf(object, byUid) }
}

/** The known owners of an object by controller reference, nearest first. */
function ownersOf(object: KubeObject, byUid: ReadonlyMap<string, StoredObject>) {
  const found: { readonly tags: Readonly<Record<string, string>> }[] = []
  let references = object.metadata.ownerReferences
  // Bounded, because owner references may form a cycle; real chains are shorter.
  for (let depth = 0; references && depth < 8; depth++) {
    const reference = references.find(({ controller }) => controller) ?? references[0]
    const owner = reference && byUid.get(reference.uid)
    if (owner) found.push({ tags: tagsOf(owner) })
    references = owner?.metadata.ownerReferences
  }
  return found
}

function tagsOf({ metadata }: Pick<KubeObject, 'metadata'>): Readonly<Record<string, string>> {
  return { ...metadata.labels, ...metadata.annotations }
}
