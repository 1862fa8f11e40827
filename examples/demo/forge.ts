import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { loadCredentials } from '../../src/apiserver/auth/credentials.ts'
import type { Clock } from '../../src/runtime/time/clock.ts'
import { GitRepository } from './git-repository.ts'

const owner = 'demo'
const repository = 'shop'
const robot = { name: 'Demo', email: 'demo@sojourn.dev' }

interface Pull {
  readonly number: number
  readonly head: string
  readonly base: string
  title: string
  body: string
  state: 'open' | 'closed'
  mergeSha: string | undefined
  closedAt: string | undefined
}

/** A git forge in this process, on loopback: one repository, pull requests, Gitea's API. Nothing is written to disk. */
export class DemoForge implements AsyncDisposable {
  readonly repository = new GitRepository()
  /** The certificate authority that signed its certificate. */
  readonly ca: string
  readonly #token = randomBytes(16).toString('hex')
  readonly #server: Server
  readonly #clock: Clock
  readonly #pulls: Pull[] = []
  readonly #comments: { readonly id: number; readonly pull: string; body: string }[] = []

  private constructor(clock: Clock) {
    this.#clock = clock
    const { server: pair, authority } = loadCredentials({ hosts: ['127.0.0.1'], now: clock.now() })
    this.ca = authority
    this.#server = createServer({ cert: pair.certificate, key: pair.key }, (request, response) => {
      this.#serve(request, response).catch(() => response.destroy())
    })
  }

  /** Starts a forge with one file on `main`. */
  static async start(file: { readonly name: string; readonly text: string }, clock: Clock): Promise<DemoForge> {
    const forge = new DemoForge(clock)
    forge.repository.commitFile('main', file, { message: 'Begin', by: { ...robot, atMs: clock.now() } })
    await new Promise<void>((resolve, reject) => {
      forge.#server.on('error', reject).listen(0, '127.0.0.1', resolve)
    })
    return forge
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}/${owner}/${repository}`
  }

  /** The data of a Secret with its credentials. */
  get credentials(): Readonly<Record<string, string>> {
    return { username: owner, password: this.#token, token: this.#token, caFile: this.ca }
  }

  /** All pull requests, and whether they are merged. */
  get pulls(): readonly { readonly number: number; readonly title: string; readonly isMerged: boolean }[] {
    return this.#pulls.map(({ number, title, mergeSha }) => ({ number, title, isMerged: mergeSha !== undefined }))
  }

  /** The comments on all pull requests, as they are now. */
  get comments(): readonly string[] {
    return this.#comments.map(({ body }) => body)
  }

  /** Opens a pull request with one commit, as a developer does; returns its address. */
  propose(file: { readonly name: string; readonly text: string }, title: string): string {
    this.repository.commitFile('change', file, { message: title, by: { ...robot, atMs: this.#clock.now() } })
    this.#open({ head: 'change', base: 'main', title })
    return `${this.url}/pulls/${this.#pulls.length}`
  }

  /** Closes or reopens all pull requests. */
  setAll(state: Pull['state']): void {
    const closedAt = state === 'closed' ? new Date(this.#clock.now()).toISOString() : undefined
    for (const pull of this.#pulls) Object.assign(pull, { state, closedAt })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', this.url)
    if (!this.#isKnown(request.headers.authorization)) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="demo"' }).end()
      return
    }
    const body = await readBody(request)
    const api = `/api/v1/repos/${owner}/${repository}`
    if (pathname.startsWith(api))
      return this.#api(request.method ?? 'GET', pathname.slice(api.length), { body, response })
    const service = pathname.endsWith('/info/refs') ? searchParams.get('service') : pathname.split('/').at(-1)
    if (service !== 'git-upload-pack' && service !== 'git-receive-pack') return void response.writeHead(404).end()
    const isGet = request.method === 'GET'
    response.setHeader('content-type', `application/x-${service}-${isGet ? 'advertisement' : 'result'}`)
    if (isGet) response.end(this.repository.advertise(service))
    else if (service === 'git-upload-pack') response.end(this.repository.uploadPack(body))
    else response.end(await this.repository.receivePack(body))
  }

  #isKnown(authorization = ''): boolean {
    const basic = `Basic ${Buffer.from(`${owner}:${this.#token}`).toString('base64')}`
    return authorization === basic || authorization === `token ${this.#token}`
  }

  /** The part of Gitea's API that a promotion needs. */
  #api(method: string, path: string, { body, response }: { body: Buffer; response: ServerResponse }): void {
    const answer = (status: number, value: unknown = {}) =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    const given = (body.length > 0 ? JSON.parse(body.toString('utf8')) : {}) as Record<string, string>
    const [, collection = '', first = '', second = ''] = path.split('/').map(decodeURIComponent)
    const pull = this.#pulls.find(({ number }) => String(number) === first)
    if (collection === 'statuses') return answer(201)
    if (collection === 'issues') return this.#issues(method, path, { body: given['body'] ?? '', answer })
    if (collection !== 'pulls') return answer(404)
    if (!first)
      return method === 'POST'
        ? answer(201, this.#open(given))
        : answer(
            200,
            this.#pulls.map((each) => this.#shown(each)),
          )
    if (pull && second === 'merge') return answer(this.#merge(pull) ? 200 : 409)
    if (pull && method === 'PATCH') return answer(201, this.#shown(Object.assign(pull, given)))
    if (pull) return answer(200, this.#shown(pull))
    const found = this.#pulls.find(
      ({ base, head }) => base === first && head === path.split('/').slice(3).map(decodeURIComponent).join('/'),
    )
    return found ? answer(200, this.#shown(found)) : answer(404)
  }

  /** Comments: listed and added by pull request, edited by their id. */
  #issues(
    method: string,
    path: string,
    { body, answer }: { body: string; answer: (status: number, value?: unknown) => void },
  ): void {
    const [, edited] = /^\/issues\/comments\/(\d+)$/.exec(path) ?? []
    const [, pull] = /^\/issues\/(\d+)\/comments/.exec(path) ?? []
    const found = this.#comments.find(({ id }) => String(id) === edited)
    if (found) return answer(200, Object.assign(found, { body }))
    if (pull === undefined) return answer(edited === undefined ? 201 : 404)
    if (method === 'GET')
      return answer(
        200,
        this.#comments.filter((comment) => comment.pull === pull),
      )
    const comment = { id: this.#comments.length + 1, pull, body }
    this.#comments.push(comment)
    answer(201, comment)
  }

  #open({ head = '', base = '', title = '', body = '' }: Record<string, string>): unknown {
    const given = { head, base, title, body, state: 'open', mergeSha: undefined, closedAt: undefined } as const
    const pull: Pull = { number: this.#pulls.length + 1, ...given }
    this.#pulls.push(pull)
    return this.#shown(pull)
  }

  #merge(pull: Pull): boolean {
    if (pull.state !== 'open' || !this.repository.branch(pull.head)) return false
    const message = `Merge pull request #${pull.number}`
    const by = { ...robot, atMs: this.#clock.now() }
    pull.mergeSha = this.repository.merge(pull.base, pull.head, { message, by })
    pull.state = 'closed'
    return true
  }

  #shown({ number, head, base, title, body, state, mergeSha, closedAt }: Pull): unknown {
    return {
      number,
      title,
      body,
      state,
      merged: mergeSha !== undefined,
      merge_commit_sha: mergeSha ?? null,
      closed_at: closedAt ?? null,
      html_url: `${this.url}/pulls/${number}`,
      head: { ref: head, sha: this.repository.branch(head) },
      base: { ref: base },
    }
  }
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}
