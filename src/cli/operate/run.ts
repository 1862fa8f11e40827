import { configFlags, readConfig, roles } from '../../app/config/config.ts'
import { createLog, logUnhandled } from '../../app/config/log.ts'
import { UsageError, type Command } from '../terminal/command.ts'
import { facts } from '../terminal/output.ts'
import { findConfig } from '../terminal/connect.ts'
import { stopped } from '../terminal/stopped.ts'

/** Runs the systems against a cluster. */
export const run: Command = {
  name: 'run',
  summary: 'Run the systems against a cluster: kubeconfig, or in-cluster credentials',
  usage: '[flags]',
  help: `
The CRDs must be installed: sojourn install --crds-only | kubectl apply --server-side -f -
With --dry-run under an account of yours it writes nothing to the cluster, not even statuses: it logs what it would write.
While the cluster does not answer, it retries and /readyz answers 503. When the cluster refuses the credentials, it exits.

Examples:
  sojourn run --kubeconfig ~/.kube/config --dry-run
  sojourn run --only cleaner,collector
  sojourn run --only dashboard`,
  flags: configFlags,
  async run({ flags, io }) {
    const given = flags as Record<string, string | boolean | undefined>
    const config = readConfig({ flags: given, env: io.env, proxless: true })
    const embedded = config.only.filter((role) => role === 'api' || role === 'workloads')
    if (embedded.length > 0 && config.only.length < roles.length)
      throw new UsageError(`the role ${embedded[0]} runs only in "sojourn up": remove it from --only`)
    const isDashboard = config.only.includes('dashboard') && config.only.length < roles.length
    if (isDashboard && config.only.length > 1)
      throw new UsageError('the dashboard runs alone, with an account that has no rights of its own: --only dashboard')
    const start = isDashboard
      ? (await import('../../app/dashboard/cluster-dashboard.ts')).startDashboard
      : (await import('../../app/cluster/run.ts')).startRun
    const { signal } = io
    const cluster = findConfig({ flags, io }, io.env.KUBE_CONFIG_PATH)
    const running = await start({ ...config, clusterName: config.clusterName ?? cluster.context }, cluster, {
      log: logUnhandled(createLog(config, io)),
      signal,
    }).catch((error: unknown) => {
      if (!signal.aborted) throw error
    })
    if (!running) return 0
    const { server, url, proxy, tls, check } = running
    io.out(`sojourn running ${facts({ server, url, proxy, tls, check })}\n`)
    const replacedBy = await Promise.race([stopped(signal).then(() => undefined), running.replaced])
    await running.stop()
    if (replacedBy === undefined) return 0
    io.err(`sojourn run: another replica has taken over: ${replacedBy}\n`)
    return 1
  },
}
