import { startOurs, startTheirs, type Target } from '../apiserver/target.ts'
import { collected, fanOut, makeNamespace } from './cluster.ts'

const controllers = ['garbage-collector-controller']
const opened = ['--kube-api-qps=5000', '--kube-api-burst=10000', '--concurrent-gc-syncs=200']

/** Far more than either needs; only a collector that has stopped is given up on. */
const patienceSeconds = 300

/** The same cascade here and in Kubernetes: its collector as it comes, for so many seconds at most, and with its brakes taken off, to the end. */
export async function sideBySide(dependents: number, mostSeconds: number): Promise<void> {
  const theirs = (flags: readonly string[]) => () => startTheirs({ controllerManager: { controllers, flags } })
  console.log(`${dependents} dependents of one owner`)
  const ours = await run(() => startOurs('api,collector'), dependents, patienceSeconds)
  const rate = ours.objects / ours.seconds
  report('sojourn up', ours, { dependents, rate })
  const standard = await run(theirs([]), dependents, mostSeconds)
  report('kube-controller-manager, defaults', standard, { dependents, rate })
  const open = await run(theirs(opened), dependents, patienceSeconds)
  report('kube-controller-manager, QPS 5000', open, { dependents, rate })
}

interface Run {
  readonly seconds: number
  readonly objects: number
}

/** One line: how fast, how many times slower than ours, and whether that is measured to the end or reckoned from a part. */
function report(
  name: string,
  { seconds, objects }: Run,
  ours: { readonly dependents: number; readonly rate: number },
): void {
  const rate = objects / seconds
  const all = ours.dependents / rate
  const note =
    objects > ours.dependents
      ? `all in ${seconds.toFixed(1)} s`
      : `only ${objects} in ${seconds.toFixed(0)} s; all of them at this rate: ${all.toFixed(0)} s`
  const figures = `${rate.toFixed(0).padStart(6)} objects/s  ratio ${(ours.rate / rate).toFixed(1)}`
  console.log(`  ${name.padEnd(36)} ${figures}  (${note})`)
}

/** Fills a fresh server, deletes the owner, and stops the clock when all is gone or the time is up. */
async function run(start: () => Promise<Target>, dependents: number, mostSeconds: number): Promise<Run> {
  await using target = await start()
  await makeNamespace(target)
  await fanOut(target, 'root', dependents)
  // Awaited here: the server must not be stopped before.
  return await collected(target, 'root', dependents + 1, mostSeconds)
}
