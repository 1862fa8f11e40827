import { timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import type { PeerService } from './peers.ts'
import type { UseReport } from './reported-use.ts'

/** What other replicas may say to this one. */
export interface PeerHandler extends PeerService {
  /** They have come. */
  announced(identity: string): void
  /** They will serve no new requests before long. */
  retiring(identity: string): void
  /** They have served their last request. */
  departed(identity: string): void
}

export interface PeerServer extends AsyncDisposable {
  readonly port: number
}

/** A report of 500 routes, each with a name and 32 counters. */
const maxBodyBytes = 500 * 1024

/** Answers the other replicas. */
export async function servePeers(
  desk: PeerHandler,
  { token, host, port }: { readonly token: string; readonly host: string; readonly port: number },
): Promise<PeerServer> {
  const server = http.createServer((request, response) => {
    const reply = (status: number, text = '') => response.writeHead(status).end(text)
    if (!isTold(request.headers.authorization, token)) return void reply(401)
    let body = ''
    request.setEncoding('utf8')
    request.on('data', (chunk: string) => {
      body += chunk
      if (body.length > maxBodyBytes) request.destroy()
    })
    request.on('end', () => {
      handle(desk, `${request.method} ${request.url}`, body).then(
        (answer) => (answer === undefined ? reply(404) : reply(200, answer)),
        () => reply(500),
      )
    })
  })
  await once(server.listen(port, host), 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      if (server.listening) await server[Symbol.asyncDispose]()
    },
  }
}

/** The answer to a call; undefined when there is no such call. */
async function handle(desk: PeerHandler, call: string, body: string): Promise<string | undefined> {
  switch (call) {
    case 'POST /drain':
      return JSON.stringify(await desk.drain(body))
    case 'POST /release':
      desk.release(body)
      return ''
    case 'POST /listens':
      return desk.listens(body) ? 'yes' : 'no'
    case 'POST /use':
      return JSON.stringify(desk.reported(parseReport(body)))
    case 'POST /retire':
      desk.retiring(body)
      return ''
    case 'POST /join':
      desk.announced(body)
      return ''
    case 'POST /leave':
      desk.departed(body)
      return ''
    default:
      return undefined
  }
}

function parseReport(text: string): UseReport {
  const { from, uses = {}, faults = {} } = JSON.parse(text) as Partial<UseReport>
  const isText = (value: unknown) => typeof value === 'string' && value.length < 1000
  if (!isText(from) || !Object.values(uses).every(Array.isArray) || !Object.values(faults).every(isText))
    throw new Error('a replica sent a report that cannot be read')
  return { from: from!, uses, faults }
}

function isTold(authorization: string | undefined, token: string): boolean {
  const given = Buffer.from(authorization ?? '')
  const expected = Buffer.from(`Bearer ${token}`)
  return given.length === expected.length && timingSafeEqual(given, expected)
}
