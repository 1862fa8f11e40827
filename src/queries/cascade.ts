import { bond, type Bond } from '../apis/bond.ts'
import { isGuarding, namesOf, refusesDeletion } from '../apis/bond-guard.ts'
import { refusedElsewhere } from '../apis/bond-marks.ts'
import { cleanupOptOut, type CleanupOptOut } from '../apis/cleanup-opt-out.ts'
import type { Client } from '../client/client.ts'
import { eachKindOnce, type DiscoveredType } from '../client/discovery.ts'
import { protectionOf } from '../departures/door/protection.ts'
import { apiVersionOf, groupResource, type StoredObject } from '../kube/object.ts'
import { ignoring, isStatusError } from '../kube/status-error.ts'
import { bondEdgesOf } from '../systems/collector/bonds/edges-of-bonds.ts'
import { contentsOf, Graph } from '../systems/collector/graph/graph.ts'
import { preview, type Preview, describeObstacle, obstaclesOf } from '../systems/collector/preview/preview.ts'

export type { Preview, PreviewNode } from '../systems/collector/preview/preview.ts'

export interface CascadeOptions {
  readonly policy: Preview['policy']
  readonly now: number
  /** Told how much has been read, from 0 to 1. */
  readonly onProgress?: (done: number) => void
}

/** What would be deleted with an object, from a fresh listing of the whole cluster's metadata. Changes nothing. */
export async function previewCascade(
  client: Client,
  object: StoredObject,
  options: CascadeOptions,
): Promise<Preview & { readonly obstacles: readonly string[] }> {
  const { graph, types, unknownKinds } = await readGraph(client, object, options)
  const optOuts = await listOf<CleanupOptOut>(client, cleanupOptOut.type)
  const bonds = await listOf<Bond>(client, bond.type, namespaceOf(object))
  const root = graph.find(object.metadata.uid) ?? graph.put(object)
  const bondEdges = bondEdgesOf(graph, bonds)
  const found = preview(graph, root, {
    policy: options.policy,
    reasonToKeep: (node) => sparesOf(graph.object(node), { optOuts, bonds, now: options.now }),
    reasonToRefuse: (node) => denialOf(graph.object(node), bonds),
    bondEdges,
    contents: (node) => contentsOf(graph, node, types),
    isKnowable: ({ apiVersion, kind }) => types.some((type) => apiVersionOf(type) === apiVersion && type.kind === kind),
    unknownKinds,
  })
  const obstacles = object.metadata.deletionTimestamp ? obstaclesOf(graph, bondEdges, root) : []
  return { ...found, obstacles: obstacles.map(describeObstacle) }
}

/** What the deletion of an object waits for, in words; empty when nothing holds it. */
export async function obstacles(client: Client, object: StoredObject): Promise<readonly string[]> {
  const { graph } = await readGraph(client, object, {})
  const root = graph.find(object.metadata.uid)
  if (root === undefined) return []
  const bondEdges = bondEdgesOf(graph, await listOf<Bond>(client, bond.type))
  return obstaclesOf(graph, bondEdges, root).map(describeObstacle)
}

/** Where all that an object owns and holds must be, save what a Bond leads to; undefined for other cluster-scoped objects. */
function namespaceOf({ apiVersion, kind, metadata: { name, namespace } }: StoredObject): string | undefined {
  return apiVersion === 'v1' && kind === 'Namespace' ? name : namespace
}

/** Kinds that a user may not list in all namespaces are read in the namespace of the object. */
async function readGraph(
  client: Client,
  object: StoredObject,
  { onProgress }: Pick<CascadeOptions, 'onProgress'>,
): Promise<{ graph: Graph; types: readonly DiscoveredType[]; unknownKinds: readonly string[] }> {
  const graph = new Graph()
  const { types: served, unread } = await client.discovery.survey()
  const unknownKinds = [...unread]
  const types = served.filter(
    ({ verbs, plural }) => ['delete', 'list'].every((verb) => verbs.includes(verb)) && plural !== 'events',
  )
  const kinds = eachKindOnce(types)
  const namespace = namespaceOf(object)
  for (const [index, type] of kinds.entries()) {
    let read = 0
    const readAll = async (where: { readonly namespace?: string }) => {
      for await (const { items, metadata } of client.listAll(type, { ...where, metadataOnly: true })) {
        for (const item of items) graph.put({ ...item, apiVersion: apiVersionOf(type), kind: type.kind })
        read += items.length
        const ofKind = read === 0 ? 1 : read / (read + (metadata.remainingItemCount ?? 0))
        onProgress?.((index + ofKind) / kinds.length)
      }
    }
    const isEnough = type.namespaced && namespace !== undefined && groupResource(type) !== groupResource(bond.type)
    await readAll({})
      .catch((error: unknown) => {
        if (!isEnough || !isStatusError(error, 'Forbidden')) throw error
        return readAll({ namespace })
      })
      .catch(() => unknownKinds.push(type.plural))
  }
  return { graph, types, unknownKinds }
}

interface Protectors {
  readonly optOuts: readonly CleanupOptOut[]
  readonly bonds: readonly Bond[]
  readonly now: number
}

/** Why a dependent is kept when its owners are gone. */
function sparesOf(object: StoredObject | undefined, { optOuts, bonds, now }: Protectors): string | undefined {
  if (!object) return undefined
  const refusing = bonds.filter((found) => isGuarding(found) && isOf(found, object) && found.spec.onDelete === 'Deny')
  const because = protectionOf(object, { cluster: '', optOuts, bonds: refusing, now })?.because
  return because === undefined || machinery.has(because) ? undefined : because
}

/** Which Bonds refuse the deletion of an object. */
function denialOf(object: StoredObject | undefined, bonds: readonly Bond[]): string | undefined {
  if (!object) return undefined
  const denying = bonds.filter((found) => refusesDeletion(found, object))
  const refusing = denying.length > 0 ? namesOf(denying) : refusedElsewhere(object)
  return refusing === undefined ? undefined : `Bond ${refusing}`
}

function isOf({ status, spec }: Bond, { metadata }: StoredObject): boolean {
  return !spec.dependency.cluster && status?.dependencyUid === metadata.uid
}

/** These protect from Sojourn's systems only, not from users. */
const machinery = new Set(['system-namespace', 'own-machinery'])

async function listOf<T>(
  client: Client,
  type: Parameters<Client['list']>[0],
  namespace?: string,
): Promise<readonly T[]> {
  const list = await client.list<T>(type).catch(ignoring('NotFound', 'Forbidden'))
  if (list || namespace === undefined) return list?.items ?? []
  return (await client.list<T>(type, { namespace }).catch(ignoring('NotFound', 'Forbidden')))?.items ?? []
}
