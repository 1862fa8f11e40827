import type { Http } from '../src/runtime/http/http.ts'

/** A Gitea in memory, as far as environments need it. */
export class PullForge {
  readonly requests: string[] = []
  readonly comments: string[] = []
  /** The pull request of each comment. */
  readonly #places: string[] = []
  readonly statuses: Record<string, unknown>[] = []
  isDown = false
  /** Answers that the rate limit is reached, for this many seconds. */
  limitedSeconds: number | undefined
  readonly #closed = new Map<number, string | undefined>()

  open(number: number): void {
    this.#closed.set(number, undefined)
  }

  close(number: number, at: number): void {
    this.#closed.set(number, new Date(at).toISOString())
  }

  readonly http: Http = ({ method, url, body }) => {
    const { pathname } = new URL(url)
    this.requests.push(`${method} ${pathname}`)
    if (this.isDown) return Promise.resolve(answer(503, {}))
    if (this.limitedSeconds !== undefined)
      return Promise.resolve(answer(429, {}, { 'retry-after': String(this.limitedSeconds) }))
    const given = body ? (JSON.parse(Buffer.from(body).toString()) as Record<string, string>) : {}
    const [, kind, id, tail] = /\/repos\/acme\/shop\/(\w+)\/([^/]+)(?:\/(\w+))?/.exec(pathname) ?? []
    if (kind === 'statuses') {
      this.statuses.push(given)
      return Promise.resolve(answer(201, {}))
    }
    if (kind === 'issues' && id === 'comments') {
      const index = Number(tail) - 1
      if (!this.comments[index]) return Promise.resolve(answer(404, {}))
      this.comments[index] = given['body'] ?? ''
      return Promise.resolve(answer(200, {}))
    }
    if (kind === 'issues' && method === 'POST') {
      this.#places.push(id ?? '')
      return Promise.resolve(answer(201, { id: this.comments.push(given['body'] ?? '') }))
    }
    if (kind === 'issues') {
      const all = this.comments.map((text, index) => ({ id: index + 1, body: text }))
      return Promise.resolve(
        answer(
          200,
          all.filter((_, index) => this.#places[index] === id),
        ),
      )
    }
    if (pathname.endsWith('/repos/acme/shop/pulls')) return Promise.resolve(this.#page(new URL(url)))
    const number = Number(id)
    if (kind !== 'pulls' || !this.#closed.has(number)) return Promise.resolve(answer(404, {}))
    return Promise.resolve(answer(200, this.#pull(number)))
  }

  /** A page of the open ones, with a link to the next. */
  #page(url: URL) {
    const [limit, page] = [Number(url.searchParams.get('limit') ?? 50), Number(url.searchParams.get('page') ?? 1)]
    const open = [...this.#closed].flatMap(([number, closedAt]) => (closedAt ? [] : [number]))
    const items = open.slice((page - 1) * limit, page * limit).map((number) => this.#pull(number))
    const next = new URL(url)
    next.searchParams.set('page', String(page + 1))
    const headers: Record<string, string> = page * limit < open.length ? { link: `<${next.href}>; rel="next"` } : {}
    return answer(200, items, headers)
  }

  #pull(number: number) {
    const closedAt = this.#closed.get(number)
    return {
      number,
      html_url: `https://git.example.org/acme/shop/pulls/${number}`,
      state: closedAt ? 'closed' : 'open',
      closed_at: closedAt ?? null,
      head: { ref: 'change', sha: 'a'.repeat(40) },
      base: { ref: 'main' },
    }
  }
}

function answer(status: number, value: unknown, headers: Readonly<Record<string, string>> = {}) {
  return { status, headers, body: Buffer.from(JSON.stringify(value)) }
}
