import type { Certificate, CertificateFault } from '../tls/certificates.ts'
import type { Counters } from '../routing/counters.ts'
import type { DataPlane, TargetLoad } from './data-plane.ts'
import { Proxy, type ListenOptions, type ProxyOptions } from './proxy.ts'
import type { ProxyPorts } from '../routing/ports.ts'
import type { RouteConfig } from '../routing/route.ts'
import type { TargetState } from '../routing/target.ts'

/** The proxy in the thread of its caller: for one core, and for tests on another clock. */
export class InlineDataPlane implements DataPlane {
  readonly #proxy: Proxy

  constructor(ports: ProxyPorts, options: ProxyOptions = {}) {
    this.#proxy = new Proxy(ports, options)
  }

  get counters(): readonly Counters[] {
    return [this.#proxy.counters]
  }

  setRoute(config: RouteConfig): void {
    this.#proxy.setRoute(config)
  }

  removeRoute(id: string): void {
    this.#proxy.removeRoute(id)
  }

  setTarget(id: string, state: TargetState): void {
    this.#proxy.setTarget(id, state)
  }

  drain(target: string): Promise<TargetLoad> {
    this.#proxy.setTarget(target, { is: 'draining' })
    return Promise.resolve(this.#proxy.loadOf(target))
  }

  setCertificates(certificates: readonly Certificate[]): Promise<readonly CertificateFault[]> {
    return Promise.resolve(this.#proxy.setCertificates(certificates))
  }

  listen(options: ListenOptions): Promise<number> {
    return this.#proxy.listen(options)
  }

  unlisten(port: number): void {
    this.#proxy.unlisten(port)
  }

  close(withinMs = 0): Promise<void> {
    return this.#proxy.close(withinMs)
  }
}
