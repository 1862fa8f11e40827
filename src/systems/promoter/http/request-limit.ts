import { BoundedMap } from '../../../kube/basics/bounded-map.ts'

/** Limits requests per client and window. A window starts with its first request. */
export class RequestLimit {
  readonly #windows = new BoundedMap<string, { readonly endsAt: number; count: number }>(10_000)

  /** Counts a request. Returns the end of the window when the limit is exceeded. */
  take(remoteAddress: string, now: number): number | undefined {
    const client = clientOf(remoteAddress)
    const known = this.#windows.get(client)
    const window = known && known.endsAt > now ? known : { endsAt: now + windowMs, count: 0 }
    if (window !== known) this.#windows.set(client, window)
    window.count++
    return window.count > maxRequests ? window.endsAt : undefined
  }
}

const maxRequests = 20
const windowMs = 30_000

/** The client of a connection's address (headers can be forged). An IPv6 client owns a /64, so that is one client. */
function clientOf(address: string): string {
  const bare = address.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/, '').replace(/%.*$/, '')
  if (!bare.includes(':')) return bare
  const [before = '', after] = bare.split('::')
  const head = before.split(':').filter((part) => part !== '')
  const tail = (after ?? '').split(':').filter((part) => part !== '')
  const zeros = after === undefined ? [] : Array.from({ length: Math.max(0, 8 - head.length - tail.length) }, () => '0')
  return [...head, ...zeros, ...tail]
    .slice(0, 4)
    .map((part) => part.toLowerCase().replace(/^0+(?=.)/, ''))
    .join(':')
}
