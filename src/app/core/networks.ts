import { lookup } from 'node:dns/promises'
import { networkInterfaces } from 'node:os'
import { networkHttp, type Network } from '../../runtime/http/http.ts'
import { Outgoing } from '../../runtime/http/outgoing.ts'

/** The world outside, by who names its addresses. */
export interface Networks {
  /** URLs in objects of namespaces: Cleaner, ConditionalTTL, Pipeline. */
  readonly tenants: Network
  /** URLs in cluster-scoped objects, flags and files. */
  readonly administrators: Network
  readonly kubeconfigs: Outgoing
  /** Denies tenants the API server, which they must call with their own credentials. */
  denyServer(url: string): Promise<void>
  close(): void
}

/** Opens nothing yet: connections are made as they are needed. */
export function createNetworks(allow: readonly string[]): Networks {
  const forTenants = new Outgoing({ for: 'tenants', allow })
  const tenants = networkHttp({ outgoing: forTenants })
  const administrators = networkHttp({ outgoing: new Outgoing({ for: 'administrators', allow }) })
  return {
    tenants,
    administrators,
    kubeconfigs: new Outgoing({ for: 'kubeconfigs', allow }),
    async denyServer(url) {
      const { hostname, port, protocol } = new URL(url)
      const addresses = await lookup(hostname.replace(/^\[|\]$/g, ''), { all: true }).catch(() => [])
      const found = addresses.map(({ address }) => address)
      const denied = found.some(isThisMachine) ? [...found, ...thisMachine()] : found
      for (const address of denied) forTenants.deny(address, Number(port) || (protocol === 'https:' ? 443 : 80))
    },
    close() {
      tenants.close()
      administrators.close()
    },
  }
}

function isThisMachine(address: string): boolean {
  return address.startsWith('127.') || address === '::1' || isAnyAddress(address)
}

/** `0.0.0.0` listens on every address, but names none to connect to. */
export function isAnyAddress(host: string): boolean {
  return host === '0.0.0.0' || host === '::'
}

/** Every address by which a port of this machine can be reached. */
function thisMachine(): readonly string[] {
  const others = Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address))
  return ['127.0.0.0/8', '0.0.0.0', '::', '::1', ...others]
}
