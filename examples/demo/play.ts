import { findEnvironment, keepEnvironment, setPower } from '../../src/app/operations/environments.ts'
import { restoreDeparture } from '../../src/app/operations/restore.ts'
import type { Client } from '../../src/client/client.ts'
import { sleep, systemClock, type Clock } from '../../src/runtime/time/clock.ts'
import { environment } from '../../src/apis/environment.ts'
import { askThrough } from './ask.ts'
import { DemoForge } from './forge.ts'
import {
  demoNamespace,
  eventChannel,
  forgeSecret,
  previewClass,
  previewNamespace,
  readingPace,
  shopDeployment,
  shopDomain,
  shopService,
  shopSettings,
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

interface Scene extends DemoPorts {
  readonly clock: Clock
  readonly pace: Pace
  readonly preview: Preview
  readonly forge: DemoForge
  readonly pause: () => Promise<void>
}

/** Plays the life of one preview environment. However it ends, only the departure records remain. */
export async function playDemo(options: DemoPorts): Promise<void> {
  const { client, tell, signal, pace = readingPace } = options
  const clock = systemClock
  const preview = new Preview(client, clock)
  // Disposed last: Sojourn may read the pull request until the environment is deleted.
  await using forge = await DemoForge.start({ name: 'shop.txt', text: 'blue\n' }, clock)
  const scene: Scene = {
    ...options,
    clock,
    pace,
    preview,
    forge,
    pause: () => sleep(clock, pace.readingMs, signal),
  }
  if (await preview.hasBegun()) {
    tell('line', 'An earlier demo was interrupted: deleting it first.')
    await preview.end()
  }
  try {
    await create(scene)
    await fallAsleep(scene)
    await wake(scene)
    await announceAndKeep(scene)
    await closePullRequest(scene)
    await restore(scene)
  } catch (error) {
    if (await preview.hasBegun()) {
      tell('line', signal.aborted ? 'Stopped: deleting everything.' : 'Deleting everything.')
      await preview.end()
      tell('line', 'Only departure records remain.')
    }
    throw error
  }
}

async function create({ preview, forge, tell, shop, pause, signal }: Scene): Promise<void> {
  tell('chapter', 'A pull request gets its environment')
  const pull = forge.propose({ name: 'shop.txt', text: 'green\n' }, 'Paint the shop green')
  // The class first: an interrupted demo is recognised by it.
  await preview.apply(previewClass(new URL(forge.url).host), eventChannel, forgeSecret(forge.credentials))
  // An owner gets one notice a day: each demo has an owner of its own.
  const owner = `ada@team-${new URL(forge.url).port}.example.org`
  await preview.apply(previewNamespace(pull, owner), shopDeployment(shop), shopService, shopSettings)
  tell('line', 'An EnvironmentClass says: sleep after 30 minutes without a request, delete after 7 days without use,')
  tell('line', 'warn the owner a day before, delete when the pull request is closed.')
  tell(
    'line',
    `CI creates Namespace ${demoNamespace} with a label, its owner and the pull request, and deploys a shop.`,
  )
  const { status } = await preview.untilStatus('the environment was awake', ({ power }) => power === 'Awake', signal)
  tell('line', `It is an environment now: ${status?.phase}, owner ${status?.owner}. In another terminal:`)
  tell('command', 'sojourn env -w')
  await preview.until('the proxy knew the shop', () => preview.isOnDemand(), signal)
  const comment = await preview.until('there was a comment', async () => forge.comments[0], signal)
  tell('line', `A comment on pull request 1 of the demo's forge says so, and is edited from now on:`)
  tell('line', `| ${firstLineOf(comment)}`)
  await pause()
}

async function fallAsleep({ client, preview, clock, tell, pause, signal }: Scene): Promise<void> {
  tell('chapter', 'It sleeps')
  tell('line', 'The class waits 30 minutes without a request; this does it now:')
  tell('command', `sojourn sleep ${demoNamespace}`)
  const now = clock.now()
  await setPower(client, await findEnvironment(client, demoNamespace), { power: 'Asleep', until: now + 3_600_000, now })
  await preview.until('the shop slept', async () => (await preview.shopPods()) === 0, signal)
  await preview.untilStatus('the environment was asleep', ({ power }) => power === 'Asleep', signal)
  tell('line', 'Asleep: no process runs; its address still answers.')
  await pause()
}

async function wake({ preview, tell, clock, proxy, pause, signal }: Scene): Promise<void> {
  const ask = async () => {
    const askedAt = clock.monotonic()
    const { status, body } = await askThrough(proxy, shopDomain, signal)
    if (status !== 200)
      throw new DemoError(`the shop answered ${status}: does this "sojourn up" run the role workloads?`)
    return { took: `${Math.round(clock.monotonic() - askedAt)} ms`, said: `${status} ${body.trim()}` }
  }
  tell('chapter', 'A request wakes it')
  tell('command', `curl -H 'Host: ${shopDomain}' ${proxy}`)
  const cold = await ask()
  tell('line', `${cold.said} (after ${cold.took}: the process was started first)`)
  const warm = await ask()
  tell('line', `${warm.said} (after ${warm.took}: it is awake)`)
  await preview.untilStatus('the environment was awake', ({ power }) => power === 'Awake', signal)
  await pause()
}

async function announceAndKeep(scene: Scene): Promise<void> {
  const { client, preview, forge, clock, tell, pace, pause, signal } = scene
  const host = new URL(forge.url).host
  tell('chapter', 'Its owner is told before it is deleted, and keeps it')
  const seconds = `${pace.warnSeconds}s`
  tell('line', `A week without use is long: for this chapter the class says after: ${seconds}, warnBefore: ${seconds}.`)
  await preview.apply(previewClass(host, { after: seconds, warnBefore: seconds }))
  const told = ({ announcement }: { readonly announcement?: { readonly toldAt?: string } }) => announcement?.toldAt
  const announced = await preview.untilStatus('the owner was told', told, signal)
  tell('line', `${announced.status?.owner} is told (here by an Event; by mail, Slack or webhook in a cluster):`)
  tell('line', `| ${announced.status?.message}`)
  await pause()
  tell('line', 'The owner needs it longer; the link in the notice does the same without an account:')
  tell('command', `sojourn keep ${demoNamespace}`)
  const { until } = await keepEnvironment(client, announced, { forMs: undefined, now: clock.now() })
  const kept = ({ deletesAt }: { readonly deletesAt?: string }) => Date.parse(deletesAt ?? '') >= until - 1000
  const { status } = await preview.untilStatus('it was kept', kept, signal)
  await preview.apply(previewClass(host))
  tell('line', `It stays until ${status?.deletesAt}.`)
  await pause()
}

async function closePullRequest({ client, preview, forge, tell, pause, signal }: Scene): Promise<void> {
  tell('chapter', 'The pull request is closed, and the environment is deleted')
  const { metadata } = await findEnvironment(client, demoNamespace)
  const { namespace = '', name } = metadata
  await client.patch(environment.type, { namespace, name }, { type: 'merge', body: { spec: { keepUntil: null } } })
  forge.setAll('closed')
  tell('line', 'The keep is taken back and the pull request is closed. Sojourn reads it once a minute. Waiting…')
  await preview.until('the namespace was deleted', async () => !(await preview.isHere()), signal)
  const record = await preview.until('there was a record', () => preview.record(), signal)
  tell('line', `Deleted, with ${record.spec.takes ?? 0} objects that it contained, because: ${record.spec.because}.`)
  const said = await preview.until('the comment said so', async () => /restore/.test(forge.comments[0] ?? ''), signal)
  if (said) tell('line', `The comment says how to get it back.`)
  await pause()
}

async function restore({ client, preview, forge, clock, tell, pause, signal }: Scene): Promise<void> {
  tell('chapter', 'The pull request is reopened, and the environment restored')
  forge.setAll('open')
  const record = await preview.record()
  if (!record) throw new Error('the environment was deleted without a departure record')
  const { namespace = '', name } = record.metadata
  tell('command', `sojourn restore ${name}`)
  await restoreDeparture(client, { namespace, name }, { now: clock.now() })
  await preview.untilStatus('it was back', ({ phase }) => phase === 'Asleep', signal)
  tell('line', `It is back, asleep, ${(await preview.hasSettings()) ? 'with' : 'without'} everything that was in it.`)
  await pause()

  tell('chapter', 'The demo deletes what it created')
  await preview.end()
  tell('line', 'Only departure records remain:')
  tell('command', 'sojourn departures -A')
  tell('line', 'What its sleep and its deletion saved is counted within a minute:')
  tell('command', 'sojourn savings')
}

/** The first line of a comment that says something, without Markdown. */
function firstLineOf(comment: string): string {
  const lines = comment.split('\n').map((line) => line.replaceAll(/[*`#|]|<!--.*?-->/g, '').trim())
  return lines.find((line) => line !== '') ?? ''
}
