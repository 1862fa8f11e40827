import type { Core } from '../cluster/core.ts'
import type { RouteConfig } from '../proxy/routing/route.ts'
import { portRouteConfig, type Publisher } from '../feed/publisher.ts'
import { portRouteId, type OnDemandService, type TakenPort } from '../model/service-registry.ts'
import { speaksHttp } from '../decision/takeover.ts'

export interface PortListenersParts extends Core {
  readonly publisher: Publisher
  readonly host: string
}

/** kube-proxy may still send callers here for a while after the slices have changed. */
const lingerMs = 10_000

/** The ports at which this replica takes connections for Services that are being taken over. */
export class PortListeners {
  readonly #parts: PortListenersParts
  /** What each port is open for, by port. */
  readonly #open = new Map<number, { readonly route: string; readonly is: 'requests' | 'bytes' }>()
  /** Ports that will be closed, each with what cancels that. */
  readonly #closing = new Map<number, () => void>()
  /** Ports at which another process listens already. */
  readonly #unusable = new Set<number>()

  constructor(parts: PortListenersParts) {
    this.#parts = parts
  }

  /** Opens the ports of a Service, and closes those it no longer has. */
  async ensure(service: OnDemandService, config: RouteConfig): Promise<void> {
    const ports = service.ports ?? []
    for (const port of ports) await this.#ensure(config, port)
    const wanted = new Set(ports.map(({ listen }) => listen))
    const own = `${service.id}:`
    for (const [port, { route }] of this.#open) if (route.startsWith(own) && !wanted.has(port)) this.#closeLater(port)
  }

  /** The Service is no longer ours to answer for. */
  drop(id: string): void {
    for (const [port, { route }] of this.#open) if (route.startsWith(`${id}:`)) this.#closeLater(port)
  }

  /** Whether connections are taken for all these ports. */
  listens({ id, ports = [] }: OnDemandService): boolean {
    return ports.length > 0 && ports.every((port) => this.#open.get(port.listen)?.route === portRouteId(id, port))
  }

  isOpen(port: number): boolean {
    return this.#open.has(port)
  }

  isUnusable(port: number): boolean {
    return this.#unusable.has(port)
  }

  close(): void {
    for (const cancel of this.#closing.values()) cancel()
    this.#closing.clear()
  }

  async #ensure(config: RouteConfig, port: TakenPort): Promise<void> {
    const { plane, publisher, log, host } = this.#parts
    const { listen } = port
    const purpose = { is: speaksHttp(port) ? 'requests' : 'bytes', route: portRouteId(config.id, port) } as const
    this.#closing.get(listen)?.()
    this.#closing.delete(listen)
    const open = this.#open.get(listen)
    const isOpen = open?.route === purpose.route && open.is === purpose.is
    if (open && !isOpen) this.#close(listen)
    publisher.setRoute(portRouteConfig(config, port))
    if (isOpen) return
    try {
      await plane.listen({ host, port: listen, purpose })
      this.#open.set(listen, purpose)
      this.#unusable.delete(listen)
    } catch (error) {
      this.#unusable.add(listen)
      log.error('could not listen for a Service', { service: config.id, port: listen, error })
    }
  }

  #closeLater(port: number): void {
    if (this.#closing.has(port)) return
    this.#closing.set(
      port,
      this.#parts.clock.after(lingerMs, () => this.#close(port)),
    )
  }

  #close(port: number): void {
    const { plane, publisher } = this.#parts
    this.#closing.get(port)?.()
    this.#closing.delete(port)
    const open = this.#open.get(port)
    this.#open.delete(port)
    plane.unlisten(port)
    const isElsewhere = [...this.#open.values()].some(({ route }) => route === open?.route)
    if (open && !isElsewhere) publisher.removeRoute(open.route)
  }
}
