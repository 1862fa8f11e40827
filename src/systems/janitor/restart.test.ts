import { events } from '../../kube/core-types.ts'
import { describe, expect, it } from 'vitest'
import { startWorld, type World } from '../../../test/world.ts'
import { cleanupCandidate, type CleanupCandidate } from '../../apis/cleanup-candidate.ts'
import { departure, type Departure } from '../../apis/departure.ts'
import { Client } from '../../client/client.ts'
import { TransportError } from '../../client/transport-error.ts'
import type { Transport } from '../../kube/transport.ts'
import { parseTime } from '../../kube/time.ts'
import { Clusters } from '../../runtime/clusters/clusters.ts'
import { Informers } from '../../runtime/cache/informers.ts'
import { quietClock } from '../../runtime/time/quiet-clock.ts'
import { createJanitor } from './janitor.ts'
import { localNetwork } from '../../../test/local-network.ts'

const hour = 3_600_000
const minute = 60_000

/** A janitor of its own on a world, until it is stopped like a process. */
function run({ clock, ports, door, events: recorder }: World, client: Client, identity: string): () => Promise<void> {
  const { log } = ports
  const informers = new Informers({ clock: quietClock(clock), log })
  const clusters = new Clusters({ home: client, informers, clock, log, connect: () => client })
  const janitor = createJanitor({
    client,
    informers,
    door,
    events: recorder,
    ports,
    cluster: (name) => clusters.client(name),
    network: localNetwork(),
    identity,
    publicUrl: () => 'https://sojourn.example',
  })
  const stop = new AbortController()
  const running = janitor.controllers.map((controller) => controller.start(stop.signal))
  return async () => {
    stop.abort()
    await Promise.allSettled(running)
    janitor.close()
    clusters.close()
    informers.close()
  }
}

async function prepare(world: World): Promise<void> {
  const ours = { apiVersion: 'sojourn.dev/v1alpha1' }
  await world.create({ ...ours, kind: 'NotificationChannel', metadata: { name: 'events' }, spec: { type: 'event' } })
  await world.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'one', namespace: 'team' } })
  await world.create({
    ...ours,
    kind: 'CleanupPolicy',
    metadata: { name: 'tidy' },
    spec: {
      interval: '1h',
      minAge: '0',
      targets: [{ kubernetes: { resources: [{ kind: 'ConfigMap' }], namespaces: { include: ['team'] } } }],
      rules: [{ rules: [{ name: 'AttributeRule', parameters: { name: 'one' } }] }],
      retention: { duration: '30m' },
      notification: { channels: ['events'] },
    },
  })
}

/** A way to the server that is cut after so many writes. */
function mortal(
  transport: Transport,
  lives: number,
): { readonly transport: Transport; readonly isDead: () => boolean } {
  let left = lives
  return {
    isDead: () => left <= 0,
    async transport(request) {
      if (left <= 0) throw new TransportError('this process is dead')
      const answer = await transport(request)
      if (request.method !== 'GET') left--
      return answer
    },
  }
}

describe('a janitor that crashes after any of its writes', () => {
  it.each(Array.from({ length: 24 }, (_, index) => index + 1))(
    'E15: is replaced by one that comes to the same end: %i',
    async (lives) => {
      await using world = await startWorld()
      await prepare(world)
      const { transport, isDead } = mortal(world.server.transport, lives)
      const bury = run(world, new Client(transport), 'one')
      for (let minutes = 0; !isDead() && minutes < 60; minutes++) await world.pass(minute)
      await bury()
      const stop = run(world, world.client, 'two')
      await world.pass(4 * hour)
      await stop()

      const { client } = world
      const marks = await client.list<CleanupCandidate>(cleanupCandidate.type)
      expect(marks.items.map(({ status }) => status?.phase)).toEqual(['Deleted'])
      const { items } = await client.list<Departure>(departure.type)
      expect(items.map(({ spec }) => spec.object.name)).toEqual(['one'])
      const leftAt = parseTime(items[0]?.metadata.creationTimestamp) ?? 0
      expect(leftAt).toBeGreaterThanOrEqual(parseTime(marks.items[0]?.status?.promisedTime) ?? Infinity)
      const told = await client.list<{ reason: string; metadata: { name: string } }>(events, { namespace: 'team' })
      expect(told.items.filter(({ reason }) => reason === 'CleanupScheduled')).not.toEqual([])
    },
  )

  it.each([1, 2, 3, 4, 5, 6])('E16: is succeeded by another within 25 s: %i', async (lives) => {
    await using world = await startWorld()
    await prepare(world)
    const { transport, isDead } = mortal(world.server.transport, lives)
    const bury = run(world, new Client(transport), 'one')
    for (let tries = 0; !isDead() && tries < 100; tries++) await world.pass(100)
    expect(isDead()).toBe(true)
    const stop = run(world, world.client, 'two')
    await world.pass(25_000)
    const { items } = await world.client.list<CleanupCandidate>(cleanupCandidate.type)
    expect(items.map(({ status }) => status?.phase)).toEqual(['Notified'])
    await stop()
    await bury()
  })
})
