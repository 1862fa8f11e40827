import { CelError } from '../errors.ts'
import type { Frame } from '../frame.ts'
import { overload, type Library } from '../functions.ts'
import { CelMap } from '../maps.ts'
import { opaqueType } from '../types.ts'
import { CelOpaque, type CelValue } from '../values.ts'

/** An absolute URL, or an absolute path alone, with its parts as written. */
class Url extends CelOpaque {
  readonly typeName = 'kubernetes.URL'
  readonly scheme: string
  readonly host: string
  readonly path: string
  readonly query: string
  readonly #text: string

  constructor(text: string, parts: Pick<Url, 'scheme' | 'host' | 'path' | 'query'>) {
    super()
    this.#text = text
    this.scheme = parts.scheme
    this.host = parts.host
    this.path = parts.path
    this.query = parts.query
  }

  override equals(other: CelOpaque): boolean {
    return other.toString() === this.#text
  }

  override toString(): string {
    return this.#text
  }
}

const whole = /^(?:([A-Za-z][A-Za-z0-9+.-]*):(?:\/\/([^/?]*))?)?([^?]*)(?:\?(.*))?$/s
// What Go lets stand in a host without escaping; only non-ASCII bytes may be escaped there.
const hostname =
  /^(?:\[[0-9A-Fa-f:.]+(?:%25[\w.~-]+)?\]|(?:[\w\-.~!$&'()*+,;=<>"]|%[89A-Fa-f][0-9A-Fa-f]|[\u0080-\uffff])*?)(?::\d*)?$/
const badEscape = /%(?![0-9A-Fa-f]{2})/
// oxlint-disable-next-line no-control-regex
const control = /[\x00-\x1f\x7f]/

/** Reads a URL by the rules of Go's ParseRequestURI, which Kubernetes uses. */
function parseUrl(text: string): Url | CelError {
  const invalid = new CelError(`invalid URL: ${JSON.stringify(text.slice(0, 128))}`)
  if (!text || control.test(text) || text.startsWith(':')) return invalid
  const [, scheme = '', authority, path = '', query = ''] = whole.exec(text) ?? []
  if (!scheme && !text.startsWith('/')) return invalid
  const host = authority?.slice(authority.lastIndexOf('@') + 1) ?? ''
  if (!hostname.test(host) || (!host.startsWith('[') && host.split(':').length > 2) || badEscape.test(path))
    return invalid
  const isOpaque = scheme !== '' && authority === undefined && !path.startsWith('/')
  return new Url(text, { scheme: scheme.toLowerCase(), host, path: isOpaque ? '' : path, query })
}

/** The path, escaped where it was not already. */
function escapedPath({ path }: Url): string {
  const isValid = /^(?:[\w\-.~!$&'()*+,;=:@/[\]]|%[0-9A-Fa-f]{2})*$/.test(path)
  if (isValid) return path
  return encodeURI(decodeEscapes(path)).replaceAll(/[#?]/g, encodeURIComponent)
}

function decodeEscapes(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function port({ host }: Url): string {
  return /:(\d*)$/.exec(host.replace(/^\[.*\]/, ''))?.[1] ?? ''
}

function withoutPort({ host }: Url): string {
  return host.startsWith('[') ? host.slice(1, host.indexOf(']')) : host.replace(/:\d*$/, '')
}

function queryMap(frame: Frame, { query }: Url): CelMap {
  const values = new Map<string, string[]>()
  for (const part of query.split('&').filter((one) => one && !one.includes(';') && !badEscape.test(one))) {
    frame.charge(12)
    const [key = '', value = ''] = part.split(/=(.*)/s).map((text) => decodeEscapes(text.replaceAll('+', ' ')))
    values.set(key, [...(values.get(key) ?? []), value])
  }
  const map = new CelMap()
  for (const [key, list] of values) map.add(key, list)
  return map
}

const read = (signature: string, of: (url: Url) => CelValue) => overload(signature, (_frame, url: Url) => of(url))

/** Kubernetes' URL library. */
export const urlLibrary: Library = {
  name: 'kubernetes-url',
  overloads: [
    overload('url(string) -> kubernetes.URL', (frame, text: string) => {
      frame.charge(100 + (text.length >> 3))
      return parseUrl(text)
    }),
    overload('isURL(string) -> bool', (frame, text: string) => {
      frame.charge(100 + (text.length >> 3))
      return !(parseUrl(text) instanceof CelError)
    }),
    read('kubernetes.URL.getScheme() -> string', ({ scheme }) => scheme),
    read('kubernetes.URL.getHost() -> string', ({ host }) => host),
    read('kubernetes.URL.getHostname() -> string', withoutPort),
    read('kubernetes.URL.getPort() -> string', port),
    read('kubernetes.URL.getEscapedPath() -> string', escapedPath),
    overload('kubernetes.URL.getQuery() -> map(string, list(string))', queryMap),
  ],
  types: [opaqueType('kubernetes.URL')],
}

/** Whether a text is a URL. */
export function isUrl(text: string): boolean {
  return !(parseUrl(text) instanceof CelError)
}
