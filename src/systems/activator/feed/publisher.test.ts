import { describe, expect, it } from 'vitest'
import type { StoredObject } from '../../../kube/object.ts'
import type { Informer } from '../../../runtime/cache/informer.ts'
import { readServiceSettings } from '../model/service-settings.ts'
import type { EndpointSlice } from '../model/endpoints.ts'
import { SilentDataPlane } from '../proxy/planes/silent-data-plane.ts'
import { Publisher, routeConfig } from './publisher.ts'
import { ServiceRegistry, workloadId } from '../model/service-registry.ts'
import { WakeAttempts } from '../decision/wake-attempts.ts'
import type { Caches } from '../cluster/observe.ts'
import { singleReplica } from '../replicas/peers.ts'
import type { WorkloadCaches } from '../cluster/workload-caches.ts'

const meta = {
  name: 'web',
  namespace: 'shop',
  uid: 'u',
  resourceVersion: '1',
  creationTimestamp: '2026-01-01T00:00:00Z',
}
const object = (kind: string, spec: unknown, annotations = {}): StoredObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { ...meta, annotations },
  spec,
})
const settings = readServiceSettings(object('Service', {}, { 'proxless/deployment': 'web' }))
const web = { id: 'shop/web', namespace: 'shop', name: 'web', settings, port: { port: 80 } }
const workload = workloadId(settings.workloads[0]!)
const pod = { host: '10.0.0.1', port: 8080 }

/** A publisher over caches that show what the case sets. */
function setUp() {
  const world = { replicas: 1, reached: 1, ready: true, joined: true, time: 0 }
  const states: unknown[] = []
  class Plane extends SilentDataPlane {
    override setTarget(...[, state]: [string?, unknown?]): void {
      states.push(state)
    }
  }
  const workloads = {
    lastSeen: () => object('Deployment', { replicas: world.replicas }),
    find: () => object('Deployment', { replicas: world.replicas }),
    lastSeenReplicas: () => world.replicas,
    of: () => ({ hasReached: (version: string) => world.reached >= Number(version) }),
  } as unknown as WorkloadCaches
  const slice = () => [
    { metadata: {}, endpoints: world.ready ? [{ addresses: [pod.host] }] : [], ports: [{ port: pod.port }] },
  ]
  const slices = { byIndex: slice } as unknown as Informer<EndpointSlice>
  const registry = new ServiceRegistry()
  const wakeAttempts = new WakeAttempts()
  registry.set(web)
  const publisher = new Publisher({
    plane: new Plane(),
    registry,
    workloads,
    caches: { slices } as unknown as Caches,
    wakeAttempts,
    peers: {
      ...singleReplica(),
      get joined() {
        return world.joined
      },
    },
    now: () => world.time,
  })
  publisher.setRoute(routeConfig(web, { hosts: ['web.test'], slot: 0, fallback: undefined, files: undefined }))
  const last = () => (publisher.publish(web.id), states.at(-1))
  return { world, states, publisher, wakeAttempts, last }
}

const warm = { is: 'warm', endpoints: [pod], protocol: 'http1' }

describe('what the proxy is told', () => {
  it('is nothing until all other replicas know of this one', () => {
    const { world, states, last } = setUp()
    world.joined = false
    last()
    expect(states).toEqual([])
    world.joined = true
    expect(last()).toEqual(warm)
  })

  it('is news only', () => {
    const { states, last } = setUp()
    expect([last(), last()]).toEqual([warm, warm])
    expect(states).toHaveLength(1)
  })

  it('is that it sleeps as soon as we have written so, whatever an older cache still shows', () => {
    const { world, publisher, last } = setUp()
    last()
    publisher.noteAsleep(workload, '5')
    expect(last()).toEqual({ is: 'cold' })
    world.reached = 5
    expect(last()).toEqual(warm)
  })

  it('is nothing while a sleep is being decided, unless it has been', () => {
    const { world, states, publisher, last } = setUp()
    last()
    publisher.hold(web.id)
    world.ready = false
    last()
    expect(states).toEqual([warm])
    world.replicas = 0
    expect(last()).toEqual({ is: 'cold' })
  })

  it('is how it stands, once a sleep has been given up', () => {
    const { states, publisher, last } = setUp()
    last()
    publisher.hold(web.id)
    publisher.release(web.id)
    expect(states).toEqual([warm, warm])
  })

  it('is to refuse while it rests after a failure, and to hold afterwards', () => {
    const { world, wakeAttempts, last } = setUp()
    world.ready = false
    wakeAttempts.failed(workload, 'backoff', 0)
    expect(last()).toEqual({ is: 'refusing', because: 'backoff', retryAfterSeconds: 1 })
    world.time = 1000
    expect(last()).toEqual({ is: 'cold' })
  })
})

describe('rests after failures', () => {
  it('double up to a minute, and are forgotten with success (C62)', () => {
    const wakeAttempts = new WakeAttempts()
    const rests = Array.from({ length: 8 }, () => wakeAttempts.failed('w', 'backoff', 0) / 1000)
    expect(rests).toEqual([1, 2, 4, 8, 16, 32, 60, 60])
    wakeAttempts.forget('w')
    expect(wakeAttempts.of('w')).toMatchObject({ failures: 0, retryAt: 0 })
  })
})
