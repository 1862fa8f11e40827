import { createHash } from 'node:crypto'
import { json, type Answer } from '../http/response/answer.ts'
import type { EdgeRequest } from '../http/request/edge-request.ts'
import type { Discovery } from './discovery.ts'
import type { GroupVersion } from './groups.ts'

/** Writes the OpenAPI v3 document of one group and version. */
export type DocumentWriter = (groupVersion: GroupVersion) => unknown

/** Serves `/openapi/v3`: an index with hashes, and documents that clients may cache for ever under their hash. */
export class OpenApi {
  readonly #discovery: Discovery
  readonly #write: DocumentWriter
  /** By groupVersion, with the kinds it was written for: a change to one group keeps the documents of the others. */
  readonly #known = new Map<string, { readonly kinds: readonly object[]; readonly document: Document }>()

  constructor(discovery: Discovery, write: DocumentWriter) {
    this.#discovery = discovery
    this.#write = write
  }

  readonly serve = ({ query, headers }: EdgeRequest, path: string): Answer | undefined => {
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

  #versions(): readonly GroupVersion[] {
    return this.#discovery.groups().flatMap(({ versions }) => versions)
  }

  #document(version: GroupVersion): Document {
    const known = this.#known.get(version.groupVersion)
    if (known && sameKinds(known.kinds, version.kinds)) return known.document
    const text = JSON.stringify(this.#write(version))
    const document = { text, hash: createHash('sha512').update(text).digest('hex').toUpperCase() }
    this.#known.set(version.groupVersion, { kinds: version.kinds, document })
    return document
  }
}

interface Document {
  readonly text: string
  readonly hash: string
}

const yearSeconds = 31_536_000

function answer(
  { text, hash }: Document,
  { isHashed, ifNoneMatch }: { readonly isHashed: boolean; readonly ifNoneMatch: string | undefined },
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
