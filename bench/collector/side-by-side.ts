import { startOurs, startTheirs, type Target } from '../apiserver/target.ts'
import { collected, fanOut, makeNamespace } from './cluster.ts'

const controllers = ['garbage-collector-controller']
const opened = ['--kube-api-qps=5000', '--kube-api-burst=10000', '--concurrent-gc-syncs=200']

/** The same cascade here and in Kubernetes: its collector as it comes, and with its brakes taken off. */
export async function sideBySide(dependents: number, mostSeconds: number): Promise<void> {
  const ours = await run(() => startOurs('api,collector'), dependents, mostSeconds)
  const theirs = await run(() => startTheirs({ controllerManager: { controllers } }), dependents, mostSeconds)
  const open = await run(
    () => startTheirs({ controllerManager: { controllers, flags: opened } }),
    dependents,
    mostSeconds,
  )
  for (const [name, { seconds, objects }] of Object.entries({
    'sojourn up': ours,
    'kube-controller-manager, defaults': theirs,
    'kube-controller-manager, QPS 5000': open,
  })) {
    const rate = objects / seconds
    const ratio = ours.objects / ours.seconds / rate
    const note = objects < dependents ? ` (measured for ${Math.round(seconds)} s: ${objects} of ${dependents})` : ''
    console.log(
      `  ${name.padEnd(36)} ${Math.round(rate).toString().padStart(6)} objects/s  ratio ${ratio.toFixed(1)}${note}`,
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
  return collected(target, 'root', dependents + 1, mostSeconds)
}
