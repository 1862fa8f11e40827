import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { apiVersionOf, parseApiVersion, type StoredMeta, type StoredObject } from '../../src/kube/object.ts'
import type { ApiRequest, Transport } from '../../src/kube/transport.ts'
import { definedTypes } from '../../src/systems/janitor/kubernetes/custom-references.ts'

/** A labelled object: what a tool has to say about it. `corpus/README.md` explains the labels. */
export interface Labelled {
  readonly object: StoredObject
  /** Undefined for objects that only refer to others. */
  readonly verdict: 'used' | 'unused' | 'unknown' | undefined
  /** Occurs in the evidence. */
  readonly reason: string
}

const label = 'corpus.sojourn.dev/'

/** The labelled world, without its labels: a name in a label must not count as a reference. */
export function readCorpus(): readonly Labelled[] {
  const folder = join(import.meta.dirname, 'corpus')
  const files = readdirSync(folder).filter((name) => name.endsWith('.yaml'))
  return files.flatMap((name) =>
    parseAllDocuments(readFileSync(join(folder, name), 'utf8')).map((document) => labelled(document.toJS())),
  )
}

function labelled(written: StoredObject): Labelled {
  const { annotations = {}, ...metadata }: Partial<StoredMeta> = written.metadata
  const kept = Object.entries(annotations).filter(([key]) => !key.startsWith(label))
  const object = {
    ...written,
    metadata: {
      uid: `uid-${written.kind}-${metadata.namespace ?? ''}-${metadata.name}`,
      resourceVersion: '1',
      generation: 1,
      creationTimestamp: '2026-01-01T00:00:00Z',
      ...metadata,
      ...(kept.length > 0 ? { annotations: Object.fromEntries(kept) } : {}),
    },
  } as StoredObject
  return {
    object,
    verdict: annotations[`${label}verdict`] as Labelled['verdict'],
    reason: annotations[`${label}reason`] ?? '',
  }
}

interface Served {
  readonly apiVersion: string
  readonly kind: string
  readonly plural: string
  readonly namespaced: boolean
}

/** An API server that serves these objects in pages and notes every request. Other requests are not served. */
export function serving(
  objects: readonly StoredObject[],
  options: { readonly forbidden?: readonly string[]; readonly onRequest?: (request: ApiRequest) => void } = {},
): Transport {
  const served = servedTypes(objects)
  const byType = Map.groupBy(objects, ({ apiVersion, kind }) => `${apiVersion}/${kind}`)
  const answer = (status: number, body: unknown) => ({ status, headers: {}, body })
  return async (request) => {
    options.onRequest?.(request)
    const { path, query = {} } = request
    if (path === '/apis') return answer(200, groupsOf(served))
    const version = /^\/(?:api|apis)\/([^/]+(?:\/v[^/]+)?)$/.exec(path)?.[1]
    if (version !== undefined)
      return answer(200, { resources: served.filter((type) => type.apiVersion === version).map(wireOf) })
    const type = served.find(
      (each) => path === `/${each.apiVersion === 'v1' ? 'api' : 'apis'}/${each.apiVersion}/${each.plural}`,
    )
    if (!type) return answer(404, { kind: 'Status', reason: 'NotFound', message: `${path} not found` })
    if (options.forbidden?.includes(type.plural))
      return answer(403, { kind: 'Status', reason: 'Forbidden', message: `${type.plural} is forbidden` })
    const from = Number(query['continue'] ?? 0)
    const to = from + Number(query['limit'] ?? 500)
    const all = byType.get(`${type.apiVersion}/${type.kind}`) ?? []
    const metadata = { resourceVersion: '1', ...(to < all.length ? { continue: String(to) } : {}) }
    return answer(200, { kind: `${type.kind}List`, metadata, items: all.slice(from, to) })
  }
}

function servedTypes(objects: readonly StoredObject[]): readonly Served[] {
  const defined = definedTypes(objects.filter(({ kind }) => kind === 'CustomResourceDefinition'))
  const custom = defined.map((type) => ({ ...type, apiVersion: apiVersionOf(type) }))
  const known = new Set(custom.map(({ apiVersion, kind }) => `${apiVersion}/${kind}`))
  const builtIn = new Map(
    objects.map(({ apiVersion, kind, metadata }) => [
      `${apiVersion}/${kind}`,
      { apiVersion, kind, plural: pluralOf(kind), namespaced: metadata.namespace !== undefined },
    ]),
  )
  return [...custom, ...[...builtIn].filter(([key]) => !known.has(key)).map(([, type]) => type)]
}

function pluralOf(kind: string): string {
  const plain = kind.toLowerCase()
  if (plain.endsWith('endpoints')) return plain
  if (plain.endsWith('y')) return `${plain.slice(0, -1)}ies`
  return plain.endsWith('s') ? `${plain}es` : `${plain}s`
}

function groupsOf(served: readonly Served[]) {
  const versions = new Set(served.map(({ apiVersion }) => apiVersion).filter((version) => version !== 'v1'))
  return {
    groups: [...versions].map((groupVersion) => ({
      name: parseApiVersion(groupVersion).group,
      versions: [{ groupVersion }],
      preferredVersion: { groupVersion },
    })),
  }
}

function wireOf({ kind, plural, namespaced }: Served) {
  return { name: plural, kind, namespaced, verbs: ['get', 'list', 'watch'] }
}
