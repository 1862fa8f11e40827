import { KillableServer } from './killable-server.ts'
import { Watcher } from './watcher.ts'
import { Writer } from './writer.ts'

export interface KillReport {
  readonly acknowledged: number
  readonly events: number
  /** Sentences about anything that should not be; empty when all is well. */
  readonly faults: readonly string[]
}

const configMaps = '/api/v1/namespaces/default/configmaps'
/** Watches that hear the same in different ways. */
const watchPaths = [
  `${configMaps}?`,
  `${configMaps}?allowWatchBookmarks=true`,
  `${configMaps}?fieldSelector=metadata.namespace%3Ddefault`,
  `/api/v1/configmaps?allowWatchBookmarks=true&fieldSelector=metadata.namespace%3Ddefault`,
]

/**
 * Kills a server under write load, again and again. Each time every acknowledged write must be there, no revision may go back,
 * and each watcher that goes on where it was cut off must have heard exactly what the log says.
 */
export async function surviveKills({ rounds, random }: { rounds: number; random: () => number }): Promise<KillReport> {
  await using server = new KillableServer()
  await server.start()
  let from = await newestRevision(server)
  const writers = Array.from({ length: 16 }, (_, n) => new Writer(`thing-${n}`, configMaps))
  const watchers = [...watchPaths, ...watchPaths].map((path) => new Watcher(path, from))
  const report = { acknowledged: 0, events: 0, faults: [] as string[] }
  let listening = watchers.map((watcher) => watcher.listen(server))
  for (let round = 0; round < rounds; round++) {
    report.acknowledged += await writeUntilKilled(server, writers, 30 + Math.floor(random() * 200))
    await Promise.all(listening)
    const told = Math.max(from, ...[...watchers, ...writers].map(({ revision }) => revision))
    await server.start()
    listening = watchers.map((watcher) => watcher.listen(server))
    const to = await newestRevision(server)
    const truth = await replay(server, from, watchers)
    const faults = [
      ...(to < told ? [`revision ${told} was told, and ${to} is the newest after the restart`] : []),
      ...(await Promise.all(writers.map((writer) => writer.check(server)))).filter((fault) => fault !== undefined),
      ...roundFaults(truth, { watchers, writers, from }),
    ]
    report.faults.push(...faults.map((fault) => `round ${round}: ${fault}`))
    report.events += truth.length
    from = watchers[0]?.revision ?? from
  }
  await server.kill()
  await Promise.all(listening)
  return report
}

/** Runs all writers until a number of writes is acknowledged, then kills the server while more are in flight. */
async function writeUntilKilled(server: KillableServer, writers: readonly Writer[], enough: number): Promise<number> {
  let count = 0
  let dying: Promise<void> | undefined
  const acknowledged = () => {
    if (++count === enough) dying = server.kill()
  }
  await Promise.all(writers.map((writer) => writer.work(server, acknowledged)))
  await dying
  return count
}

/** Waits until every watcher is up to date again, and gives what the log says that they should have heard. */
async function replay(server: KillableServer, from: number, watchers: readonly Watcher[]): Promise<readonly string[]> {
  const marker = await markNewest(server)
  const witness = new Watcher(`${configMaps}?`, from)
  const reading = witness.listen(server)
  await Promise.all([witness, ...watchers].map((watcher) => watcher.until(marker)))
  witness.stop()
  await reading
  return witness.take()
}

function* roundFaults(
  truth: readonly string[],
  { watchers, writers, from }: { watchers: readonly Watcher[]; writers: readonly Writer[]; from: number },
): Generator<string> {
  const revisions = truth.map((event) => Number(event.split(' ')[0]))
  if (revisions.some((revision, index) => revision <= (revisions[index - 1] ?? from))) yield 'the log is out of order'
  const logged = new Set(revisions)
  for (const { name, revisions: acknowledged } of writers) {
    const missing = acknowledged.splice(0).filter((revision) => !logged.has(revision))
    if (missing.length > 0) yield `${name}: no events for the acknowledged revisions ${missing.join(', ')}`
  }
  for (const [index, watcher] of watchers.entries()) {
    const heard = watcher.take()
    const wrong = truth.findIndex((event, at) => event !== heard[at])
    if (wrong >= 0 || heard.length !== truth.length)
      yield `watcher ${index} heard ${heard.length} events of ${truth.length}; first "${heard[wrong]}" for "${truth[wrong]}"`
  }
}

async function newestRevision(server: KillableServer): Promise<number> {
  const { body } = await server.ask('GET', `${configMaps}?limit=1`)
  return Number((JSON.parse(body) as { metadata: { resourceVersion: string } }).metadata.resourceVersion)
}

/** Writes an object that every watcher hears of last. */
async function markNewest(server: KillableServer): Promise<number> {
  const marker = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'marker-' } }
  const { body } = await server.ask('POST', configMaps, marker)
  return Number((JSON.parse(body) as { metadata: { resourceVersion: string } }).metadata.resourceVersion)
}
