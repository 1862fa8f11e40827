// npm run test:all [-- --ci] [--at-once N] [LANE …]: runs the lanes, goes on when one fails, and prints one table.
import { spawn } from 'node:child_process'
import { lanes, type Lane } from './lanes.ts'

const words = process.argv.slice(2)
const [, atOnce = '1'] = /--at-once[ =](\d+)/.exec(words.join(' ')) ?? []
const named = words.filter((word) => !word.startsWith('--') && word !== atOnce)
const isChosen = ({ script, isInCi }: Lane) =>
  named.length > 0 ? named.includes(script) : isInCi || !words.includes('--ci')

const rows: { lane: string; result: string; seconds: number }[] = []
const failures: string[] = []
const waiting = lanes.filter(isChosen)
await Promise.all(Array.from({ length: Number(atOnce) }, runAll))

// Again at the end, where the reader of a log of an hour looks first.
for (const failure of failures) console.log(`\n${failure}`)
console.table(rows)
console.log(`lanes: ${rows.length - failures.length} passed, ${failures.length} failed`)
process.exitCode = rows.length === 0 || failures.length > 0 ? 1 : 0

async function runAll(): Promise<void> {
  while (waiting.length > 0) await runNext()
}

async function runNext(): Promise<void> {
  const lane = waiting.shift()
  if (!lane) return
  const title = `=== npm run ${lane.script}${lane.needs ? ` (needs ${lane.needs})` : ''}`
  console.log(`\n${title}`)
  const startedAt = Date.now()
  const { status, text } = await run(lane)
  if (Number(atOnce) > 1) process.stdout.write(`\n${title}: its output\n${text}`)
  const seconds = Math.round((Date.now() - startedAt) / 1000)
  rows.push({ lane: lane.script, result: status === 0 ? 'passed' : `failed (${status})`, seconds })
  if (status !== 0) failures.push(`=== npm run ${lane.script}\n${whatFailed(text)}`)
}

/** Shows a lane's output while it runs, unless others run beside it, and returns it. */
function run(lane: Lane): Promise<{ status: number; text: string }> {
  // A value that is set already wins, so that a longer run can be asked for.
  const env = { ...lane.env, ...process.env }
  const child = spawn('npm', ['run', '--silent', lane.script], { stdio: ['inherit', 'pipe', 'pipe'], env })
  const chunks: Buffer[] = []
  for (const [from, to] of [[child.stdout, process.stdout] as const, [child.stderr, process.stderr] as const])
    from.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      if (Number(atOnce) === 1) to.write(chunk)
    })
  return new Promise((resolve) =>
    child.on('close', (code) => resolve({ status: code ?? 1, text: Buffer.concat(chunks).toString() })),
  )
}

/** What vitest says about the failed tests; the last lines where it is not vitest that failed. */
function whatFailed(text: string): string {
  const lines = text.split('\n')
  const start = lines.findIndex((line) => line.includes('Failed Tests') || line.includes('Failed Suites'))
  return (start === -1 ? lines.slice(-40) : lines.slice(start, start + 200)).join('\n')
}
