import { judged, type Judgement } from '../runtime/judgement.ts'
import { measureCrowd } from './crowd.ts'
import { whyUnavailable } from '../../scripts/reference-cluster/tools.ts'
import { measureEntries } from './entries.ts'
import { measureKilled } from './killed.ts'
import { measureExpiry, type ExpiryFigures } from './side-by-side.ts'

const entries = Number(process.env['ENTRIES'] ?? 1_000_000)
const cleaners = Number(process.env['CLEANERS'] ?? 100_000)
const killed = Number(process.env['KILLED'] ?? 3000)
const jobs = Number(process.env['JOBS'] ?? 1000)
const qps = Number(process.env['QPS'] ?? 50)

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
const dead = await measureKilled(killed, [0.8, 0.5, 0.2])
console.log(`killed with SIGKILL when so many of ${killed} were left: ${dead.leftAtKills.join(', ')}`)
judgements.push(
  judged(`kill -9 thrice while ${killed} expire: Cleaners and targets left in the end`, dead.left, { atMost: 0 }),
  judged('  objects on records, of two for each', dead.recorded, { atLeast: 2 * killed }),
  judged('  objects on more than one record', dead.twice, { atMost: 0 }),
)
judgements.push(...(await besideKubernetes()))
console.table(judgements.map(({ what, measured, wanted, holds }) => ({ what, measured, wanted, holds })))
process.exit(judgements.every(({ holds }) => holds) ? 0 : 1)

/** The same number of finished Jobs, due in one second, on a real kube-apiserver, at the same requests per second. */
async function besideKubernetes(): Promise<readonly Judgement[]> {
  const missing = await whyUnavailable('etcd', 'kube-apiserver', 'kube-controller-manager')
  if (missing) {
    console.warn(`*** SKIPPED: beside kube-controller-manager's TTL-after-finished: ${missing}`)
    return []
  }
  const [theirs, ours] = await measureExpiry(jobs, qps)
  const each = ({ requests, deleted }: ExpiryFigures) => requests / deleted
  console.log(
    `${jobs} finished Jobs that expire in one second on kube-apiserver, ${qps} requests per second and client`,
  )
  console.table(
    [theirs, ours].map((figures) => ({
      by: figures.name,
      'objects deleted': figures.deleted,
      left: figures.left,
      'objects on records': figures.recorded,
      requests: figures.requests,
      'requests per object': Math.round(each(figures) * 100) / 100,
      'all gone after, s': Math.round(figures.seconds * 10) / 10,
    })),
  )
  return [
    judged('Jobs and Cleaners on kube-apiserver: left', ours.left, { atMost: 0 }),
    judged('  requests per deleted object, beside TTL-after-finished', each(ours) / each(theirs), { atMost: 1 }),
    judged('  objects deleted per request, beside TTL-after-finished', each(theirs) / each(ours), { atLeast: 1 }),
  ]
}

function seconds(ms: number): number {
  return Math.round(ms / 10) / 100
}
