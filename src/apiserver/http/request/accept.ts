import type { Encoding } from '../response/answer.ts'
import type { EdgeRequest } from './edge-request.ts'
import { isTrue } from './request-info.ts'

/** One media range of an Accept header, without its quality. */
export interface MediaRange {
  readonly type: string
  readonly params: Readonly<Record<string, string>>
}

/** The media ranges of an Accept header, preferred first; an absent header accepts anything. */
export function parseAccept(header: string | undefined): readonly MediaRange[] {
  if (!header?.trim()) return [{ type: '*/*', params: {} }]
  const ranges = header.split(',').flatMap((part, position) => {
    const [type = '', ...pairs] = part.split(';').map((piece) => piece.trim())
    if (!type) return []
    const params: Record<string, string> = {}
    for (const pair of pairs) {
      const equals = pair.indexOf('=')
      if (equals > 0) params[pair.slice(0, equals).toLowerCase()] = pair.slice(equals + 1).replaceAll('"', '')
    }
    const { q, ...rest } = params
    return [{ range: { type: type.toLowerCase(), params: rest }, quality: q === undefined ? 1 : Number(q), position }]
  })
  return ranges
    .filter(({ quality }) => quality > 0)
    .toSorted((left, right) => right.quality - left.quality || left.position - right.position)
    .map(({ range }) => range)
}

/** The form in which a client wants an object or list. */
export type ObjectForm = { readonly as: 'Object' | 'Table' | 'PartialObjectMetadata'; readonly version: string }

const plainObject: ObjectForm = { as: 'Object', version: 'v1' }
const protobuf = 'application/vnd.kubernetes.protobuf'

/**
 * Negotiates the form of a resource; undefined when the server has none of those the client accepts. Custom resources
 * have no protobuf form, Tables neither.
 */
export function negotiateForm(accept: string | undefined, isCustom = false): ObjectForm | undefined {
  if (accept === undefined || accept === 'application/json') return plainObject
  for (const { type, params } of servedRanges(accept)) {
    if (isCustom && type === protobuf) continue
    if (params['as'] === undefined) return plainObject
    if (params['g'] !== 'meta.k8s.io' || (params['v'] !== 'v1' && params['v'] !== 'v1beta1')) continue
    const version = params['v']
    if (params['as'] === 'Table' && type !== protobuf) return { as: 'Table', version }
    if (params['as'] === 'PartialObjectMetadata' || params['as'] === 'PartialObjectMetadataList') {
      return { as: 'PartialObjectMetadata', version }
    }
  }
  return undefined
}

/** How to write the JSON of an answer; undefined: compactly. */
export function negotiateEncoding({ headers, query }: Pick<EdgeRequest, 'headers' | 'query'>): Encoding | undefined {
  const { accept } = headers
  const [first] = accept === undefined || accept === 'application/json' ? [] : servedRanges(accept)
  if (first?.type === 'application/yaml') return 'yaml'
  if (first?.type === protobuf) return 'protobuf'
  return isTrue(query['pretty']) ? 'pretty' : undefined
}

/**
 * The ranges that name a type the server writes. Protobuf comes last: objects are stored as JSON, so that it is written
 * only for clients that accept nothing else.
 */
function servedRanges(accept: string | undefined): readonly MediaRange[] {
  const ranges = parseAccept(accept)
  return [
    ...ranges.filter(({ type }) => /^(application\/(json|yaml|\*)|\*\/\*)$/.test(type)),
    ...ranges.filter(({ type }) => type === protobuf),
  ]
}

/** The form of discovery: aggregated in one of two versions, or plain (one request per group). */
export type DiscoveryForm = 'v2' | 'v2beta1' | 'plain'

/** Negotiates `/api` and `/apis`. A client that receives a version it did not ask for sees no resources at all. */
export function negotiateDiscovery(accept: string | undefined): DiscoveryForm | undefined {
  for (const { type, params } of servedRanges(accept)) {
    if (type === protobuf) continue
    if (params['as'] === undefined) return 'plain'
    if (params['g'] !== 'apidiscovery.k8s.io' || params['as'] !== 'APIGroupDiscoveryList') continue
    if (params['v'] === 'v2' || params['v'] === 'v2beta1') return params['v']
  }
  return undefined
}
