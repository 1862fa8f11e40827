import net, { type AddressInfo, type Server, type Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { socketOptions } from '../wire/adopt-socket.ts'
import { CertificateStore, type Certificate, type CertificateFault } from '../tls/certificates.ts'
import { ClientConnection, plainAddress, type ClientOptions } from '../http1/client-connection.ts'
import type { ProxyThread } from '../routing/proxy-thread.ts'
import { Counters } from '../routing/counters.ts'
import { Http2Front } from '../http2/http2-front.ts'
import { Journal } from '../routing/journal.ts'
import { OpaqueConnection } from '../http1/opaque-connection.ts'
import { defaultLimits, type ProxyLimits, type ProxyPorts, forHosts, type Purpose } from '../routing/ports.ts'
import type { Route, RouteConfig } from '../routing/route.ts'
import { trustedProxies } from '../routing/trusted-proxies.ts'
import { RouteTable } from '../routing/route-table.ts'
import { Target, type TargetState } from '../routing/target.ts'
import type { DataPlane, TargetLoad } from './data-plane.ts'
import { TlsFront } from '../tls/tls-front.ts'
import type { TlsPolicy } from '../tls/tls-policy.ts'

export interface ProxyOptions {
  readonly limits?: Partial<ProxyLimits>
  readonly tls?: TlsPolicy
  readonly counters?: Counters
}

export interface ListenOptions {
  readonly host?: string
  readonly port: number
  /** Several threads share the port; the kernel spreads connections over them. */
  readonly reusePort?: boolean
  /** Connections begin with a PROXY protocol header. */
  readonly proxyProtocol?: boolean
  /** Terminate TLS, with whatever certificates have been given. */
  readonly tls?: boolean
  /** What connections to it are for. Defaults to requests for the hosts of all routes. */
  readonly purpose?: Purpose
}

const tickMs = 250

/** The data plane of one thread: accepts connections and carries requests to pods, as the control plane has configured it. */
export class Proxy implements DataPlane {
  readonly #thread: ProxyThread
  readonly #routes = new Map<string, Route>()
  /** By port. */
  readonly #servers = new Map<number, Server>()
  readonly #tlsFronts: TlsFront[] = []
  readonly #certificates: CertificateStore
  readonly #http2: Http2Front
  #cancelTick: () => void

  constructor(ports: ProxyPorts, { limits, tls = {}, counters = new Counters() }: ProxyOptions = {}) {
    this.#certificates = new CertificateStore(tls)
    this.#thread = {
      ports,
      limits: { ...defaultLimits, ...limits },
      isTrusted: trustedProxies(limits?.trustedProxies ?? []),
      time: { now: ports.clock.monotonic() },
      table: new RouteTable(),
      routes: this.#routes,
      targets: new Map(),
      counters,
      journal: new Journal(ports),
      clients: new Set(),
      waiting: 0,
      waitingBytes: 0,
      closing: false,
      speakHttp2: (socket, read, from) => this.#http2.accept(socket, read, { ...from, proto: 'http' }),
    }
    this.#http2 = new Http2Front(this.#thread)
    this.#cancelTick = ports.clock.after(tickMs, () => this.#tick())
  }

  /** Adds a route, or changes the one of this id. */
  setRoute(config: RouteConfig): void {
    const former = this.#routes.get(config.id)
    if (former && former.config.target === config.target && former.config.slot === config.slot) {
      this.#thread.table.remove(former)
      former.config = config
      this.#thread.table.add(former)
      return
    }
    if (former) this.removeRoute(config.id)
    const target = this.#target(config.target)
    target.routes++
    const route = { config, target, cells: this.#thread.counters.slot(config.slot), waiting: 0, removed: false }
    this.#routes.set(config.id, route)
    this.#thread.table.add(route)
  }

  /** Removes a route; requests that wait for it get 503. */
  removeRoute(id: string): void {
    const route = this.#routes.get(id)
    if (!route) return
    this.#routes.delete(id)
    this.#thread.table.remove(route)
    route.removed = true
    for (const { waiter } of route.target.waiters) if (waiter.route === route) waiter.refuse('route-gone', 1)
    if (--route.target.routes > 0) return
    route.target.close()
    this.#thread.targets.delete(route.target.id)
  }

  setTarget(id: string, state: TargetState): void {
    this.#thread.targets.get(id)?.set(state)
  }

  /** Requests of a target that are being served here, and those that wait for it. */
  loadOf(id: string): TargetLoad {
    const target = this.#thread.targets.get(id)
    return { busy: target?.busy ?? 0, waiting: target?.waiters.size ?? 0 }
  }

  drain(target: string): Promise<TargetLoad> {
    this.setTarget(target, { is: 'draining' })
    return Promise.resolve(this.loadOf(target))
  }

  get counters(): readonly [Counters] {
    return [this.#thread.counters]
  }

  get connections(): number {
    return this.#thread.clients.size + this.#http2.size
  }

  /** The certificates TLS listeners offer from now on; answers those that cannot be used. */
  setCertificates(certificates: readonly Certificate[]): Promise<readonly CertificateFault[]> {
    const faults = this.#certificates.replace(certificates)
    const { first } = this.#certificates
    if (first) for (const front of this.#tlsFronts) front.offer(first)
    return Promise.resolve(faults)
  }

  /** Opens a listener; answers the port it got. */
  async listen({
    host,
    port,
    reusePort = false,
    proxyProtocol = false,
    tls: secure = false,
    purpose = forHosts,
  }: ListenOptions): Promise<number> {
    const server = secure ? this.#tlsServer(proxyProtocol) : this.#plainServer(proxyProtocol, purpose)
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen({ port, backlog: 4096, reusePort, ...(host === undefined ? {} : { host }) }, () => resolve())
    })
    const bound = (server.address() as AddressInfo).port
    this.#servers.set(bound, server)
    return bound
  }

  /** Stops accepting connections at a port; open ones continue. */
  unlisten(port: number): void {
    this.#servers.get(port)?.close()
    this.#servers.delete(port)
  }

  /** Stops accepting and drains open connections; resolves when all are closed, or when `withinMs` has passed. */
  async close(withinMs = 0): Promise<void> {
    const { clock } = this.#thread.ports
    this.#thread.closing = true
    for (const server of this.#servers.values()) server.close()
    for (const client of this.#thread.clients) client.retire()
    this.#http2.retire()
    const until = clock.monotonic() + withinMs
    while (this.connections > 0 && clock.monotonic() < until) {
      await new Promise<void>((resolve) => clock.after(20, resolve))
    }
    this.#cancelTick()
    for (const client of this.#thread.clients) client.destroy()
    this.#http2.destroy()
    for (const target of this.#thread.targets.values()) target.close()
    this.#thread.journal.flush()
  }

  #plainServer(proxyProtocol: boolean, purpose: Purpose): Server {
    return net.createServer({ ...socketOptions, pauseOnConnect: true }, (socket) => {
      if (purpose.is === 'bytes') this.#carry(socket, purpose.route)
      else this.#accept(socket, { secure: false, proxyProtocol, purpose })
    })
  }

  #tlsServer(proxyProtocol: boolean): Server {
    const { ports, limits } = this.#thread
    const accept = (socket: TLSSocket, address: string | undefined) => {
      const client = address ?? plainAddress(socket.remoteAddress)
      if (socket.alpnProtocol === 'h2')
        this.#http2.accept(socket, Buffer.alloc(0), { client, purpose: forHosts, proto: 'https' })
      else this.#accept(socket, { secure: true, proxyProtocol: false, remoteAddress: client, purpose: forHosts })
    }
    const front = new TlsFront({ ports, limits, certificates: this.#certificates, accept }, proxyProtocol)
    this.#tlsFronts.push(front)
    return front.listener
  }

  #accept(socket: Socket, options: ClientOptions): void {
    this.#thread.clients.add(new ClientConnection(socket, this.#thread, options))
  }

  #carry(socket: Socket, id: string): void {
    const route = this.#routes.get(id)
    if (!route) return void socket.resetAndDestroy()
    this.#thread.clients.add(new OpaqueConnection(socket, this.#thread, route))
  }

  #target(id: string): Target {
    const { targets, time, limits, ports } = this.#thread
    return targets.getOrInsertComputed(id, () => new Target(id, time, limits, ports))
  }

  #tick(): void {
    const { ports, time, targets, journal } = this.#thread
    this.#cancelTick = ports.clock.after(tickMs, () => this.#tick())
    const now = (time.now = ports.clock.monotonic())
    for (const client of this.#thread.clients) client.sweep(now)
    this.#http2.sweep(now)
    for (const target of targets.values()) target.sweep(now)
    journal.flush()
  }
}
