/** Limits requests per client and window. A window starts with its first request. */
export class RequestLimit {
  /** Oldest window first. */
  readonly #windows = new Map<string, { readonly endsAt: number; count: number }>()

  /** Counts a request. Returns the end of the window when the limit is exceeded. */
  take(remoteAddress: string, now: number): number | undefined {
    this.#sweep(now)
    const client = clientOf(remoteAddress)
    const window = this.#windows.get(client) ?? { endsAt: now + windowMs, count: 0 }
    this.#windows.set(client, window)
    window.count++
    return window.count > maxRequests ? window.endsAt : undefined
  }

  #sweep(now: number): void {
    for (const [client, { endsAt }] of this.#windows) {
      if (endsAt > now && this.#windows.size <= maxClients) return
      this.#windows.delete(client)
    }
  }
}

const maxRequests = 20
const windowMs = 30_000
const maxClients = 10_000

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
