import { createHash } from 'node:crypto'
import { json, type Answer } from '../http/response/answer.ts'
import type { EdgeRequest } from '../http/request/edge-request.ts'
import type { Discovery } from './discovery.ts'
import { swaggerOf, type OpenApiDocument } from '../schema/openapi/swagger.ts'
import type { Group, GroupVersion } from './groups.ts'
import { openApiV2 } from './open-api-v2.ts'

/** Writes the OpenAPI v3 document of one group and version. */
export type DocumentWriter = (groupVersion: GroupVersion) => unknown

/** Serves `/openapi/v3`: an index with hashes, and documents that clients may cache for ever under their hash. */
export class OpenApi {
  readonly #discovery: Discovery
  readonly #write: DocumentWriter
  /** By groupVersion, with the kinds it was written for: a change to one group keeps the documents of the others. */
  readonly #known = new Map<string, { readonly kinds: readonly object[]; readonly document: Document }>()

  /** The document of all groups, made when it is first asked for. */
  #swagger: { readonly groups: readonly Group[]; readonly document: Document } | undefined

  constructor(discovery: Discovery, write: DocumentWriter) {
    this.#discovery = discovery
    this.#write = write
  }

  readonly serve = ({ query, headers }: EdgeRequest, path: string): Answer | undefined => {
    if (path === '/openapi/v2')
      return openApiV2(headers) ?? answer(this.#swaggerDocument(), { ifNoneMatch: headers['if-none-match'] })
    if (path === '/openapi/v3' || path === '/openapi/v3/') return json({ paths: this.#index() })
    if (!path.startsWith('/openapi/v3/')) return undefined
    const found = this.#versions().find((candidate) => path === `/openapi/v3/${pathOf(candidate)}`)
    if (!found) return undefined
    const document = this.#document(found)
    if (query['hash'] && query['hash'] !== document.hash) {
      return { status: 301, headers: { location: `${path}?hash=${document.hash}` }, content: { is: 'empty' } }
    }
    return answer(document, { isHashed: query['hash'] !== undefined, ifNoneMatch: headers['if-none-match'] })
  }

  #index(): Record<string, unknown> {
    return Object.fromEntries(
      this.#versions().map((version) => {
        const path = pathOf(version)
        return [path, { serverRelativeURL: `/openapi/v3/${path}?hash=${this.#document(version).hash}` }]
      }),
    )
  }

  #swaggerDocument(): Document {
    const groups = this.#discovery.groups()
    if (this.#swagger?.groups !== groups) {
      const documents = this.#versions().map((version) => JSON.parse(this.#document(version).text) as OpenApiDocument)
      this.#swagger = { groups, document: documentOf(JSON.stringify(swaggerOf(documents))) }
    }
    return this.#swagger.document
  }

  #versions(): readonly GroupVersion[] {
    return this.#discovery.groups().flatMap(({ versions }) => versions)
  }

  #document(version: GroupVersion): Document {
    const known = this.#known.get(version.groupVersion)
    if (known && sameKinds(known.kinds, version.kinds)) return known.document
    const document = documentOf(JSON.stringify(this.#write(version)))
    this.#known.set(version.groupVersion, { kinds: version.kinds, document })
    return document
  }
}

interface Document {
  readonly text: string
  readonly hash: string
}

function documentOf(text: string): Document {
  return { text, hash: createHash('sha512').update(text).digest('hex').toUpperCase() }
}

const yearSeconds = 31_536_000

function answer(
  { text, hash }: Document,
  { isHashed = false, ifNoneMatch }: { readonly isHashed?: boolean; readonly ifNoneMatch: string | undefined },
): Answer {
  const etag = `"${hash}"`
  const headers = {
    etag,
    vary: 'Accept',
    ...(isHashed ? { 'cache-control': `public, immutable, max-age=${yearSeconds}` } : {}),
  }
  if (ifNoneMatch === etag) return { status: 304, headers, content: { is: 'empty' } }
  return { status: 200, headers, content: { is: 'json-text', text } }
}

function pathOf({ group, version }: GroupVersion): string {
  return group ? `apis/${group}/${version}` : `api/${version}`
}

function sameKinds(left: readonly object[], right: readonly object[]): boolean {
  return left.length === right.length && left.every((kind, index) => kind === right[index])
}
