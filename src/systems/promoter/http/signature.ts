import { createHmac, timingSafeEqual } from 'node:crypto'
import { BoundedMap } from '../../../kube/basics/bounded-map.ts'
import { sha256 } from '../model/identity.ts'

/** The parts of a request that its signature covers, together with time and nonce. */
export interface SignedRequest {
  readonly method: string
  /** As sent: percent-encoded, with the query. */
  readonly path: string
  readonly body: Uint8Array
}

export interface SigningOptions {
  readonly key: string
  readonly keyId: string
  readonly now: number
  /** Must be unique per request. */
  readonly nonce: string
}

/** The value of the `Sojourn-Signature` header. */
export function signRequest(request: SignedRequest, { key, keyId, now, nonce }: SigningOptions): string {
  const time = Math.floor(now / 1000)
  return `v1,t=${time},n=${nonce},k=${keyId},s=${macOf(request, { key, time, nonce })}`
}

/** Verifies a signature against the current keys, in constant time; undefined when it is not valid. */
export function verifySignature(
  request: SignedRequest,
  header: string | undefined,
  { keys, now }: { readonly keys: Readonly<Record<string, string>>; readonly now: number },
): { readonly nonce: string; readonly keyId: string } | undefined {
  if (request.body.byteLength > maxBodyBytes) return undefined
  const match = /^v1,t=(\d{1,15}),n=([\w.~-]{1,128}),k=([\w.~-]{1,64}),s=([0-9a-f]{64})$/.exec(header ?? '')
  if (!match) return undefined
  const [, time = '', nonce = '', keyId = '', mac = ''] = match
  const key = Object.hasOwn(keys, keyId) ? keys[keyId] : undefined
  if (!key || Math.abs(now / 1000 - Number(time)) > maxSkewSeconds) return undefined
  const expected = Buffer.from(macOf(request, { key, time: Number(time), nonce }), 'hex')
  return timingSafeEqual(expected, Buffer.from(mac, 'hex')) ? { nonce, keyId } : undefined
}

/** The HMAC keys in a Secret, by id: the current one, during rotation the previous one, and one of each named approver. */
export function keysOf(secret: Readonly<Record<string, string>> | undefined): Record<string, string> {
  const current = secret?.['hmac-key']
  const previous = secret?.['hmac-key-previous']
  const named = Object.entries(secret ?? {}).filter(([name, key]) => name.startsWith(namedKey) && key !== '')
  return {
    ...Object.fromEntries(named.map(([name, key]) => [name.slice(namedKey.length), key])),
    ...(current ? { current } : {}),
    ...(previous ? { previous } : {}),
  }
}

/** Before the name of the approver whose key it is. */
const namedKey = 'hmac-key.'

/**
 * Who a key speaks for: the approver it is named after. A shared key is one pair of eyes, whatever name the body gives, and rotating it
 * makes no second one.
 */
export function approverOf(keyId: string): string {
  return keyId === 'current' || keyId === 'previous' ? sharedApprover : keyId
}

export const sharedApprover = 'key:shared'

/** Verifies pipeline-controller's `X-Signature: <alg>=<hex>`. It covers the body only, so it may only trigger a look. */
export function verifyBodySignature(
  body: Uint8Array,
  header: string | undefined,
  keys: Readonly<Record<string, string>>,
): boolean {
  const match = /^(sha224|sha256|sha384|sha512)=([0-9a-fA-F]+)$/.exec(header ?? '')
  if (!match) return false
  const [, algorithm = '', hex = ''] = match
  const given = Buffer.from(hex, 'hex')
  return Object.values(keys).some((key) => {
    const expected = createHmac(algorithm, key).update(body).digest()
    return expected.length === given.length && timingSafeEqual(expected, given)
  })
}

export const maxBodyBytes = 64 * 1024
const maxSkewSeconds = 300

/** HMAC-SHA256 over the version, method, path, time, nonce and body hash, one per line. */
function macOf(
  { method, path, body }: SignedRequest,
  { key, time, nonce }: { readonly key: string; readonly time: number; readonly nonce: string },
): string {
  const lines = ['v1', method.toUpperCase(), sortedQuery(path), String(time), nonce, sha256(body)]
  return createHmac('sha256', key).update(lines.join('\n')).digest('hex')
}

/** Proxies may reorder query parameters, so their order is not signed. */
function sortedQuery(path: string): string {
  const [before, ...query] = path.split('?')
  return [before, ...(query.length > 0 ? [query.join('?').split('&').toSorted().join('&')] : [])].join('?')
}

/** Recently used nonces with their signature. The same request may be repeated; another one may not reuse its nonce. */
export class Nonces {
  readonly #used = new BoundedMap<string, { readonly signature: string; readonly at: number }>(10_000)

  /** Whether the nonce is new, or belongs to a repeat of the same request. */
  accept(nonce: string, signature: string, now: number): boolean {
    const known = this.#used.get(nonce)
    if (known && now - known.at < retentionMs) return known.signature === signature
    this.#used.set(nonce, { signature, at: now })
    return true
  }
}

const retentionMs = 600_000
