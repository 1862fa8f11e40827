import { parse } from 'yaml'
import type { Client } from '../../client/client.ts'
import { parseTime } from '../../kube/time.ts'
import { sleep, systemClock, type Clock } from '../../runtime/time/clock.ts'
import { restoreDeparture } from '../operations/restore.ts'
import { askThrough } from './ask.ts'
import { DemoForge } from './forge.ts'
import {
  demoNamespace,
  eventChannel,
  forgeSecret,
  leftovers,
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

export interface DemoPorts {
  readonly client: Client
  /** Where the activator listens. */
  readonly proxy: string
  /** The program that runs the shop. */
  readonly node: string
  /** Tells the user what happens: a heading, or a line below one. */
  readonly tell: (kind: 'chapter' | 'line' | 'command', text: string) => void
  readonly signal: AbortSignal
  /** Defaults to what people can follow. */
  readonly pace?: Pace
}

type Scene = DemoPorts & { readonly clock: Clock; readonly pace: Pace; readonly pause: () => Promise<void> }

const oldRevision = '1.0.0'
const newRevision = '1.1.0'

/** Plays one preview environment's life, and leaves nothing of it but its record, however it ends. */
export async function playDemo(options: DemoPorts): Promise<void> {
  const { client, tell, signal, pace = readingPace } = options
  const clock = systemClock
  const ports: Scene = { ...options, clock, pace, pause: () => sleep(clock, pace.readingMs, signal) }
  const preview = new Preview(client, clock)
  // Closed last: until the environment has left, the promoter may want to speak to it.
  await using forge = await DemoForge.start(previewFile(oldRevision), clock)
  if (await preview.isHere()) {
    tell('line', 'An earlier demo was not finished: it leaves first.')
    await end(preview)
  }
  try {
    await arrival(preview, ports)
    await promote(preview, forge, ports)
    await callAndSleep(preview, ports)
    await announce(preview, ports)
    await spareOne(preview, ports)
    await leave(preview, ports)
  } catch (error) {
    if (await preview.isHere()) {
      tell('line', signal.aborted ? 'Stopped: taking everything away again.' : 'Taking everything away again.')
      await end(preview)
      tell('line', 'Nothing is left but its record.')
    }
    throw error
  }
}

async function arrival(preview: Preview, { tell, node, pace, pause, signal }: Scene): Promise<void> {
  tell('chapter', 'A preview environment arrives')
  await preview.begin()
  // First of all what takes the rest away again, so that nothing can be left without it.
  await preview.apply(pullRequest('open'), previewCleaner)
  await preview.apply(shopDeployment(node, oldRevision), shopService(pace), ...leftovers, eventChannel(preview.owner))
  tell('line', `Namespace ${demoNamespace} holds a shop for pull request 42: a Deployment and its Service.`)
  tell('line', 'Its Cleaner waits for one condition, in CEL: request.data.state != "open".')
  tell('line', 'In another terminal you can watch all that follows:')
  tell('command', `sojourn status -n ${demoNamespace} -w`)
  await preview.until('the proxy knew the shop', () => preview.isOnDemand(), signal)
  await pause()
}

async function promote(preview: Preview, forge: DemoForge, { tell, node, pause, signal }: Scene): Promise<void> {
  tell('chapter', 'A revision is promoted into it')
  await preview.apply(forgeSecret(forge.credentials), stagingShop(newRevision), shopPipeline(forge.url))
  tell('line', `Staging runs ${newRevision}, the preview ${oldRevision}: so says preview.yaml in a git repository`)
  tell('line', `that this demo serves at ${forge.url}. The Pipeline lets it settle, then:`)
  const pull = await preview.until('there was a pull request', async () => forge.pulls[0], signal)
  tell('line', `pull request ${pull.number}, "${pull.title}", is opened;`)
  await preview.until('the pull request was merged', async () => forge.pulls[0]?.isMerged, signal)
  const { version } = parse(forge.repository.read('main', 'preview.yaml') ?? '') as { readonly version: string }
  tell('line', `merged: preview.yaml on main says version ${version}. What main says is rolled out.`)
  await preview.apply(shopDeployment(node, version))
  await preview.until(
    'the run was complete',
    async () => (await preview.promotion())?.run?.phase === 'Complete',
    signal,
  )
  tell('line', `The preview has ${version} now: the run is complete.`)
  await pause()
}

async function callAndSleep(preview: Preview, { tell, clock, proxy, pace, pause, signal }: Scene): Promise<void> {
  const ask = async () => {
    const askedAt = clock.monotonic()
    const { status, body } = await askThrough(proxy, shopDomain, signal)
    if (status !== 200)
      throw new DemoError(`the shop answered ${status}: does this "sojourn up" run the role workloads?`)
    return { took: `${Math.round(clock.monotonic() - askedAt)} ms`, said: `${status} ${body.trim()}` }
  }
  tell('chapter', 'Somebody calls, and it wakes')
  tell('line', `The shop is asleep: ${await preview.shopPods()} processes. A request comes through the proxy:`)
  tell('command', `curl -H 'Host: ${shopDomain}' ${proxy}`)
  const cold = await ask()
  tell('line', `${cold.said} (after ${cold.took}: the process had to be started first)`)
  const warm = await ask()
  tell('line', `${warm.said} (after ${warm.took}: it is awake now)`)

  tell('chapter', 'Nobody calls, and it sleeps')
  tell('line', `${pace.sleepsAfterSeconds} s after the last request the activator puts it to sleep. Waiting…`)
  await preview.until('the shop slept', async () => (await preview.shopPods()) === 0, signal)
  tell('line', 'Asleep again: its process has ended, its address still answers.')
  await pause()
}

async function announce(preview: Preview, { tell, clock, pace, pause, signal }: Scene): Promise<void> {
  tell('chapter', 'What nobody uses is announced')
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
    tell('line', `configmap/${name} is marked: ${why}. ${owner?.address} is told; it leaves in ${inSeconds} s.`)
  }
  await pause()
}

