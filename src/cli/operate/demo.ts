import { readFlags, UsageError, type Command, type Io } from '../terminal/command.ts'
import { connect } from '../terminal/connect.ts'

const { kubeconfig, context } = readFlags

/** One preview environment's life, in a minute or two. */
export const demo: Command = {
  name: 'demo',
  summary: 'Play one preview environment’s life on a running `sojourn up`, in a minute or two',
  usage: '[flags]',
  help: `
It makes the namespace demo-preview with a shop in it, promotes a revision, wakes the shop by a request, lets it sleep,
announces what nobody uses, spares one object and lets the rest leave. Nothing stays behind but the record of what left;
Ctrl-C takes everything away at once.

Examples:
  sojourn up                            in one terminal
  sojourn demo                          in another
  sojourn status -n demo-preview -w     in a third`,
  flags: { kubeconfig, context },
  async run(call) {
    using connection = connect(call)
    const { client } = connection
    const { io } = call
    const { readProxyAddress } = await import('../../app/embedded/endpoints.ts')
    const proxy = await readProxyAddress(client)
    if (proxy === undefined)
      throw new UsageError('the demo needs a running "sojourn up" with its activator and workloads: start one first')
    const { playDemo } = await import('../../app/demo/play.ts')
    const { DemoError } = await import('../../app/demo/preview.ts')
    const { signal } = io
    try {
      await playDemo({ client, proxy, node: process.execPath, tell: narrator(io), signal })
    } catch (error) {
      if (signal.aborted) return 130
      if (!(error instanceof DemoError)) throw error
      io.err(`sojourn demo: ${error.message}\n`)
      return 1
    }
  },
}

/** Writes chapters with the time since the beginning, lines and commands below them. */
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
