import { availableParallelism } from 'node:os'
import { ConfigError } from '../../client/cluster-config.ts'
import { freePort } from '../../runtime/http/free-port.ts'
import { Activator } from './activator.ts'
import type { ActivatorOptions, ActivatorPorts } from './activator-parts.ts'
import { singleReplica, type Peers } from './replicas/peers.ts'
import type { DataPlane } from './proxy/planes/data-plane.ts'
import type { ProxyLimits } from './proxy/routing/ports.ts'
import type { TlsPolicy } from './proxy/tls/tls-policy.ts'
import { SilentDataPlane } from './proxy/planes/silent-data-plane.ts'
import { ThreadedDataPlane } from './proxy/planes/threaded-data-plane.ts'

export interface StartOptions extends ActivatorOptions {
  readonly host: string
  /** The HTTP port; 0 picks a free one. */
  readonly port: number
  /** The HTTPS port, if TLS is to be terminated; 0 picks a free one. */
  readonly tlsPort?: number
  /** What clients' TLS must meet. */
  readonly tlsPolicy?: TlsPolicy
  /** Where other proxies ask whether a workload is up; 0 picks a free one. Defaults to nowhere. */
  readonly checkPort?: number
  /** Connections begin with a PROXY protocol header. Defaults to false. */
  readonly proxyProtocol?: boolean
  /** Threads that carry requests. Defaults to one per core, four at most. */
  readonly threads?: number
  readonly limits?: Partial<ProxyLimits>
  /** Write a line for every request to the standard output. Defaults to false. */
  readonly accessLog?: boolean
  /** The other replicas. Defaults to none. */
  readonly peers?: Peers
  /** The proxy to use. Defaults to a threaded one. */
  readonly plane?: DataPlane
}

interface Ports {
  readonly port: number
  readonly tlsPort: number | undefined
  readonly checkPort: number | undefined
}

export interface RunningActivator extends Ports {
  readonly activator: Activator
  /** Stops accepting, lets requests under way end for this long at most, writes down what was last used. */
  stop(withinMs?: number): Promise<void>
}

const maxThreads = 4

/** Starts proxy and control plane; resolves when requests are taken. */
export async function startActivator(
  ports: Omit<ActivatorPorts, 'openPlane' | 'peers'>,
  options: StartOptions,
): Promise<RunningActivator> {
  const { peers = singleReplica(), limits = {}, tlsPort, tlsPolicy = {} } = options
  const threads = options.threads ?? Math.min(maxThreads, availableParallelism())
  const openPlane: ActivatorPorts['openPlane'] = (onWake, onAnswers) =>
    options.plane ??
    (options.part === 'scaler' ? new SilentDataPlane() : undefined) ??
    new ThreadedDataPlane({
      threads,
      limits,
      tls: tlsPolicy,
      accessLog: options.accessLog ?? false,
      onWake,
      onAnswers,
      onCrash: (error) => ports.log.error('proxy thread died', { error }),
    })
  const activator = new Activator(
    { ...ports, peers, openPlane },
    { ...options, tls: options.tls ?? tlsPort !== undefined },
  )
  const control = new AbortController()
  let running = Promise.resolve()
  const stop = async (withinMs = 0) => {
    // Those who wait are still woken for, until the last of them has gone.
    await activator.plane.close(withinMs)
    control.abort()
    await running
  }
  try {
    const bound = await listen(activator, options)
    running = activator.start(control.signal)
    return { activator, ...bound, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

const usualPort = 7080

async function listen({ plane }: Activator, options: StartOptions): Promise<Ports> {
  const { host, port: wanted, companionPort, proxyProtocol = false } = options
  const free = async (port: number, flag: string) => (options.part === 'scaler' ? port : freePort({ port, host, flag }))
  // Beside another sojourn, which has the usual port, any other does, unless Services lead to it.
  const isMovable = wanted === usualPort && companionPort === undefined
  const port = await free(wanted, 'proxy-port').catch((error: unknown) => {
    if (isMovable && error instanceof ConfigError) return 0
    throw error
  })
  const tlsPort = options.tlsPort && (await free(options.tlsPort, 'proxy-tls-port'))
  const checkPort = options.checkPort && (await free(options.checkPort, 'check-port'))
  return {
    port: await plane.listen({ host, port, proxyProtocol }),
    tlsPort: tlsPort === undefined ? undefined : await plane.listen({ host, port: tlsPort, tls: true, proxyProtocol }),
    checkPort:
      checkPort === undefined ? undefined : await plane.listen({ host, port: checkPort, purpose: { is: 'checks' } }),
  }
}