async function spareOne(preview: Preview, { tell, clock, client, pause, signal }: Scene): Promise<void> {
  tell('chapter', 'One is spared, one leaves, and can come back')
  await preview.apply(screenshotsOptOut(preview.owner))
  tell('line', 'Somebody still wants the screenshots, and opts out, as this command does:')
  tell('command', `sojourn opt-out configmap/screenshots -n ${demoNamespace}`)
  await preview.until('old-report left', async () => !(await preview.hasConfigMap('old-report')), signal)
  const spared = await preview.hasConfigMap('screenshots')
  tell('line', `configmap/old-report has left; configmap/screenshots is ${spared ? 'still here' : 'gone too'}.`)
  await pause()
  const record = await preview.until('there was a record', () => preview.recordOf('ConfigMap', 'old-report'), signal)
  tell('line', 'A record was written before it left. With that it comes back:')
  tell('command', `sojourn restore ${record.metadata.name}`)
  await restoreDeparture(client, { namespace: demoNamespace, name: record.metadata.name }, { now: clock.now() })
  tell('line', `configmap/old-report is ${(await preview.hasConfigMap('old-report')) ? 'here again' : 'not back'}.`)
  await pause()
}

async function leave(preview: Preview, { tell, pause, signal }: Scene): Promise<void> {
  tell('chapter', 'The pull request is merged, and the environment leaves')
  await preview.optIn()
  await preview.merge()
  tell('line', 'The opt-out has ended and the condition is true: the Cleaner takes the namespace, and all it holds.')
  await preview.until('the namespace left', async () => !(await preview.isHere()), signal)
  const record = await preview.recordOf('Namespace', demoNamespace)
  if (!record) throw new Error('the environment left without a record')
  tell('line', `Gone, with ${record.spec.takes ?? 0} objects that it held or owned, all of them in its record.`)
  await pause()

  tell('chapter', 'Nothing is left but its record')
  tell('line', `${record.metadata.name}, by the ${record.spec.by.system}, because: ${record.spec.because}`)
  tell('command', 'sojourn departures -A')
}

/** Lets the environment's own Cleaner take everything away, however far the story got. */
async function end(preview: Preview): Promise<void> {
  await preview.optIn()
  await preview.merge()
  await preview.until('the namespace left', async () => !(await preview.isHere()))
}
