import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Unavailable } from '../../scripts/reference-cluster/go-build.ts'
import { whyUnavailable } from '../../scripts/reference-cluster/tools.ts'
import { buildPeer } from '../peers/build-peer.ts'
import { measureInformers } from './informers.ts'
import { measureTimers } from './measure-timers.ts'
import type { OperationFigures, ScheduleFigures } from './measure-schedule.ts'
import { judged, type Judgement } from './judgement.ts'

const entries = Number(process.env['ENTRIES'] ?? 10_000_000)
const objects = Number(process.env['OBJECTS'] ?? 100_000)
const only = new Set((process.env['ONLY'] ?? 'schedule,queue,timers,informer').split(','))

const run = promisify(execFile)
const judgements: Judgement[] = []
if (only.has('schedule')) judgements.push(...(await schedule()))
if (only.has('queue')) judgements.push(...(await queue()))
if (only.has('timers')) judgements.push(...(await measureTimers()))
if (only.has('informer')) judgements.push(...(await informer()))
console.table(judgements.map(({ what, measured, wanted, holds }) => ({ what, measured, wanted, holds })))
if (judgements.some(({ holds }) => !holds)) process.exitCode = 1

async function schedule(): Promise<Judgement[]> {
  const go = await goHeap()
  const ours = await node<ScheduleFigures>('measure-schedule.ts', ['sojourn', String(entries)])
  const heap = await node<ScheduleFigures>('measure-schedule.ts', ['object-heap', String(entries)])
  const { byTheClock: _, ...oursInCpu } = ours
  const { byTheClock: __, ...heapInCpu } = heap
  console.table({
    'sojourn, processor time': oursInCpu,
    'heap of objects, processor time': heapInCpu,
    'sojourn, by the clock': ours.byTheClock,
    ...(go ? { 'Go heap + map, by the clock': go } : {}),
  })
  return [
    judged('schedule: bytes per entry with its key', ours.bytesPerEntry, { atMost: 90 }),
    judged('schedule: adds per second', 1e9 / ours.addNs, { atLeast: 800_000 }),
    judged('schedule: longest full collection, ms', Math.max(ours.fullGcMs, ours.longestPauseMs), { atMost: 50 }),
    judged('schedule: times as fast as a heap of objects', lifeNs(heap) / lifeNs(ours), { atLeast: 2 }),
    ...(go ? [judged('schedule: times as fast as Go', lifeNs(go) / lifeNs(ours.byTheClock), { atLeast: 1 })] : []),
  ]
}

/** What one entry costs over its life: added, moved once, then removed or, as often, popped. */
function lifeNs({ addNs, rescheduleNs, removeNs, popNs }: OperationFigures): number {
  return addNs + rescheduleNs + removeNs / 2 + popNs / 2
}

async function goHeap(): Promise<OperationFigures | undefined> {
  try {
    const { stdout } = await run(await buildPeer('go-heap'), ['-entries', String(entries)])
    return JSON.parse(stdout) as OperationFigures
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error
    console.error(`SKIPPED Go heap: ${error.message}`)
    return undefined
  }
}

async function queue(): Promise<Judgement[]> {
  const { operationsPerSecond } = await node<{ operationsPerSecond: number }>('measure-queue.ts', [])
  return [judged('queue: operations per second', operationsPerSecond, { atLeast: 2_000_000 })]
}

async function informer(): Promise<Judgement[]> {
  const missing = await whyUnavailable('etcd', 'kube-apiserver')
  if (!missing) return measureInformers(objects, node)
  console.error(`SKIPPED informer: ${missing}`)
  return []
}

async function node<T>(script: string, args: readonly string[]): Promise<T> {
  const flags = ['--expose-gc', '--max-old-space-size=8000']
  const { stdout } = await run(process.execPath, [...flags, join(import.meta.dirname, script), ...args])
  return JSON.parse(stdout) as T
}
