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

/** Whom namespaces and owners belong to. Not being able to read them costs owners, not resources. */
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

/** The owners of an object, nearest first, as far as they are known. */
function ownersOf(object: KubeObject, byUid: ReadonlyMap<string, StoredObject>) {
  const found: { readonly tags: Readonly<Record<string, string>> }[] = []
  let references = object.metadata.ownerReferences
  // Deeper than this nobody nests; a circle must not keep us.
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
