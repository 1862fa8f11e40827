import net, { type Server, type Socket } from 'node:net'
import tls, { type TLSSocket } from 'node:tls'
import { socketOptions } from '../wire/adopt-socket.ts'
import type { Certificate, CertificateStore } from './certificates.ts'
import type { ProxyLimits, ProxyPorts } from '../routing/ports.ts'
import { readPreamble } from '../wire/proxy-protocol.ts'
import { tlsOptions, type TlsPolicy } from './tls-policy.ts'

export interface TlsFrontParts {
  readonly ports: ProxyPorts
  readonly limits: ProxyLimits
  readonly certificates: CertificateStore
  /** A connection whose handshake is done; `address` is the client's where a PROXY header told it. */
  readonly accept: (socket: TLSSocket, address: string | undefined) => void
}

/** Terminates TLS with the certificate of the name asked for. */
export class TlsFront {
  /** The server that listens. */
  readonly listener: Server
  readonly #server: tls.Server
  readonly #policy: TlsPolicy
  /** Client addresses from PROXY headers, by connection. */
  readonly #clients = new Map<string, string>()

  constructor(parts: TlsFrontParts, proxyProtocol: boolean) {
    const { limits, certificates, accept } = parts
    this.#policy = certificates.policy
    this.#server = tls.createServer({
      ...certificates.first,
      ...tlsOptions(this.#policy),
      ALPNProtocols: ['h2', 'http/1.1'],
      ...socketOptions,
      handshakeTimeout: limits.headTimeoutMs,
      SNICallback: (name, done) => done(null, certificates.find(name)),
    })
    this.#server.on('secureConnection', (socket) => accept(socket, this.#clients.get(endOf(socket))))
    this.#server.on('tlsClientError', (_error, socket) => socket.destroy())
    this.listener = proxyProtocol ? this.#behindBalancer(parts) : this.#server
  }

  /** Offers this certificate from now on to clients that name no server. */
  offer(certificate: Pick<Certificate, 'cert' | 'key'>): void {
    this.#server.setSecureContext({ ...certificate, ...tlsOptions(this.#policy) })
  }

  /** The PROXY header comes in clear text, before the handshake. */
  #behindBalancer({ ports, limits }: TlsFrontParts): Server {
    return net.createServer(socketOptions, (raw) => {
      const end = endOf(raw)
      const cancel = ports.clock.after(limits.headTimeoutMs, () => raw.destroy())
      raw.on('error', () => raw.destroy())
      raw.on('close', () => {
        cancel()
        this.#clients.delete(end)
      })
      afterPreamble(raw, (address) => {
        cancel()
        if (address !== undefined) this.#clients.set(end, address)
        this.#server.emit('connection', raw)
      })
    })
  }
}

function endOf({ remoteAddress = '', remotePort = 0 }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}

function afterPreamble(raw: Socket, done: (address: string | undefined) => void): void {
  let bytes = Buffer.alloc(0)
  const onData = (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk])
    const found = readPreamble(bytes)
    if (found === 'incomplete') return
    raw.off('data', onData)
    if (found === 'malformed') return void raw.destroy()
    raw.pause()
    raw.unshift(bytes.subarray(found.length))
    done(found.address)
  }
  raw.on('data', onData)
}
