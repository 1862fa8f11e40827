import { timingSafeEqual } from 'node:crypto'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Clock } from '../../runtime/clock.ts'
import type { DrainReport, PeerService, Peers } from './peers.ts'

/** Who takes part; `Shards` of one slot is one. */
export interface Membership {
  /** Those who are alive, ourselves included, each as `peerIdentity` writes it. */
  readonly members: readonly string[]
  readonly held: ReadonlySet<number>
}

export interface HttpPeersOptions {
  /** Ourselves, as `peerIdentity` writes it. */
  readonly identity: string
  /** Shared by all replicas: only they may ask. */
  readonly token: string
  readonly membership: Membership
  readonly clock: Clock
}

const askMs = 2000
const lookMs = 1000
const maxBodyBytes = 4096

/** A replica's name in the membership, with the address at which the others reach it. */
export function peerIdentity({
  name,
  host,
  port,
}: {
  readonly name: string
  readonly host: string
  readonly port: number
}): string {
  return `${name}@${host}:${port}`
}

/** The other replicas, asked over HTTP. A replica that cannot be asked counts as busy. */
export class HttpPeers implements Peers {
  readonly #options: HttpPeersOptions
  readonly #handlers = new Set<(change: { readonly lost: boolean }) => void>()
  #known: string
  #cancelLook: () => void

  constructor(options: HttpPeersOptions) {
    this.#options = options
    this.#known = this.#fingerprint()
    this.#cancelLook = options.clock.after(lookMs, () => this.#look())
  }

  get leading(): boolean {
    return this.#options.membership.held.size > 0
  }

  get addresses(): readonly string[] {
    return this.#options.membership.members.map((member) => addressOf(member).host)
  }

  async drain(route: string): Promise<readonly DrainReport[]> {
    const reports = await Promise.all(this.#others().map((peer) => this.#ask(peer, 'drain', route)))
    return reports.map((report) => parseReport(report))
  }

  release(route: string): void {
    for (const peer of this.#others()) void this.#ask(peer, 'release', route).catch(() => {})
  }

  onChange(handler: (change: { readonly lost: boolean }) => void): () => void {
    this.#handlers.add(handler)
    return () => this.#handlers.delete(handler)
  }

  close(): void {
    this.#cancelLook()
  }

  #others(): string[] {
    return this.#options.membership.members.filter((member) => member !== this.#options.identity)
  }

  #fingerprint(): string {
    const { members } = this.#options.membership
    return JSON.stringify([members, this.leading])
  }

  #look(): void {
    this.#cancelLook = this.#options.clock.after(lookMs, () => this.#look())
    const now = this.#fingerprint()
    if (now === this.#known) return
    const [before] = JSON.parse(this.#known) as [string[], boolean]
    this.#known = now
    const lost = before.some((member) => !this.#options.membership.members.includes(member))
    for (const handler of this.#handlers) handler({ lost })
  }

  #ask(peer: string, what: 'drain' | 'release', route: string): Promise<string> {
    const { host, port } = addressOf(peer)
    const headers = { authorization: `Bearer ${this.#options.token}` }
    return new Promise((resolve, reject) => {
      const request = http.request(
        { host, port, path: `/${what}`, method: 'POST', headers, timeout: askMs },
        (response) => {
          let text = ''
          response.setEncoding('utf8')
          response.on('data', (chunk: string) => (text += chunk))
          response.on('end', () =>
            response.statusCode === 200 ? resolve(text) : reject(new Error(`${peer} answered ${response.statusCode}`)),
          )
          response.on('error', reject)
        },
      )
      request.on('timeout', () => request.destroy(new Error(`${peer} did not answer in time`)))
      request.on('error', reject)
      request.end(route)
    })
  }
}

export interface PeerServer extends AsyncDisposable {
  readonly port: number
}

/** Answers the other replicas. */
export async function servePeers(
  service: PeerService,
  { token, host, port }: { readonly token: string; readonly host: string; readonly port: number },
): Promise<PeerServer> {
  const server = http.createServer((request, response) => {
    const reply = (status: number, text = '') => response.writeHead(status).end(text)
    if (!isTold(request.headers.authorization, token)) return void reply(401)
    let route = ''
    request.setEncoding('utf8')
    request.on('data', (chunk: string) => {
      route += chunk
      if (route.length > maxBodyBytes) request.destroy()
    })
    request.on('end', () => {
      if (request.method === 'POST' && request.url === '/drain') {
        service.drain(route).then(
          (report) => reply(200, JSON.stringify(report)),
          () => reply(500),
        )
      } else if (request.method === 'POST' && request.url === '/release') {
        service.release(route)
        reply(200)
      } else reply(404)
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: () => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

function addressOf(identity: string): { readonly host: string; readonly port: number } {
  const address = identity.slice(identity.lastIndexOf('@') + 1)
  const colon = address.lastIndexOf(':')
  return { host: address.slice(0, colon), port: Number(address.slice(colon + 1)) }
}

function parseReport(text: string): DrainReport {
  const { busy, waiting, idleMs } = JSON.parse(text) as Partial<DrainReport>
  if (typeof busy !== 'number' || typeof waiting !== 'number' || typeof idleMs !== 'number')
    throw new Error('a replica answered in other words')
  return { busy, waiting, idleMs }
}

function isTold(authorization: string | undefined, token: string): boolean {
  const given = Buffer.from(authorization ?? '')
  const expected = Buffer.from(`Bearer ${token}`)
  return given.length === expected.length && timingSafeEqual(given, expected)
}
