import { enableCompileCache, registerHooks } from 'node:module'

enableCompileCache()
// Our own imports name their file: finding out that they do, file by file, takes a fifth of the time of a start.
registerHooks({
  resolve(specifier, context, next) {
    if (!specifier.startsWith('.') || !specifier.endsWith('.ts')) return next(specifier, context)
    return { url: new URL(specifier, context.parentURL).href, format: 'module-typescript', shortCircuit: true }
  },
})

// After the cache is on: what is imported from here is compiled once per machine.
const { main } = await import('./program.ts')
const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    // A second one means now.
    if (stop.signal.aborted) process.exit(130)
    stop.abort(new Error(signal))
  })
}
// Started by the launcher, we never outlive it: killed hard, it cannot tell us in any other way.
if (process.env.SOJOURN_LAUNCHER) {
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
  process.channel?.unref()
}

// A reader who has seen enough closes the pipe, as `head` does: that ends us, and is no failure. Not being able to write is.
let unheard: NodeJS.ErrnoException | undefined
process.stdout.on('error', (error) => {
  unheard = error
  stop.abort(error)
})
process.stderr.on('error', () => {})

const code = await main(process.argv.slice(2), {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  env: process.env,
  now: () => Date.now(),
  isTerminal: process.stdout.isTTY,
  isErrTerminal: process.stderr.isTTY,
  colours: process.stdout.isTTY && !process.env.NO_COLOR && process.env.TERM !== 'dumb',
  // Terminals change their size, and some do not know it.
  get width() {
    return process.stdout.columns || 120
  },
  get height() {
    return process.stdout.rows || 50
  },
  signal: stop.signal,
})

// What was written must be out before we go: a pipe takes only so much at once.
for (const stream of [process.stdout, process.stderr])
  await new Promise<void>((resolve) => stream.write('', () => resolve()))
if (unheard && unheard.code !== 'EPIPE') process.stderr.write(`sojourn: it cannot be written: ${unheard.message}\n`)
// Connections that others keep open must not keep us.
process.exit(unheard ? (unheard.code === 'EPIPE' ? 0 : 1) : code)
