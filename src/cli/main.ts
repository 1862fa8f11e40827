import { enableCompileCache, registerHooks } from 'node:module'
import { basename } from 'node:path'
import { isSea } from 'node:sea'
import { isSource } from '../packaging/package-files.ts'

enableCompileCache()
// Imports in this project name their file, so Node need not search: that would take a fifth of the start time.
if (isSource)
  registerHooks({
    resolve(specifier, context, next) {
      if (!specifier.startsWith('.') || !specifier.endsWith('.ts')) return next(specifier, context)
      return { url: new URL(specifier, context.parentURL).href, format: 'module-typescript', shortCircuit: true }
    },
  })

// Imported after the compile cache is on, so that it is compiled once per machine.
const { main } = await import('./program.ts')
const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    // The second signal exits at once.
    if (stop.signal.aborted) process.exit(130)
    stop.abort(new Error(signal))
  })
}
// The process must not outlive its launcher, whose death by SIGKILL only shows as a disconnect.
if (process.env.SOJOURN_LAUNCHER) {
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
  process.channel?.unref()
}

// A closed pipe, as by `head`, ends the program without failure. Any other write error is a failure.
let writeError: NodeJS.ErrnoException | undefined
process.stdout.on('error', (error) => {
  writeError = error
  stop.abort(error)
})
process.stderr.on('error', () => {})

// kubectl finds plugins, and their completion, by the name of the program.
const startedAs = basename(isSea() ? process.argv0 : (process.argv[1] ?? ''), '.exe')
const completion = startedAs === 'kubectl_complete-sojourn' ? ['__complete-kubectl'] : []
const code = await main([...completion, ...process.argv.slice(2)], {
  program: startedAs === 'kubectl-sojourn' ? 'kubectl sojourn' : 'sojourn',
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  env: process.env,
  now: () => Date.now(),
  isTerminal: process.stdout.isTTY,
  isErrTerminal: process.stderr.isTTY,
  colours: process.stdout.isTTY && !process.env.NO_COLOR && process.env.TERM !== 'dumb',
  // Getters, because a terminal may be resized; some report no size.
  get width() {
    return process.stdout.columns || 120
  },
  get height() {
    return process.stdout.rows || 50
  },
  signal: stop.signal,
})

// Flush before exiting: a pipe accepts only so much at once.
for (const stream of [process.stdout, process.stderr])
  await new Promise<void>((resolve) => stream.write('', () => resolve()))
if (writeError && writeError.code !== 'EPIPE')
  process.stderr.write(`sojourn: the output cannot be written: ${writeError.message}\n`)
// Open connections must not keep the process alive.
process.exit(writeError ? (writeError.code === 'EPIPE' ? 0 : 1) : code)
