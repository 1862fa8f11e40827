import { judged, type Judgement } from '../runtime/judgement.ts'
import { measureCrowd } from './crowd.ts'
import { measureEntries } from './entries.ts'

const entries = Number(process.env['ENTRIES'] ?? 1_000_000)
const cleaners = Number(process.env['CLEANERS'] ?? 100_000)

const megabytes = measureEntries(entries) / 1e6
const crowd = await measureCrowd(cleaners)
const count = cleaners.toLocaleString('en')
const judgements: Judgement[] = [
  judged(`schedule entries of ${entries.toLocaleString('en')} waiting Cleaners, MB`, megabytes, { atMost: 200 }),
  judged(`requests of ${count} waiting Cleaners in 10 s`, crowd.idleRequests, { atMost: 0 }),
  judged(`writes when a cleaner of ${count} starts anew`, crowd.restartWrites, { atMost: 0 }),
  judged(`${count} that expire in one second: still there in the end`, crowd.left, { atMost: 0 }),
  judged('  all gone, with their targets, after, s', crowd.totalMs / 1000, { atMost: 25 }),
  judged('  first deletion after, s', crowd.firstMs / 1000, { atMost: 1 }),
  judged('  objects on records, of two for each', crowd.recorded, { atLeast: 2 * cleaners }),
  judged('  a write of another client meanwhile, p99, ms', crowd.bystander.p99, { atMost: 100 }),
  judged('  growth of the process, MB', crowd.growthMb, { atMost: 200 }),
]
console.table({
  'first look at all, s': seconds(crowd.firstLookMs),
  'start anew until all are looked at, s': seconds(crowd.restartMs),
  'all gone after, s': seconds(crowd.totalMs),
  'gone per second': Math.round(cleaners / (crowd.totalMs / 1000)),
  'processor time, s': seconds(crowd.cpuMs),
  'requests for each': Math.round(crowd.requestsEach * 100) / 100,
  'lateness p50, s': seconds(crowd.lateness.p50),
  'lateness p99, s': seconds(crowd.lateness.p99),
  'longest pause of the event loop, ms': Math.round(crowd.longestPauseMs),
})
console.table(judgements.map(({ what, measured, wanted, holds }) => ({ what, measured, wanted, holds })))
process.exit(judgements.every(({ holds }) => holds) ? 0 : 1)

function seconds(ms: number): number {
  return Math.round(ms / 10) / 100
}
