import { setTimeout } from 'node:timers/promises'
import { cleaner } from '../../src/apis/cleaner.ts'
import { departure, type Departure } from '../../src/apis/departure.ts'
import { Client } from '../../src/client/client.ts'
import { loadKubeconfig } from '../../src/client/kubeconfig.ts'
import { networkTransport } from '../../src/client/network-transport.ts'
import { readPages } from '../../src/departures/records/pages.ts'
import { configMaps } from '../../src/kube/core-types.ts'
import { KillableServer } from '../../test/kills/killable-server.ts'

export interface KilledFigures {
  /** How many Cleaners were left at each kill. */
  readonly leftAtKills: readonly number[]
  /** Cleaners and targets in the end. */
  readonly left: number
  /** Objects that records hold, and how often more than one holds the same. */
  readonly recorded: number
  readonly twice: number
}

const namespace = 'default'

/** So many Cleaners with a target each that expire in one second on `sojourn up`, which is killed with SIGKILL each time a share of them is left. */
export async function measureKilled(count: number, shares: readonly number[]): Promise<KilledFigures> {
  await using server = new KillableServer('api,cleaner')
  let connection = await start(server)
  const dueAt = await fill(connection.client, count)
  await setTimeout(dueAt - Date.now())
  const leftAtKills: number[] = []
  for (const share of shares) {
    await until(() => countOf(connection.client), count * share)
    await server.kill()
    connection.close()
    connection = await start(server)
    leftAtKills.push(await countOf(connection.client))
  }
  const { client } = connection
  const left = async () => {
    const { items } = await client.list(configMaps, { namespace, metadataOnly: true, labelSelector: 'bench=killed' })
    return (await countOf(client)) + items.length
  }
  await until(left, 0)
  const uids: string[] = []
  for await (const { items } of client.listAll<Departure>(departure.type, {
    namespace,
    labelSelector: '!sojourn.dev/page',
  }))
    for (const record of items) {
      if (record.status?.phase === 'Abandoned') continue
      uids.push(record.spec.object.uid)
      for await (const { uid } of readPages(client, record)) uids.push(uid)
    }
  const recorded = new Set(uids).size
  const figures = { leftAtKills, left: await left(), recorded, twice: uids.length - recorded }
  connection.close()
  return figures
}

async function start(server: KillableServer) {
  await server.start()
  const network = networkTransport(loadKubeconfig([server.kubeconfig], { now: () => Date.now(), env: {} }), {})
  return { client: new Client(network.transport), close: () => network.close() }
}

/** Creates them. When they are due. */
async function fill(client: Client, count: number): Promise<number> {
  const dueAt = Math.ceil((Date.now() + 15_000 + count * 10) / 1000) * 1000
  const names = Array.from({ length: count }, (_, index) => `killed-${index}`).values()
  const work = async () => {
    for (const name of names) {
      const metadata = { name, namespace, labels: { bench: 'killed' } }
      await client.create(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata })
      const reference = { version: 'v1', kind: 'configmap', name }
      const targets = [{ name: 'it', reference, delete: true, includeWhenEvaluating: false }]
      // It counts from the creation, which the server notes in whole seconds.
      const spec = { ttl: `${Math.max(1, Math.ceil((dueAt - Date.now()) / 1000))}s`, targets }
      await client.create(cleaner.type, {
        apiVersion: cleaner.apiVersion,
        kind: cleaner.kind,
        metadata: { name, namespace },
        spec,
      })
    }
  }
  await Promise.all(Array.from({ length: 16 }, work))
  if (Date.now() > dueAt) throw new Error('this machine needs too long to create them')
  return dueAt
}

/** A cheap question: the list itself would take longer than the deletions. */
async function countOf(client: Client): Promise<number> {
  const { items, metadata } = await client.list(cleaner.type, { namespace, metadataOnly: true, limit: 1 })
  return items.length + (metadata.remainingItemCount ?? 0)
}

/** Waits until no more than this many are left, at most three minutes. */
async function until(left: () => Promise<number>, atMost: number): Promise<void> {
  const deadline = Date.now() + 180_000
  while ((await left()) > atMost && Date.now() < deadline) await setTimeout(1)
}
