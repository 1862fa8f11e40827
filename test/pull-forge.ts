import type { Http } from '../src/runtime/http/http.ts'

/** A Gitea in memory, as far as environments need it. */
export class PullForge {
  readonly requests: string[] = []
  readonly comments: string[] = []
  readonly statuses: Record<string, unknown>[] = []
  isDown = false
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
    if (kind === 'issues' && method === 'POST')
      return Promise.resolve(answer(201, { id: this.comments.push(given['body'] ?? '') }))
    if (kind === 'issues')
      return Promise.resolve(
        answer(
          200,
          this.comments.map((text, index) => ({ id: index + 1, body: text })),
        ),
      )
    const number = Number(id)
    if (kind !== 'pulls' || !this.#closed.has(number)) return Promise.resolve(answer(404, {}))
    const closedAt = this.#closed.get(number)
    return Promise.resolve(
      answer(200, {
        number,
        html_url: url,
        state: closedAt ? 'closed' : 'open',
        closed_at: closedAt ?? null,
        head: { ref: 'change', sha: 'a'.repeat(40) },
        base: { ref: 'main' },
      }),
    )
  }
}

function answer(status: number, value: unknown) {
  return { status, headers: {}, body: Buffer.from(JSON.stringify(value)) }
}
