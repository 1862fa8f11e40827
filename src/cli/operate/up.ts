import { configFlags, readConfig } from '../../app/config/config.ts'
import { createLog, logUnhandled } from '../../app/config/log.ts'
import type { Command } from '../terminal/command.ts'
import { facts } from '../terminal/output.ts'
import { stopped } from '../terminal/stopped.ts'

/** Starts everything on this machine. */
export const up: Command = {
  name: 'up',
  summary: 'Start everything on this machine: embedded API, all systems, proxy, dashboard',
  usage: '[flags]',
  help: `
Every flag can also be set by an environment variable (--proxy-port is SOJOURN_PROXY_PORT) or in sojourn.yaml (proxyPort: 7080).

Examples:
  sojourn up
  sojourn up --data /var/lib/sojourn --port 7443
  sojourn up --only api,cleaner --dry-run
  kubectl --kubeconfig .sojourn/kubeconfig get namespaces`,
  flags: configFlags,
  async run({ flags, io }) {
    const config = readConfig({ flags: flags as Record<string, string | boolean | undefined>, env: io.env })
    // Loaded here: only this command needs the whole product.
    const { startUp } = await import('../../app/embedded/up.ts')
    const running = await startUp(config, logUnhandled(createLog(config, io)))
    const { api, proxy, kubeconfig, tls, check } = running
    io.out(`sojourn ready ${facts({ api, proxy, kubeconfig, tls, check })}\n`)
    // A log that keeps the output must not keep a link that signs in.
    if (io.isTerminal) io.out(`Dashboard, signed in (once, within 10 minutes): ${running.dashboardLink()}\n`)
    await stopped(io.signal)
    await running.stop()
  },
}
