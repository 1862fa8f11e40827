import { endpointSlices } from '../../../kube/core-types.ts'
import { describe, expect, it } from 'vitest'
import { startTestServer } from '../../../../test/apiserver/test-server.ts'
import { systemClock } from '../../../runtime/time/clock.ts'
import type { Peers, DrainReport } from '../replicas/peers.ts'
import { singleReplica } from '../replicas/peers.ts'
import { cell } from '../proxy/routing/counters.ts'
import type { TargetLoad } from '../proxy/planes/data-plane.ts'
import { SilentDataPlane } from '../proxy/planes/silent-data-plane.ts'
import type { Publisher } from '../feed/publisher.ts'
import type { OnDemandService } from '../model/service-registry.ts'
import { eventually, roundTrip, startEcho } from '../../../../test/activator/proxy.ts'
import { startFakeCluster, startReplica } from '../../../../test/activator/cluster.ts'
import { sleepWithoutLoss } from './two-phase-sleep.ts'
import { UsageTracker } from '../decision/usage.ts'

const now = 1_000_000
const idle: DrainReport = { busy: 0, waiting: 0, idleMs: 900_000 }
const web = { id: 'shop/web', settings: { scaling: { ttlMs: 60_000 } } } as OnDemandService

interface Given {
  readonly load?: TargetLoad
  readonly reports?: readonly DrainReport[] | Error
  /** Happens while the other replicas are asked. */
  readonly meanwhile?: (cells: Int32Array) => void
  readonly before?: (cells: Int32Array) => void
  /** What is left once it is written. */
  readonly leaves?: 'asleep' | 'reduced'
}

/** Attempts a sleep of what was last used long ago, and tells what came of it. */
async function attempt({
  load = { busy: 0, waiting: 0 },
  reports = [idle],
  meanwhile,
  before,
  leaves = 'asleep',
}: Given) {
  const told: string[] = []
  class Plane extends SilentDataPlane {
    override drain(): Promise<TargetLoad> {
      told.push('drained')
      return Promise.resolve(load)
    }
  }
  const plane = new Plane()
  const usage = new UsageTracker(() => plane.counters)
  const cells = plane.counters[0]!.slot(usage.slotOf(web.id, 0))
  before?.(cells)
  const peers: Peers = {
    ...singleReplica(),
    drain: () => {
      meanwhile?.(cells)
      return reports instanceof Error ? Promise.reject(reports) : Promise.resolve(reports)
    },
    release: () => told.push('peers released'),
  }
  const publisher = {
    hold: () => told.push('held'),
    release: () => told.push('released'),
    drain: () => plane.drain(),
  } as unknown as Publisher
  const write = () => {
    told.push('written')
    return Promise.resolve(leaves)
  }
  const parts = { peers, publisher, usage, now: () => now }
  const idleness = { lastUsedAt: 0, minIdleMs: 300_000 }
  const result = await sleepWithoutLoss(parts, [web], idleness, write).catch((error: unknown) => error)
  return { told, result, lastUsedAt: usage.of([web], now).lastUsedAt }
}

describe('a sleep in two phases', () => {
  it('is written when everybody is idle, and only after everybody holds back', async () => {
    const { told, result } = await attempt({})
    expect(result).toBe(true)
    expect(told).toEqual(['held', 'drained', 'written', 'released'])
  })

  it('has everybody go on at once when some pods stay', async () => {
    const { told, result } = await attempt({ leaves: 'reduced' })
    expect(result).toBe(true)
    expect(told).toEqual(['held', 'drained', 'written', 'peers released', 'released'])
  })

  it.each<[string, Given]>([
    ['something is still under way here', { load: { busy: 1, waiting: 0 } }],
    ['someone waits here', { load: { busy: 0, waiting: 1 } }],
    ['it was used since it was judged', { before: (cells) => (cells[cell.started]!++, cells[cell.finished]!++) }],
    ['another replica is busy', { reports: [idle, { ...idle, busy: 1 }] }],
    ['someone waits at another replica', { reports: [{ ...idle, waiting: 1 }] }],
    ['another replica used it lately', { reports: [{ ...idle, idleMs: 59_999 }] }],
    [
      'someone comes while the others are asked',
      { meanwhile: (cells) => (cells[cell.started]!++, cells[cell.waiting]!++) },
    ],
  ])('is not written when %s, and everybody goes on (C54)', async (_, given) => {
    const { told, result } = await attempt(given)
    expect(result).toBe(false)
    expect(told).not.toContain('written')
    expect(told.slice(-2)).toEqual(['peers released', 'released'])
  })

  it('is not written when another replica cannot be asked (C54)', async () => {
    const { told, result } = await attempt({ reports: new Error('no answer') })
    expect(result).toBeInstanceOf(Error)
    expect(told).not.toContain('written')
    expect(told.slice(-2)).toEqual(['peers released', 'released'])
  })

  it('learns from another replica when it was last used', async () => {
    expect((await attempt({ reports: [{ ...idle, idleMs: 5000 }] })).lastUsedAt).toBe(now - 5000)
  })
})

describe('a sleep that leaves some pods', () => {
  it('forwards no request to pods that are being removed', async () => {
    let now = systemClock.now()
    await using server = await startTestServer({ clock: systemClock as never })
    await using cluster = await startFakeCluster(server.transport)
    await using goes = await startEcho()
    await cluster.addApp('web', { 'proxless/ttl-seconds': '1', 'sojourn.dev/min-replicas': '1' }, 2)
    await eventually(() => cluster.starts === 1)
    const { host, port } = goes.address
    const second = await cluster.client.create(endpointSlices, {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: 'web-2', namespace: 'default', labels: { 'kubernetes.io/service-name': 'web' } },
      addressType: 'IPv4',
      endpoints: [{ addresses: [host] }],
      ports: [{ name: 'http', port, protocol: 'TCP' }],
    })
    await using replica = await startReplica(server.transport, { clock: { ...systemClock, now: () => now } })
    await eventually(() => replica.activator.ready && replica.activator.rows().length === 1)
    now += 60_000
    await eventually(() => cluster.history.get('web')?.at(-1) === 1)
    const answer = roundTrip(replica.port, 'GET /held HTTP/1.1\r\nHost: web.test\r\nConnection: close\r\n\r\n')
    await eventually(() => replica.activator.rows()[0]?.waiting === 1)
    const { name, namespace } = second.metadata
    await cluster.client.patch(
      endpointSlices,
      { name, namespace: namespace! },
      { type: 'merge', body: { endpoints: [] } },
    )
    expect(await answer).toContain('200 OK')
    expect(goes.received).toEqual([])
  })
})
