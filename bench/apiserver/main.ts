import { whyUnavailable } from '../../scripts/reference-cluster/tools.ts'
import { fill, seed, throughput, type Operation } from './load.ts'
import { residentMb, startOurs, startTheirs, type Target } from './target.ts'
import { eventLatency, fanOut } from './watching.ts'

// Both servers run all the time and rounds are interleaved, so that a busy machine hurts both alike; the best of each counts.
const rounds = Number(process.env['ROUNDS'] ?? 3)
const spanMs = Number(process.env['SPAN_MS'] ?? 2000)
const objects = Number(process.env['OBJECTS'] ?? 100_000)
const watchers = Number(process.env['WATCHERS'] ?? 1000)

interface Row {
  readonly what: string
  readonly unit: string
  /** Our figure over theirs must be at least, or at most, this. */
  readonly bound: { readonly atLeast: number } | { readonly atMost: number }
  readonly ours: number
  readonly theirs: number
}

const missing = await whyUnavailable('etcd', 'kube-apiserver')
if (missing) {
  console.error(`SKIPPED apiserver: ${missing}`)
  process.exit(0)
}
const rows: Row[] = []
{
  await using ours = await startOurs()
  await using theirs = await startTheirs()
  const pair = [ours, theirs] as const
  rows.push({
    what: 'start to ready',
    unit: 'ms',
    bound: { atMost: 1 / 3 },
    ours: ours.readyMs,
    theirs: theirs.readyMs,
  })
  for (const target of pair) await seed(target)
  for (const operation of ['create', 'get', 'list'] as const)
    for (const clients of [1, 16, 64]) rows.push(await measureThroughput(pair, operation, clients))
  rows.push(
    await interleaved(pair, { what: 'create to watch event, p50', unit: 'ms', bound: { atMost: 0.5 } }, (target) =>
      eventLatency(target, 200),
    ),
  )
  rows.push(
    await interleaved(pair, { what: `one event to ${watchers} watchers`, unit: 'ms', bound: { atMost: 1 } }, (target) =>
      fanOut(target, watchers),
    ),
  )
  for (const target of pair) await timed(`${target.name}: ${objects} objects`, () => fill(target, objects))
  rows.push({
    what: `memory with ${objects} objects`,
    unit: 'MB',
    bound: { atMost: 0.5 },
    ours: residentMb(ours),
    theirs: residentMb(theirs),
  })
}
print(rows)
process.exitCode = rows.every(holds) ? 0 : 1

function measureThroughput(pair: readonly [Target, Target], operation: Operation, clients: number): Promise<Row> {
  const bound = { atLeast: operation === 'create' ? 2 : 1 }
  const what = `${operation}s, ${clients} client${clients === 1 ? '' : 's'}`
  return interleaved(pair, { what, unit: '1/s', bound }, (target) => throughput(target, { operation, clients, spanMs }))
}

async function interleaved(
  [ours, theirs]: readonly [Target, Target],
  row: Omit<Row, 'ours' | 'theirs'>,
  measure: (target: Target) => Promise<number>,
): Promise<Row> {
  const figures: [number, number][] = []
  for (let round = 0; round < rounds; round++) figures.push([await measure(ours), await measure(theirs)])
  const best = 'atLeast' in row.bound ? Math.max : Math.min
  const result = {
    ...row,
    ours: best(...figures.map(([mine]) => mine)),
    theirs: best(...figures.map(([, other]) => other)),
  }
  console.error(line(result))
  return result
}

async function timed(what: string, work: () => Promise<void>): Promise<void> {
  const startedAt = performance.now()
  await work()
  console.error(`${what} in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`)
}

function holds({ bound, ours, theirs }: Row): boolean {
  const ratio = ours / theirs
  return 'atLeast' in bound ? ratio >= bound.atLeast : ratio <= bound.atMost
}

function print(all: readonly Row[]): void {
  console.log(['what', 'unit', 'sojourn', 'kube-apiserver + etcd', 'ratio', 'bound', 'holds'].join(' | '))
  for (const row of all) console.log(line(row))
}

function line(row: Row): string {
  const { what, unit, ours, theirs, bound } = row
  const wanted = 'atLeast' in bound ? `≥ ${bound.atLeast}` : `≤ ${bound.atMost.toFixed(2)}`
  return [what, unit, shown(ours), shown(theirs), (ours / theirs).toFixed(2), wanted, holds(row) ? 'yes' : 'NO'].join(
    ' | ',
  )
}

function shown(figure: number): string {
  return figure >= 100 ? figure.toFixed(0) : figure.toFixed(2)
}
