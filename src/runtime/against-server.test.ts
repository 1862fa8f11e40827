import { holdLease } from '../../test/runtime/hold-lease.ts'
import { configMaps, events } from '../kube/core-types.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startTestServer, type TestServer } from '../../test/apiserver/test-server.ts'
import { Client } from '../client/client.ts'
import type { StoredObject } from '../kube/object.ts'
import { EventRecorder } from './observability/event-recorder.ts'
import { Informers } from './cache/informers.ts'
import { Lease } from './sharing/lease.ts'
import { silentLogger } from './observability/log.ts'
import { LeaseMembership } from './sharing/lease-membership.ts'
import { VirtualClock } from './time/virtual-clock.ts'

const minute = 60_000

/** The runtime on the embedded API server: what the fakes elsewhere claim about servers must be true of one. */
describe('runtime on the embedded server', () => {
  let clock: VirtualClock
  let server: TestServer
  let client: Client

  beforeEach(async () => {
    clock = new VirtualClock(Date.UTC(2026, 0, 1))
    server = await startTestServer({ clock })
    client = new Client(server.transport)
    await clock.runFor(1000)
  })

  afterEach(() => server.close())

  function configMap(name: string, value: string) {
    return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default', name }, data: { value } }
  }

  it.each([
    ['as a stream', true],
    ['in pages', false],
  ])('follows objects listed %s, through hours of ended watches', async (_, streams) => {
    using informers = new Informers({ clock }, { freeze: true, streams })
    await client.create(configMaps, configMap('a', '1'))
    const informer = informers.open(client, configMaps, { namespace: 'default', fieldSelector: 'metadata.name=a' })
    const changes: string[] = []
    informer.subscribe(({ type, initial, object }) => {
      changes.push(`${type} ${(object.data as { value: string }).value}${initial ? ' initially' : ''}`)
    })
    await clock.runFor(minute)
    expect(informer.synced).toBe(true)
    const stored = informer.get('default', 'a') as StoredObject
    await client.update(configMaps, { ...stored, data: { value: '2' } })
    await clock.runFor(120 * minute)
    await client.deleteObject(configMaps, { namespace: 'default', name: 'a' })
    await clock.runFor(minute)
    expect(changes).toEqual(['added 1 initially', 'modified 2', 'deleted 2'])
    expect(informer.lastError).toBeUndefined()
  })

  it('keeps metadata only when asked to', async () => {
    using informers = new Informers({ clock })
    await client.create(configMaps, configMap('a', '1'))
    const informer = informers.open(client, configMaps, { namespace: 'default', metadataOnly: true })
    await clock.runFor(minute)
    expect(informer.get('default', 'a')).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap' })
    expect(informer.get('default', 'a')).not.toHaveProperty('data')
  })

  it('holds a lease, and elects one leader of two', async () => {
    const stop = new AbortController()
    const ports = { client, clock, log: silentLogger }
    const lease = new Lease({ namespace: 'default', name: 'leader', identity: 'a' }, ports)
    const members = ['a', 'b'].map(
      (identity) => new LeaseMembership({ namespace: 'default', group: 'test', identity }, ports),
    )
    const stopped = [holdLease(lease, ports, stop.signal), ...members.map((one) => one.start(stop.signal))]
    await clock.runFor(minute)
    expect(lease.held).toBe(true)
    expect(members.filter(({ isLeader }) => isLeader)).toHaveLength(1)
    stop.abort()
    await clock.runFor(minute)
    await Promise.all(stopped)
    expect(lease.held).toBe(false)
  })

  it('writes Events that count up', async () => {
    const recorder = new EventRecorder('sojourn', { client, clock, log: silentLogger })
    const about = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', name: 'a' }
    for (let times = 0; times < 3; times++) {
      recorder.record(about, { type: 'Warning', reason: 'Held', message: 'outside the window' })
      await recorder.flush()
    }
    const { items } = await client.list(events, { namespace: 'default', fieldSelector: 'reason=Held' })
    expect(items).toHaveLength(1)
    expect(items[0]).toMatchObject({ count: 3, type: 'Warning', involvedObject: { name: 'a' } })
  })
})
