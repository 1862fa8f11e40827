import { createServer, type Server } from 'node:https'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ForgeType } from '../../src/apis/pipeline.ts'
import { makeCertificates, type Certificates } from './certificates.ts'
import { dialects, type Dialect } from './dialects.ts'
import { serveGit } from './git-http-backend.ts'
import { PullRequests, Refused } from './pull-requests.ts'
import { Repository } from './repository.ts'

/** Something that goes wrong on the way: which requests, how often, and how. */
export interface Fault {
  readonly method?: string
  readonly path?: RegExp
  /** Defaults to once. */
  readonly times?: number
  readonly status?: number
  readonly headers?: Record<string, string>
  /** What is answered. Defaults to a message. */
  readonly body?: string
  /** Do what was asked first, and only then fail. */
  readonly afterDoing?: boolean
  /** Cut the connection instead of answering. */
  readonly drop?: boolean
}

export interface ForgeRequest {
  readonly method: string
  readonly path: string
}

export const forgeUser = 'robot'
export const forgePassword = 'git-password'
export const forgeToken = 'api-token'

let shared: Certificates | undefined

/** A forge in this process: real repositories behind git's own HTTP server, and the APIs of all forges over them. */
export class ForgeServer {
  readonly #server: Server
  readonly #root: string
  readonly #repositories = new Map<string, Repository>()
  readonly #faults: { fault: Fault; left: number }[] = []
  readonly pulls: PullRequests
  readonly ca: string
  /** What was asked, in order. */
  readonly requests: ForgeRequest[] = []
  /** Never more than this on a page. */
  pageSize = 100
  /** Pretend to be a git server of before protocol version 2. */
  oldGit = false
  token = forgeToken
  password = forgePassword
  /** Asked before a request is heeded and again before it is answered; true cuts the connection there. */
  interrupt: (request: ForgeRequest, when: 'before' | 'after') => boolean = () => false

  private constructor(root: string, certificates: Certificates) {
    this.#root = root
    this.ca = certificates.ca
    this.pulls = new PullRequests(this.#repositories)
    this.#server = createServer(certificates, (request, response) => {
      this.#handle(request, response).catch((error: unknown) => {
        if (!response.headersSent) response.writeHead(500)
        response.end(String(error))
      })
    })
  }

  static async start(): Promise<ForgeServer> {
    shared ??= makeCertificates()
    const forge = new ForgeServer(await Repository.temporaryRoot(), shared)
    await new Promise<void>((resolve) => forge.#server.listen(0, '127.0.0.1', resolve))
    return forge
  }

  get origin(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async createRepository(name: string): Promise<Repository> {
    const repository = await Repository.create(this.#root, name)
    this.#repositories.set(name, repository)
    return repository
  }

  /** The address of a repository as a forge of this type shows it. */
  url(type: ForgeType, name: string): string {
    if (type === 'bitbucket-server') return `${this.origin}/scm/acme/${name}.git`
    if (type === 'azure-devops') return `${this.origin}/acme/project/_git/${name}`
    return `${this.origin}/acme/${name}`
  }

  fail(fault: Fault): void {
    this.#faults.push({ fault, left: fault.times ?? 1 })
  }

  mend(): void {
    this.#faults.length = 0
  }

  /** How often something was asked for. */
  count(method: string, path: RegExp): number {
    return this.requests.filter((request) => request.method === method && path.test(request.path)).length
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
    await Repository.removeRoot(this.#root)
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.origin)
    const method = request.method ?? 'GET'
    const asked = { method, path: url.pathname }
    this.requests.push(asked)
    if (this.interrupt(asked, 'before')) return void response.destroy()
    const fault = this.#faultFor(method, url.pathname)
    if (fault && !fault.afterDoing) return fail(fault, response)
    const answer = isGit(url.pathname) ? await this.#git(request, url) : await this.#api(request, url)
    if (fault) return fail(fault, response)
    if (this.interrupt(asked, 'after')) return void response.destroy()
    response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers })
    response.end(
      Buffer.isBuffer(answer.body) ? answer.body : answer.body === undefined ? '' : JSON.stringify(answer.body),
    )
  }

  #faultFor(method: string, path: string): Fault | undefined {
    const found = this.#faults.find(
      ({ fault, left }) =>
        left > 0 && (!fault.method || fault.method === method) && (!fault.path || fault.path.test(path)),
    )
    if (found) found.left--
    return found?.fault
  }

  async #git(request: IncomingMessage, url: URL): Promise<Answer> {
    const credentials = Buffer.from((request.headers.authorization ?? '').replace('Basic ', ''), 'base64').toString()
    if (credentials !== `${forgeUser}:${this.password}`)
      return { status: 401, headers: { 'www-authenticate': 'Basic realm="forge"' }, body: undefined }
    const [, name = '', tail = ''] =
      /\/([^/]+?)(?:\.git)?(\/(?:info\/refs|git-upload-pack|git-receive-pack))$/.exec(url.pathname) ?? []
    if (this.oldGit) delete request.headers['git-protocol']
    const place = { root: this.#root, path: `/${name}.git${tail}`, query: url.search.slice(1), user: forgeUser }
    return serveGit(request, place)
  }

  async #api(request: IncomingMessage, url: URL): Promise<Answer> {
    const body = await readJson(request)
    const dialect = Object.values<Dialect>(dialects).find(({ matches }) => matches.test(url.pathname))
    if (!dialect) return { status: 404, headers: {}, body: {} }
    if (dialect.credential(request.headers) !== this.token)
      return { status: 401, headers: {}, body: dialect.refusal(new Refused(401, 'Bad credentials')) }
    try {
      const answer = await dialect.answer({
        method: request.method ?? 'GET',
        path: url.pathname.replace(dialect.matches, ''),
        query: url.searchParams,
        body,
        origin: this.origin,
        pulls: this.pulls,
        pageSize: this.pageSize,
        url,
      })
      const etag = answer.headers?.['etag']
      if (etag && request.headers['if-none-match'] === etag) return { status: 304, headers: { etag }, body: undefined }
      return { status: answer.status ?? 200, headers: answer.headers ?? {}, body: answer.body }
    } catch (error) {
      if (error instanceof Refused) return { status: error.status, headers: {}, body: dialect.refusal(error) }
      throw error
    }
  }
}

interface Answer {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: unknown
}

function isGit(path: string): boolean {
  return /\/(info\/refs|git-upload-pack|git-receive-pack)$/.test(path)
}

function fail({ drop, status = 500, headers = {}, body }: Fault, response: ServerResponse): void {
  if (drop) return void response.destroy()
  response.writeHead(status, headers)
  response.end(body ?? '{"message":"told to fail"}')
}

async function readJson(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString()
  return text ? (JSON.parse(text) as Record<string, unknown>) : {}
}
