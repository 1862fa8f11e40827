import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { categories, readOnly, served, shortNames, unservedSubresources } from './served.ts'

interface Gvk {
  readonly group: string
  readonly version: string
  readonly kind: string
}

interface Operation {
  readonly 'x-kubernetes-action'?: string
  readonly 'x-kubernetes-group-version-kind'?: Gvk
}

/** One property of a published schema: the parts of it that the table keeps. */
export interface Property {
  readonly description?: string
  readonly default?: unknown
  readonly 'x-kubernetes-list-type'?: string
  readonly 'x-kubernetes-list-map-keys'?: readonly string[]
  readonly 'x-kubernetes-map-type'?: string
  readonly 'x-kubernetes-patch-strategy'?: string
  readonly 'x-kubernetes-patch-merge-key'?: string
}

export interface Definition {
  readonly description?: string
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Property>>
  readonly 'x-kubernetes-map-type'?: string
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Definition>> }
}

interface Subresource extends Gvk {
  readonly name: string
  verbs: string[]
}

export interface Kind extends Gvk {
  readonly plural: string
  readonly namespaced: boolean
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  verbs: string[]
  readonly subresources: Subresource[]
}

/** What the published OpenAPI documents of the served group-versions state. */
export interface OpenApiFacts {
  readonly definitions: ReadonlyMap<string, Definition>
  readonly kinds: readonly Kind[]
}

/** Reads the OpenAPI documents in a checkout of Kubernetes. */
export function readOpenApi(kubernetes: string): OpenApiFacts {
  const definitions = new Map<string, Definition>()
  const kinds: Kind[] = []
  for (const [groupVersion, plurals] of Object.entries(served)) {
    const file = groupVersion.includes('/') ? `apis__${groupVersion.replace('/', '__')}` : `api__${groupVersion}`
    const text = readFileSync(join(kubernetes, 'api/openapi-spec/v3', `${file}_openapi.json`), 'utf8')
    const document = JSON.parse(text) as Document
    for (const [name, definition] of Object.entries(document.components.schemas)) definitions.set(name, definition)
    kinds.push(...plurals.map((plural) => kindFrom(document, plural)))
  }
  return { definitions, kinds }
}

function kindFrom(document: Document, plural: string): Kind {
  const namespaced = Object.keys(document.paths).some((path) => path.endsWith(`/namespaces/{namespace}/${plural}`))
  const prefix = `${namespaced ? '/namespaces/{namespace}' : ''}/${plural}`
  const subresources = new Map<string, Subresource>()
  const verbs = new Set<string>()
  let gvk: Gvk | undefined
  for (const [path, operations] of Object.entries(document.paths)) {
    const rest = restOf(path, prefix)
    if (rest === undefined) continue
    for (const operation of Object.values(operations)) {
      const [verb, its] = [verbOf(operation), operation['x-kubernetes-group-version-kind']]
      if (!verb || !its) continue
      const [, , name] = rest.split('/')
      if (name === undefined) {
        verbs.add(verb)
        gvk ??= its
      } else if (!unservedSubresources.has(name)) {
        const known = subresources.get(name) ?? { name, ...its, verbs: [] }
        if (!known.verbs.includes(verb)) known.verbs.push(verb)
        subresources.set(name, known)
      }
    }
  }
  if (!gvk) throw new Error(`no paths for ${plural}`)
  if (verbs.has('list')) verbs.add('watch')
  return {
    group: gvk.group,
    version: gvk.version,
    kind: gvk.kind,
    plural,
    namespaced,
    shortNames: shortNames[plural] ? shortNames[plural].split(',') : [],
    categories: Object.keys(categories).filter((category) => categories[category]?.includes(plural)),
    verbs: readable([...verbs].toSorted(), plural),
    subresources: [...subresources.values()]
      .map((subresource) => ({ ...subresource, verbs: readable(subresource.verbs.toSorted(), plural) }))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
  }
}

function readable(verbs: string[], plural: string): string[] {
  return readOnly.has(plural) ? verbs.filter((verb) => ['get', 'list', 'watch'].includes(verb)) : verbs
}

/** What follows the collection's path, '' for the collection itself; undefined when it is another resource's path. */
function restOf(path: string, prefix: string): string | undefined {
  const match = /^\/api(?:s\/[^/]+)?\/[^/]+(\/.*)$/.exec(path)?.[1]
  if (match === undefined || !match.startsWith(prefix)) return undefined
  const rest = match.slice(prefix.length)
  return rest === '' || rest.startsWith('/{name}') ? rest : undefined
}

function verbOf(operation: Operation): string | undefined {
  const action = operation['x-kubernetes-action']
  switch (action) {
    case 'post':
      return 'create'
    case 'put':
      return 'update'
    case undefined:
    case 'connect':
      return undefined
    default:
      return action
  }
}
