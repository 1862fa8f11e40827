import { once } from 'node:events'
import { createServer } from 'node:http'
import { isSea } from 'node:sea'
import { readFlags, UsageError, type Command, type Io } from '../terminal/command.ts'
import { connect } from '../terminal/connect.ts'

const { kubeconfig, context } = readFlags

/** Plays the life of one preview environment on a running `sojourn up`. */
export const demo: Command = {
  name: 'demo',
  summary: 'Show the life of one preview environment on a running `sojourn up`, in two minutes',
  usage: '[flags]',
  help: `
Opens a pull request on a small forge of its own and creates an environment for it: the Namespace demo-preview. It sleeps, a
request wakes it, its owner is told and keeps it, it is deleted when the pull request is closed, and restored. At the end
only the departure records remain. Ctrl-C deletes everything at once.

Examples:
  sojourn up                            in one terminal
  sojourn demo                          in another
  sojourn env -w                        in a third`,
  flags: { kubeconfig, context },
  async run(call) {
    using connection = connect(call)
    const { client } = connection
    const { io } = call
    const { readProxyAddress } = await import('../../app/embedded/endpoints.ts')
    const proxy = await readProxyAddress(client)
    if (proxy === undefined)
      throw new UsageError('no running "sojourn up" with the roles activator and workloads was found: start one first')
    const { playDemo, DemoError } = await import('../../../examples/demo/play.ts')
    const { signal } = io
    try {
      await playDemo({ client, proxy, shop: shopCommand(), tell: narrator(io), signal })
    } catch (error) {
      if (signal.aborted) return 130
      if (!(error instanceof DemoError)) throw error
      io.err(`sojourn demo: ${error.message}\n`)
      return 1
    }
  },
}

/** The same program as this one. An executable has no Node to run a script with. */
function shopCommand(): readonly string[] {
  return [process.execPath, ...(isSea() ? [] : ['--no-warnings', process.argv[1] ?? '']), '__demo-shop']
}

/** Serves the demo's application until the process ends. */
export async function serveShop({ env, signal }: Io): Promise<number> {
  const server = createServer((_, response) => response.end(`Hello from the shop, revision ${env['REVISION']}\n`))
  server.listen(Number(env['PORT']), '127.0.0.1')
  await once(signal, 'abort')
  return 0
}

/** Prints chapters with the elapsed time, and lines and commands indented below them. */
function narrator({ out, now, colours }: Io) {
  const startedAt = now()
  const bold = (text: string) => (colours ? `\u001B[1m${text}\u001B[0m` : text)
  const dim = (text: string) => (colours ? `\u001B[2m${text}\u001B[0m` : text)
  return (kind: 'chapter' | 'line' | 'command', text: string) => {
    const seconds = Math.round((now() - startedAt) / 1000)
    const time = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
    if (kind === 'chapter') out(`\n${dim(time)}  ${bold(text)}\n`)
    else out(`      ${kind === 'command' ? `${dim('$')} ${text}` : text}\n`)
  }
}
