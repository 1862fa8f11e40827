import { departure } from '../../apis/departure.ts'
import type { Client } from '../../client/client.ts'
import { ConfigError } from '../../client/cluster-config.ts'
import { TransportError } from '../../client/transport-error.ts'
import { isStatusError } from '../../kube/status-error.ts'
import { Backoff } from '../../runtime/time/backoff.ts'
import { sleep, type Clock } from '../../runtime/time/clock.ts'
import type { Logger } from '../../runtime/observability/log.ts'
import type { Random } from '../../runtime/time/random.ts'

export interface ReachPorts {
  readonly client: Client
  /** As its kubeconfig names it. */
  readonly server: string
  readonly clock: Clock
  readonly log: Logger
  readonly random: Random
  readonly signal: AbortSignal
}

/**
 * Resolves when a cluster answers and knows our kinds. One that is not there yet is waited for; one that knows us and refuses, or that is not the one
 * our credentials are for, is not: that throws at once.
 */
export async function reachCluster(ports: ReachPorts): Promise<void> {
  const { client, server, clock, log, random, signal } = ports
  const backoff = new Backoff({ baseMs: 1000, capMs: 30_000, random })
  for (;;) {
    try {
      client.discovery.forget()
      const found = await Promise.race([client.discovery.typeOf(departure), patience(ports)])
      if (!found)
        throw new ConfigError(
          `${server} does not know our kinds yet: run "sojourn install | kubectl apply --server-side -f -" first`,
        )
      if (backoff.size > 0) log.info('cluster reached', { server })
      return
    } catch (error) {
      signal.throwIfAborted()
      if (!mayPass(error)) throw error
      const againInMs = Math.round(backoff.next(server))
      log.error('cluster not reachable, trying again', { server, error: (error as Error).message, againInMs })
      await sleep(clock, againInMs, signal)
    }
  }
}

/** Whether an answer, or its absence, says nothing yet about us. */
function mayPass(error: unknown): boolean {
  if (isStatusError(error)) return error.code >= 500 || error.code === 429
  if (!(error instanceof TransportError)) return false
  const { code = '' } = (error.cause ?? {}) as { readonly code?: string }
  return !/CERT|^ERR_TLS|^ERR_SSL|^UNABLE_TO|^HOSTNAME_MISMATCH/.test(code)
}

const patienceMs = 10_000

async function patience({ clock, signal, server }: ReachPorts): Promise<never> {
  await sleep(clock, patienceMs, signal)
  throw new TransportError(`${server} did not answer within ${patienceMs / 1000} s`)
}
