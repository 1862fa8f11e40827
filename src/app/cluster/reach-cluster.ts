import type { ProcessParts } from '../../runtime/process-parts.ts'
import { allKinds } from '../../apis/all-kinds.ts'
import { departure } from '../../apis/departure.ts'
import type { Client } from '../../client/client.ts'
import { ConfigError } from '../../client/cluster-config.ts'
import { TransportError } from '../../client/transport-error.ts'
import { isStatusError } from '../../kube/status-error.ts'
import { Backoff } from '../../runtime/time/backoff.ts'
import { sleep } from '../../runtime/time/clock.ts'

export interface ReachPorts extends Pick<ProcessParts, 'client' | 'clock' | 'log' | 'random'> {
  /** The URL in the kubeconfig. */
  readonly server: string
  readonly signal: AbortSignal
  /** Whether to wait for missing kinds: a Pod that exits instead would only be restarted. */
  readonly waitsForKinds: () => Promise<boolean>
}

/**
 * Resolves when the cluster answers and serves Sojourn's kinds. Retries while it does not answer; throws at once when it refuses the
 * credentials, presents an untrusted certificate or lacks the kinds, unless they are waited for.
 */
export async function reachCluster(ports: ReachPorts): Promise<void> {
  const { client, server, clock, log, random, signal } = ports
  const backoff = new Backoff({ baseMs: 1000, capMs: 30_000, random })
  for (;;) {
    try {
      client.discovery.forget()
      const found = await Promise.race([client.discovery.typeOf(departure), timeout(ports)])
      if (!found) {
        const text = `${server} does not serve Sojourn's kinds yet: run "sojourn install --crds-only | kubectl apply --server-side -f -" first`
        throw (await ports.waitsForKinds()) ? new KindsMissing(text) : new ConfigError(text)
      }
      if (backoff.size > 0) log.info('cluster reached', { server })
      return
    } catch (error) {
      signal.throwIfAborted()
      if (!isTransient(error)) throw error
      const againInMs = Math.round(backoff.next(server))
      const message =
        error instanceof KindsMissing ? 'kinds missing, waiting for them' : 'cluster not reachable, retrying'
      const missing = error instanceof KindsMissing ? { missing: await missingKinds(ports.client) } : {}
      log.error(message, { server, error: (error as Error).message, ...missing, againInMs })
      await sleep(clock, againInMs, signal)
    }
  }
}

class KindsMissing extends Error {}

/** The CRDs that the cluster does not serve, by name. */
async function missingKinds({ discovery }: Client): Promise<string> {
  const served = await Promise.all(allKinds.map((kind) => discovery.typeOf(kind)))
  return allKinds.flatMap(({ plural, group }, index) => (served[index] ? [] : [`${plural}.${group}`])).join(' ')
}

/** Whether a later attempt may succeed: not for refused credentials or an untrusted certificate. */
function isTransient(error: unknown): boolean {
  if (error instanceof KindsMissing) return true
  if (isStatusError(error)) return error.code >= 500 || error.code === 429
  if (!(error instanceof TransportError)) return false
  const { code = '' } = (error.cause ?? {}) as { readonly code?: string }
  return !/CERT|^ERR_TLS|^ERR_SSL|^UNABLE_TO|^HOSTNAME_MISMATCH/.test(code)
}

const timeoutMs = 10_000

async function timeout({ clock, signal, server }: ReachPorts): Promise<never> {
  await sleep(clock, timeoutMs, signal)
  throw new TransportError(`${server} did not answer within ${timeoutMs / 1000} s`)
}
