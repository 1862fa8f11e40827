import { spawn } from 'node:child_process'
import { ConfigError } from '../../client/cluster-config.ts'
import { networkTransport } from '../../client/network-transport.ts'
import { readFlags, type Command, type Io } from '../terminal/command.ts'
import { findConfig } from '../terminal/connect.ts'

const { kubeconfig, context } = readFlags

/** Opens the dashboard of a running `sojourn up`, signed in. */
export const dashboard: Command = {
  name: 'dashboard',
  summary: 'Open the dashboard of a running "sojourn up" in the browser, signed in',
  usage: '[flags]',
  help: `
Makes a link that signs one browser in as the user of the kubeconfig, once, within a minute, and opens it. BROWSER names another
program to open it with. Prints the link where no browser can be opened.

Examples:
  sojourn dashboard
  sojourn dashboard --print`,
  flags: { kubeconfig, context, print: { type: 'boolean', help: 'Print the link and open nothing' } },
  async run({ flags, io }) {
    const config = findConfig({ flags, io })
    const network = networkTransport(config, { userAgent: 'sojourn-cli' })
    const { status, body } = await network.transport({ method: 'POST', path: '/auth/link' })
    network.close()
    if (status === 401) throw new ConfigError('the server does not accept the token of the kubeconfig')
    const { path } = (body ?? {}) as { readonly path?: string }
    if (status !== 200 || path === undefined)
      throw new ConfigError(
        `${config.server} is no "sojourn up": on a cluster, open the address at which the dashboard was installed`,
      )
    const link = new URL(path, config.server).href
    if (flags.print !== true && (await opens(link, io))) return io.out('opened the dashboard in the browser\n')
    io.out(`${link}\n`)
  },
}

/** Whether the machine's browser took the link. */
function opens(link: string, { env }: Io): Promise<boolean> {
  const [program, ...args] = openerOf(env)
  if (program === undefined) return Promise.resolve(false)
  return new Promise((resolve) => {
    const child = spawn(program, [...args, link], { stdio: 'ignore', detached: true })
    child.once('error', () => resolve(false))
    // A browser that stays in the foreground has opened the link as well.
    child.once('spawn', () => child.unref())
    child.once('exit', (code) => resolve(code === 0))
    AbortSignal.timeout(2000).addEventListener('abort', () => resolve(true))
  })
}

function openerOf(env: Io['env']): readonly string[] {
  if (env.BROWSER) return [env.BROWSER]
  if (process.platform === 'darwin') return ['open']
  if (process.platform === 'win32') return ['explorer.exe']
  return env.DISPLAY || env.WAYLAND_DISPLAY ? ['xdg-open'] : []
}
