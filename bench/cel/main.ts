import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Unavailable, buildGo } from '../../scripts/reference-cluster/go-build.ts'
import { cases, now, variables } from './cases.ts'
import { engines } from './engines.ts'
import type { Figures } from './measure-engine.ts'

// Rounds are interleaved, so that a busy machine hurts every engine alike; the best of each counts.
const rounds = Number(process.env['ROUNDS'] ?? 3)
const spanMs = Number(process.env['SPAN_MS'] ?? 250)

type Table = Record<string, Record<string, Figures>>

const goPeer = 'cel-go'
const peers: Record<string, () => Promise<Record<string, Figures>>> = Object.fromEntries(
  Object.keys(engines).map((name) => [name, () => measureNode(name)]),
)
const binary = await goBinary()
if (binary) peers[goPeer] = () => measureGo(binary)

const table: Table = {}
for (let round = 1; round <= rounds; round++) {
  for (const [name, measure] of Object.entries(peers)) {
    console.error(`round ${round} of ${rounds}: ${name}`)
    table[name] = merged(table[name] ?? {}, await measure())
  }
}
print('evaluate', ({ evalNs }) => evalNs)
print('compile', ({ compileNs }) => compileNs)
judge()
await printHostile()

async function measureNode(name: string): Promise<Record<string, Figures>> {
  const script = join(import.meta.dirname, 'measure-engine.ts')
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [script, name, String(spanMs)])
  if (stderr) console.error(stderr.trim())
  return JSON.parse(stdout) as Record<string, Figures>
}

async function goBinary(): Promise<string | undefined> {
  const output = join(import.meta.dirname, '../peers/.cache/cel-go')
  try {
    await buildGo({ module: join(import.meta.dirname, '../peers/cel-go'), package: '.', output })
    return output
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error
    console.error(`SKIPPED cel-go: ${error.message}`)
    return undefined
  }
}

async function measureGo(path: string): Promise<Record<string, Figures>> {
  const running = promisify(execFile)(path, [], { maxBuffer: 1 << 24 })
  running.child.stdin?.end(JSON.stringify({ now, vars: variables(), millis: spanMs, cases }))
  return JSON.parse((await running).stdout) as Record<string, Figures>
}

/** The hostile corpus with the default budget: how long the worst of them holds the event loop. */
async function printHostile(): Promise<void> {
  const { stdout } = await promisify(execFile)(process.execPath, [join(import.meta.dirname, 'hostile.ts')])
  const rows = JSON.parse(stdout) as { readonly name: string; readonly ms: number }[]
  const slowest = rows.slice(0, 3).map(({ name, ms }) => `${name} ${ms.toFixed(0)} ms`)
  console.log(`${rows.length} hostile expressions, default budget, slowest: ${slowest.join('; ')}`)
}

function merged(a: Record<string, Figures>, b: Record<string, Figures>): Record<string, Figures> {
  const least = (x: number | undefined, y: number): number => Math.min(x ?? y, y)
  const entries = Object.entries(b).map(([name, figures]): [string, Figures] => [
    name,
    {
      compileNs: least(a[name]?.compileNs, figures.compileNs),
      evalNs: least(a[name]?.evalNs, figures.evalNs),
      ...(figures.limitedNs === undefined ? {} : { limitedNs: least(a[name]?.limitedNs, figures.limitedNs) }),
    },
  ])
  return { ...a, ...Object.fromEntries(entries) }
}

/** One table: time per operation, and in brackets how many times slower than ours. */
function print(title: string, of: (figures: Figures) => number): void {
  const rows = cases.map(({ name }) => {
    const ours = table['sojourn']?.[name]
    const cells = Object.keys(peers).map((peer): [string, string] => {
      const figures = table[peer]?.[name]
      return [peer, figures && ours ? `${time(of(figures))} (${(of(figures) / of(ours)).toFixed(2)})` : 'fails']
    })
    return { [title]: name, ...Object.fromEntries(cells) }
  })
  console.table(rows)
}

function time(ns: number): string {
  if (ns < 1000) return `${ns.toFixed(0)} ns`
  return ns < 1e6 ? `${(ns / 1000).toFixed(1)} µs` : `${(ns / 1e6).toFixed(2)} ms`
}

/** What must hold: the other engine takes at least so many times as long as ours. */
function judge(): void {
  const seed = 'seed, 200 revisions'
  const demands: readonly [string, string, number][] = [
    ['@marcbachmann/cel-js', seed, 2],
    ['@bufbuild/cel', seed, 10],
    [goPeer, seed, 2],
    [goPeer, 'a.b.c == "x"', 1],
  ]
  for (const [peer, name, least] of demands) {
    const [ours, theirs] = [table['sojourn']?.[name]?.evalNs, table[peer]?.[name]?.evalNs]
    if (ours === undefined || theirs === undefined) {
      console.log(`SKIPPED ${name}: no figure for ${peer}`)
      continue
    }
    const holds = theirs / ours >= least
    if (!holds) process.exitCode = 1
    console.log(`${holds ? 'holds' : 'FAILS'}: ${name} ${(theirs / ours).toFixed(2)} × ${peer}, at least ${least} ×`)
  }
}
