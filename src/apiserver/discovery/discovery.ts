import { createHash } from 'node:crypto'
import type { Kinds } from '../kinds/kinds.ts'
import { negotiateDiscovery } from '../http/request/accept.ts'
import { json, type Answer } from '../http/response/answer.ts'
import type { EdgeRequest } from '../http/request/edge-request.ts'
import { StatusError } from '../../kube/status-error.ts'
import { aggregatedContentType, apiGroupDiscoveryList } from './aggregated.ts'
import { groupKinds, type Group } from './groups.ts'
import { apiGroup, apiGroupList, apiResourceList, apiVersions } from './plain.ts'

/** Serves discovery: `/api`, `/apis`, and the groups and versions below them. */
export class Discovery {
  readonly #kinds: Kinds
  #groups: readonly Group[] = []
  #groupsVersion = -1
  /** Bodies and ETags of the aggregated lists; cleared when `#groupsVersion` changes. */
  readonly #lists = new Map<string, { readonly text: string; readonly etag: string }>()

  constructor(kinds: Kinds) {
    this.#kinds = kinds
  }

  /** The currently served kinds by group. Rebuilt only when a CRD changed them. */
  groups(): readonly Group[] {
    if (this.#groupsVersion !== this.#kinds.version) {
      this.#groupsVersion = this.#kinds.version
      this.#groups = groupKinds(this.#kinds.all())
      this.#lists.clear()
    }
    return this.#groups
  }

  readonly serve = (request: EdgeRequest, path: string): Answer | undefined => {
    const [root, group, version, ...rest] = path.split('/').filter(Boolean)
    if (rest.length > 0) return undefined
    if (!root) return json({ paths: this.#paths() })
    if (root !== 'api' && root !== 'apis') return undefined
    if (!group) return this.#roots(request, root)
    return root === 'apis' ? this.#group(group, version) : version ? undefined : this.#group('', group)
  }

  #group(name: string, version: string | undefined): Answer | undefined {
    const group = this.groups().find((candidate) => candidate.name === name)
    if (!version) return group && json(apiGroup(group))
    const found = group?.versions.find((candidate) => candidate.version === version)
    return found && json(apiResourceList(found))
  }

  /** What `/` lists: all paths that a client may follow. */
  #paths(): readonly string[] {
    const versions = this.groups().flatMap(({ name, versions: all }) =>
      name === ''
        ? all.map(({ version }) => `/api/${version}`)
        : [`/apis/${name}`, ...all.map(({ groupVersion }) => `/apis/${groupVersion}`)],
    )
    return [...otherPaths, ...versions].toSorted()
  }

  #roots({ headers }: EdgeRequest, root: 'api' | 'apis'): Answer {
    const form = negotiateDiscovery(headers['accept'])
    if (!form) throw new StatusError('NotAcceptable', 'only the following media types are accepted: application/json')
    if (form === 'plain') {
      const body = root === 'api' ? apiVersions(this.groups(), headers['host'] ?? '') : apiGroupList(this.groups())
      return { ...json(body), headers: { vary: 'Accept' } }
    }
    const { text, etag } = this.#aggregated(root, form)
    const cacheHeaders = { etag, vary: 'Accept', 'cache-control': 'public' }
    if (headers['if-none-match'] === etag) return { status: 304, headers: cacheHeaders, content: { is: 'empty' } }
    return {
      status: 200,
      headers: cacheHeaders,
      content: { is: 'json-text', text, type: aggregatedContentType(form) },
    }
  }

  #aggregated(root: 'api' | 'apis', version: 'v2' | 'v2beta1') {
    const groups = this.groups().filter(({ name }) => (name === '') === (root === 'api'))
    const key = `${root} ${version}`
    const known = this.#lists.get(key)
    if (known) return known
    const text = JSON.stringify(apiGroupDiscoveryList(groups, version))
    const made = { text, etag: `"${createHash('sha256').update(text).digest('hex').toUpperCase()}"` }
    this.#lists.set(key, made)
    return made
  }
}

const otherPaths = [
  '/.well-known/openid-configuration',
  '/api',
  '/apis',
  '/healthz',
  '/livez',
  '/openapi/v2',
  '/openapi/v3',
  '/openid/v1/jwks',
  '/readyz',
  '/version',
]
