import { parse } from 'yaml'
import type { Client } from '../../src/client/client.ts'
import { parseTime } from '../../src/kube/time.ts'
import { sleep, systemClock, type Clock } from '../../src/runtime/time/clock.ts'
import { restoreDeparture } from '../../src/app/operations/restore.ts'
import { askThrough } from './ask.ts'
import { DemoForge } from './forge.ts'
import {
  demoNamespace,
  eventChannel,
  forgeSecret,
  unusedObjects,
  previewCleaner,
  previewFile,
  pullRequest,
  readingPace,
  screenshotsOptOut,
  shopDeployment,
  shopDomain,
  shopPipeline,
  shopService,
  stagingShop,
  unusedPolicy,
  type Pace,
} from './environment.ts'
import { DemoError, Preview } from './preview.ts'

export { DemoError } from './preview.ts'

export interface DemoPorts {
  readonly client: Client
  /** Where the activator listens. */
  readonly proxy: string
  /** The command that serves the shop on PORT. */
  readonly shop: readonly string[]
  /** Prints what happens: a heading, or a line or command below it. */
  readonly tell: (kind: 'chapter' | 'line' | 'command', text: string) => void
  readonly signal: AbortSignal
  /** Defaults to `readingPace`. */
  readonly pace?: Pace
}

type Scene = DemoPorts & { readonly clock: Clock; readonly pace: Pace; readonly pause: () => Promise<void> }

const oldRevision = '1.0.0'
const newRevision = '1.1.0'

/** Plays the life of one preview environment. However it ends, only the departure records remain. */
export async function playDemo(options: DemoPorts): Promise<void> {
  const { client, tell, signal, pace = readingPace } = options
  const clock = systemClock
  const ports: Scene = { ...options, clock, pace, pause: () => sleep(clock, pace.readingMs, signal) }
  const preview = new Preview(client, clock)
  // Disposed last: the promoter may call it until the environment is deleted.
  await using forge = await DemoForge.start(previewFile(oldRevision), clock)
  if (await preview.isHere()) {
    tell('line', 'An earlier demo was interrupted: deleting it first.')
    await end(preview)
  }
  try {
    await create(preview, ports)
    await promote(preview, forge, ports)
    await wakeAndSleep(preview, ports)
    await markUnused(preview, ports)
    await optOutAndRestore(preview, ports)
    await deleteEnvironment(preview, ports)
  } catch (error) {
    if (await preview.isHere()) {
      tell('line', signal.aborted ? 'Stopped: deleting everything.' : 'Deleting everything.')
      await end(preview)
      tell('line', 'Only the departure record remains.')
    }
    throw error
  }
}

async function create(preview: Preview, { tell, shop, pace, pause, signal }: Scene): Promise<void> {
  tell('chapter', 'A preview environment is created')
  await preview.begin()
  // The Cleaner first, so that an interrupted demo can always be deleted.
  await preview.apply(pullRequest('open'), previewCleaner)
  await preview.apply(
    shopDeployment(shop, oldRevision),
    shopService(pace),
    ...unusedObjects,
    eventChannel(preview.owner),
  )
  tell('line', `Namespace ${demoNamespace} holds a shop for pull request 42: a Deployment and its Service.`)
  tell('line', 'Its Cleaner deletes the namespace when this CEL condition is true: request.data.state != "open".')
  tell('line', 'In another terminal, watch what follows:')
  tell('command', `sojourn status -n ${demoNamespace} -w`)
  await preview.until('the proxy knew the shop', () => preview.isOnDemand(), signal)
  await pause()
}

async function promote(preview: Preview, forge: DemoForge, { tell, shop, pause, signal }: Scene): Promise<void> {
  tell('chapter', 'A revision is promoted into it')
  await preview.apply(forgeSecret(forge.credentials), stagingShop(newRevision), shopPipeline(forge.url))
  tell('line', `Staging runs ${newRevision}; the preview runs ${oldRevision}, as preview.yaml says in a git repository`)
  tell('line', `that this demo serves at ${forge.url}. After the quiet period of the Pipeline:`)
  const pull = await preview.until('there was a pull request', async () => forge.pulls[0], signal)
  tell('line', `pull request ${pull.number}, "${pull.title}", is opened;`)
  await preview.until('the pull request was merged', async () => forge.pulls[0]?.isMerged, signal)
  const { version } = parse(forge.repository.read('main', 'preview.yaml') ?? '') as { readonly version: string }
  tell('line', `merged: preview.yaml on main says version ${version}. It is rolled out.`)
  await preview.apply(shopDeployment(shop, version))
  await preview.until(
    'the run was complete',
    async () => (await preview.promotion())?.run?.phase === 'Complete',
    signal,
  )
  tell('line', `The preview runs ${version}: the run is complete.`)
  await pause()
}

