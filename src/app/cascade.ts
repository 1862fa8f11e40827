import { bond, type Bond } from '../apis/bond.ts'
import { cleanupOptOut, type CleanupOptOut } from '../apis/cleanup-opt-out.ts'
import type { Client } from '../client/client.ts'
import { protectionOf } from '../departures/protection.ts'
import { apiVersionOf, type StoredObject } from '../kube/object.ts'
import { ignoring } from '../kube/status-error.ts'
import { Graph } from '../systems/collector/graph.ts'
import { preview, type Preview } from '../systems/collector/preview.ts'

export type { Preview, PreviewNode } from '../systems/collector/preview.ts'

export interface CascadeOptions {
  readonly policy: Preview['policy']
  readonly now: number
  /** Told of each kind that was read, for a progress line. */
  readonly onProgress?: (done: number, of: number) => void
}

/** What would leave with an object, from a fresh reading of the whole cluster's metadata. Changes nothing. */
export async function previewCascade(
  client: Client,
  object: StoredObject,
  { policy, now, onProgress }: CascadeOptions,
): Promise<Preview> {
  const graph = new Graph()
  const unknownKinds: string[] = []
  const types = (await client.discovery.all()).filter(
    ({ verbs, plural }) => ['delete', 'list'].every((verb) => verbs.includes(verb)) && plural !== 'events',
  )
  for (const [index, type] of types.entries()) {
    onProgress?.(index, types.length)
    try {
      for await (const page of client.listAll(type, { metadataOnly: true }))
        for (const item of page.items) graph.put({ ...item, apiVersion: apiVersionOf(type), kind: type.kind })
    } catch {
      unknownKinds.push(type.plural)
    }
  }
  const optOuts = await listOf<CleanupOptOut>(client, cleanupOptOut.type)
  const bonds = await listOf<Bond>(client, bond.type)
  const spares = (node: number) => {
    const candidate = graph.object(node)
    if (!candidate) return undefined
    const holding = bonds.filter(
      ({ status }) => status?.phase === 'Active' && status.dependencyUid === candidate.metadata.uid,
    )
    const protection = protectionOf(candidate, { cluster: '', optOuts, bonds: holding, now })
    return protection && !machinery.has(protection.because) ? protection.because : undefined
  }
  const root = graph.find(object.metadata.uid) ?? graph.put(object)
  return preview(graph, root, { policy, spares, unknownKinds })
}

/** A user may well delete what our systems must not. */
const machinery = new Set(['system-namespace', 'own-machinery'])

async function listOf<T>(client: Client, type: Parameters<Client['list']>[0]): Promise<readonly T[]> {
  const list = await client.list<T>(type).catch(ignoring('NotFound', 'Forbidden'))
  return list?.items ?? []
}
