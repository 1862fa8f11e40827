import { startOurs, startTheirs, type Target } from '../apiserver/target.ts'
import { collected, fanOut, makeNamespace } from './cluster.ts'

const controllers = ['garbage-collector-controller']
const opened = ['--kube-api-qps=5000', '--kube-api-burst=10000', '--concurrent-gc-syncs=200']

/** Far more than either needs; only a collector that has stopped is given up on. */
const patienceSeconds = 300

/** The same cascade here and in Kubernetes: its collector as it comes, for so many seconds at most, and with its brakes taken off, to the end. */
export async function sideBySide(dependents: number, mostSeconds: number): Promise<void> {
  const theirs = (flags: readonly string[]) => () => startTheirs({ controllerManager: { controllers, flags } })
  const ours = await run(() => startOurs('api,collector'), dependents, patienceSeconds)
  const standard = await run(theirs([]), dependents, mostSeconds)
  const open = await run(theirs(opened), dependents, patienceSeconds)
  console.log(`${dependents} dependents of one owner`)
  for (const [name, { seconds, objects }] of Object.entries({
    'sojourn up': ours,
    'kube-controller-manager, defaults': standard,
    'kube-controller-manager, QPS 5000': open,
  })) {
    const rate = objects / seconds
    const ratio = ours.objects / ours.seconds / rate
    const note =
      objects > dependents
        ? `all in ${seconds.toFixed(1)} s`
        : `only ${objects} in ${seconds.toFixed(0)} s; all of them at this rate: ${(dependents / rate).toFixed(0)} s`
    console.log(
      `  ${name.padEnd(36)} ${Math.round(rate).toString().padStart(6)} objects/s  ratio ${ratio.toFixed(1)}  (${note})`,
    )
  }
}

/** Fills a fresh server, deletes the owner, and stops the clock when all is gone or the time is up. */
async function run(
  start: () => Promise<Target>,
  dependents: number,
  mostSeconds: number,
): Promise<{ readonly seconds: number; readonly objects: number }> {
  await using target = await start()
  await makeNamespace(target)
  await fanOut(target, 'root', dependents)
  // Awaited here: the server must not be stopped before.
  return await collected(target, 'root', dependents + 1, mostSeconds)
}