async function wakeAndSleep(preview: Preview, { tell, clock, proxy, pace, pause, signal }: Scene): Promise<void> {
  const ask = async () => {
    const askedAt = clock.monotonic()
    const { status, body } = await askThrough(proxy, shopDomain, signal)
    if (status !== 200)
      throw new DemoError(`the shop answered ${status}: does this "sojourn up" run the role workloads?`)
    return { took: `${Math.round(clock.monotonic() - askedAt)} ms`, said: `${status} ${body.trim()}` }
  }
  tell('chapter', 'A request wakes the shop')
  tell('line', `The shop is asleep: ${await preview.shopPods()} processes. A request through the proxy:`)
  tell('command', `curl -H 'Host: ${shopDomain}' ${proxy}`)
  const cold = await ask()
  tell('line', `${cold.said} (after ${cold.took}: the process was started first)`)
  const warm = await ask()
  tell('line', `${warm.said} (after ${warm.took}: it is awake)`)

  tell('chapter', 'Without requests, it sleeps')
  tell('line', `${pace.sleepsAfterSeconds} s after the last request the activator puts it to sleep. Waiting…`)
  await preview.until('the shop slept', async () => (await preview.shopPods()) === 0, signal)
  tell('line', 'Asleep again: its process has ended; its address still answers.')
  await pause()
}

async function markUnused(preview: Preview, { tell, clock, pace, pause, signal }: Scene): Promise<void> {
  tell('chapter', 'Unused objects are marked, and their owner is told')
  await preview.apply(unusedPolicy(preview.owner, pace))
  for (const name of ['old-report', 'screenshots']) {
    const look = async () => {
      const found = await preview.markOn(name)
      return found?.status?.phase === 'Notified' && found.status
    }
    const { summaries, owner, projectedDeletionTime } = await preview.until(`${name} was announced`, look, signal)
    const leavesAt = parseTime(projectedDeletionTime) ?? clock.now()
    const inSeconds = Math.max(0, Math.round((leavesAt - clock.now()) / 1000))
    const why = summaries?.map(({ description }) => description).join('; ')
    tell('line', `configmap/${name} is marked: ${why}. ${owner?.address} is told; it is deleted in ${inSeconds} s.`)
  }
  await pause()
}

async function optOutAndRestore(preview: Preview, { tell, clock, client, pause, signal }: Scene): Promise<void> {
  tell('chapter', 'One is opted out, one is deleted and restored')
  await preview.apply(screenshotsOptOut(preview.owner))
  tell('line', 'The team still needs the screenshots and opts them out, as this command does:')
  tell('command', `sojourn opt-out configmap/screenshots -n ${demoNamespace}`)
  await preview.until('old-report was deleted', async () => !(await preview.hasConfigMap('old-report')), signal)
  const isKept = await preview.hasConfigMap('screenshots')
  tell('line', `configmap/old-report is deleted; configmap/screenshots is ${isKept ? 'kept' : 'deleted too'}.`)
  await pause()
  const record = await preview.until('there was a record', () => preview.recordOf('ConfigMap', 'old-report'), signal)
  tell('line', 'A departure record was written before the deletion. It restores the object:')
  tell('command', `sojourn restore ${record.metadata.name}`)
  await restoreDeparture(client, { namespace: demoNamespace, name: record.metadata.name }, { now: clock.now() })
  tell('line', `configmap/old-report is ${(await preview.hasConfigMap('old-report')) ? 'restored' : 'not restored'}.`)
  await pause()
}

async function deleteEnvironment(preview: Preview, { tell, pause, signal }: Scene): Promise<void> {
  tell('chapter', 'The pull request is merged, and the environment is deleted')
  await preview.optIn()
  await preview.merge()
  tell('line', 'The opt-out has ended and the condition is true: the Cleaner deletes the namespace and its contents.')
  await preview.until('the namespace was deleted', async () => !(await preview.isHere()), signal)
  const record = await preview.recordOf('Namespace', demoNamespace)
  if (!record) throw new Error('the environment was deleted without a departure record')
  tell('line', `Deleted, with ${record.spec.takes ?? 0} objects that it contained or owned, all of them in its record.`)
  await pause()

  tell('chapter', 'Only the departure record remains')
  tell('line', `${record.metadata.name}, by the ${record.spec.by.system}, because: ${record.spec.because}`)
  tell('command', 'sojourn departures -A')
}

/** Has the environment's own Cleaner delete everything, however far the demo got. */
async function end(preview: Preview): Promise<void> {
  await preview.optIn()
  await preview.merge()
  await preview.until('the namespace was deleted', async () => !(await preview.isHere()))
}
