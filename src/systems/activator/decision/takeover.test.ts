import { describe, expect, it } from 'vitest'
import type { KubeObject, StoredObject } from '../../../kube/object.ts'
import { seededRandom } from '../../../runtime/time/random.ts'
import type { EndpointSlice } from '../model/endpoints.ts'
import { observeBackends } from '../cluster/observe.ts'
import type { OnDemandService } from '../model/service-registry.ts'
import {
  decideDestination,
  decideTakeover,
  formatSelector,
  isInFront,
  parseSelector,
  speaksHttp,
  whyNotTakeover,
  type DestinationObserved,
  type Selector,
  type TakeoverObserved,
} from './takeover.ts'

const app = { app: 'shop' }
const now = 1_000_000

function aService(spec: object = {}): StoredObject {
  const metadata = { name: 'shop', namespace: 'team', uid: 'u1', resourceVersion: '1', creationTimestamp: '' }
  return { apiVersion: 'v1', kind: 'Service', metadata, spec: { ports: [{ name: 'http', port: 80 }], ...spec } }
}

function aSlice(manager: string, addresses: readonly string[], name = manager, port = 8080): EndpointSlice {
  const labels = { 'kubernetes.io/service-name': 'shop', 'endpointslice.kubernetes.io/managed-by': manager }
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name, namespace: 'team', uid: name, resourceVersion: '1', creationTimestamp: '', labels },
    addressType: 'IPv4',
    endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
    ports: [{ name: 'http', port, protocol: 'TCP' }],
  }
}

const kube = 'endpointslice-controller.k8s.io'

/** A Service whose selector has just been asked for; pods are up, proxies listen. */
function observed(overrides: Partial<TakeoverObserved> = {}): TakeoverObserved {
  return {
    service: aService(),
    wanted: true,
    selector: app,
    savedSelector: undefined,
    podsService: 'current',
    proxyPorts: new Map([['http', 20_000]]),
    destination: 'proxies',
    proxies: ['10.9.0.1'],
    ownSlices: [],
    foreignSlices: [aSlice(kube, ['10.0.0.1'])],
    pods: [aSlice(kube, ['10.0.0.1'])],
    restUntil: 0,
    ...overrides,
  }
}

/** What a step would write leads to. */
const written = (given: TakeoverObserved) => {
  const step = decideTakeover(given, now)
  return step.do === 'write-slices' ? (step.write as readonly EndpointSlice[]) : []
}
const inFront = () => written(observed())

describe('taking a Service over', () => {
  it('begins with a Service that lists its pods', () => {
    expect(decideTakeover(observed({ podsService: 'absent' }), now)).toEqual({
      do: 'ensure-pods-service',
      selector: app,
    })
  })

  it('leads callers to the ports that the proxies have for it, before it touches the selector', () => {
    const [slice] = inFront()
    expect(slice).toMatchObject({
      metadata: { name: 'shop-sojourn', labels: { 'endpointslice.kubernetes.io/managed-by': 'sojourn' } },
      endpoints: [{ addresses: ['10.9.0.1'] }],
      ports: [{ name: 'http', port: 20_000 }],
    })
  })

  it('takes what the server gives back in another order for what it wrote', () => {
    const [slice] = inFront()
    const ports = [{ protocol: 'TCP', port: 20_000, name: 'http' }]
    const endpoints = [{ conditions: { ready: true }, addresses: ['10.9.0.1'] }]
    expect(decideTakeover(observed({ ownSlices: [{ ...slice!, ports, endpoints }] }), now).do).toBe('move-selector')
  })

  it('moves the selector once proxies are listed, and pods are known', () => {
    const ready = { ownSlices: inFront() }
    expect(decideTakeover(observed(ready), now)).toEqual({ do: 'move-selector', selector: app })
    expect(decideTakeover(observed({ ...ready, pods: [] }), now)).toEqual({ do: 'wait', because: 'pods-not-listed' })
  })

  it('does not begin where no proxy takes connections for it', () => {
    const given = observed({ proxies: [], ownSlices: written(observed({ proxies: [] })) })
    expect(decideTakeover(given, now)).toEqual({ do: 'wait', because: 'no-proxy' })
    expect(decideTakeover(observed({ proxies: [], pods: [] }), now)).toEqual({ do: 'wait', because: 'no-proxy' })
  })

  it('empties what Kubernetes leaves behind, and no slice of another writer', () => {
    const taken = { selector: undefined, savedSelector: app, ownSlices: inFront() }
    const leftover = aSlice(kube, ['10.0.0.1'])
    expect(decideTakeover(observed({ ...taken, foreignSlices: [leftover] }), now)).toEqual({
      do: 'clear-foreign-slices',
      slices: [leftover],
    })
    const others = observed({ ...taken, foreignSlices: [aSlice('someone', ['10.0.0.7'])] })
    expect(decideTakeover(others, now)).toEqual({ do: 'wait', because: 'endpoints-of-others' })
    expect(isInFront(others)).toBe(false)
    const done = observed({ ...taken, foreignSlices: [aSlice(kube, [])] })
    expect(decideTakeover(done, now)).toEqual({ do: 'rest', because: 'in-front' })
    expect(isInFront(done)).toBe(true)
  })

  it('takes a Service whose selector was written in the annotation to begin with', () => {
    const given = observed({ selector: undefined, savedSelector: app, foreignSlices: [], podsService: 'absent' })
    expect(decideTakeover(given, now)).toEqual({ do: 'ensure-pods-service', selector: app })
  })

  it('leaves a selector alone for a while that someone put back, and goes by it when it differs', () => {
    const other = { app: 'shop', tier: 'web' }
    const given = { ownSlices: inFront(), selector: other, savedSelector: app }
    expect(decideTakeover(observed({ ...given, restUntil: now + 1 }), now)).toEqual({
      do: 'wait',
      because: 'selector-reapplied',
      until: now + 1,
    })
    expect(decideTakeover(observed({ ...given, restUntil: now }), now)).toEqual({
      do: 'move-selector',
      selector: other,
    })
  })

  it('leads to the pods when no proxy is there, and never to nothing', () => {
    const taken = { selector: undefined, savedSelector: app, foreignSlices: [], ownSlices: inFront(), proxies: [] }
    const step = decideTakeover(observed(taken), now)
    expect(step).toMatchObject({ do: 'write-slices', to: 'pods', remove: [{ metadata: { name: 'shop-sojourn' } }] })
    expect(written(observed(taken))[0]).toMatchObject({
      endpoints: [{ addresses: ['10.0.0.1'] }],
      ports: [{ port: 8080 }],
    })
    expect(decideTakeover(observed({ ...taken, pods: [] }), now).do).toBe('wait')
  })
})

describe('giving a Service back', () => {
  const taken = { wanted: false, selector: undefined, savedSelector: app, foreignSlices: [], ownSlices: inFront() }

  it('leads callers to the pods first', () => {
    expect(decideTakeover(observed(taken), now)).toMatchObject({ do: 'write-slices', to: 'pods' })
  })

  it('puts the selector back at once when there are no pods to lead to', () => {
    expect(decideTakeover(observed({ ...taken, pods: [] }), now)).toEqual({ do: 'restore-selector', selector: app })
  })

  it('takes the note of a selector away that someone else put back', () => {
    const contested = { wanted: false, ownSlices: inFront(), savedSelector: app }
    expect(decideTakeover(observed(contested), now)).toEqual({ do: 'restore-selector', selector: app })
  })

  it('keeps its own slices until Kubernetes lists the pods again', () => {
    const back = { wanted: false, ownSlices: written(observed(taken)), foreignSlices: [aSlice(kube, [])] }
    expect(decideTakeover(observed(back), now)).toEqual({ do: 'wait', because: 'not-listed-again' })
    expect(decideTakeover(observed({ ...back, foreignSlices: [aSlice(kube, ['10.0.0.1'])] }), now).do).toBe(
      'delete-slices',
    )
    const last = { wanted: false, ownSlices: [] }
    expect(decideTakeover(observed(last), now)).toEqual({ do: 'delete-pods-service' })
    expect(decideTakeover(observed({ ...last, podsService: 'absent' }), now)).toEqual({
      do: 'rest',
      because: 'not-wanted',
    })
  })
})

describe('however writes, deaths and other people interleave', () => {
  it.each(Array.from({ length: 40 }, (_, seed) => seed))(
    'no write of ours ever cuts callers off from what is alive, and it comes to rest (%i)',
    (seed) => {
      const world = new World(seed)
      for (let i = 0; i < 400; i++) world.move()
      world.calmDown()
      expect(world.rests()).toBe(true)
    },
  )
})

/** A cluster in miniature: Kubernetes' controllers, people and us, one write at a time. */
class World {
  readonly #random: () => number
  #wanted = true
  #selector: Selector | undefined = app
  #savedSelector: Selector | undefined
  #podsService = false
  #pods: string[] = ['10.0.0.1']
  #proxies: string[] = ['10.9.0.1']
  #destination: 'proxies' | 'pods' = 'proxies'
  #ownSlices = new Map<string, EndpointSlice>()
  #kube = aSlice(kube, ['10.0.0.1'])
  /** What Kubernetes keeps up to date: what it has not got round to yet lists what it listed last. */
  #follows = { service: true, pods: false }
  #kubePods = aSlice(kube, [], 'shop-sojourn-pods-x')

  constructor(seed: number) {
    this.#random = seededRandom(seed)
  }

  move(): void {
    const moves = [
      () => this.#act(),
      () => this.#act(),
      () => this.#act(),
      () => this.#kubernetes(),
      () => (this.#wanted = this.#random() < 0.7),
      () => (this.#destination = this.#random() < 0.5 ? 'pods' : 'proxies'),
      () => this.#changePods(),
      () => (this.#proxies = this.#some('10.9.0')),
      () => (this.#selector = this.#random() < 0.2 && this.#savedSelector ? app : this.#selector),
    ]
    moves[Math.floor(this.#random() * moves.length)]!()
  }

  /** No more changes from outside: Kubernetes and the activator have all the time they need. */
  calmDown(): void {
    this.#pods = ['10.0.0.1']
    this.#proxies = ['10.9.0.1']
    for (let i = 0; i < 30; i++) {
      this.#kubernetes()
      this.#act()
    }
  }

  rests(): boolean {
    const { do: step } = decideTakeover(this.#observe(), now)
    const isBack = this.#selector !== undefined && this.#ownSlices.size === 0 && !this.#podsService
    return step === 'rest' && (this.#wanted ? this.#selector === undefined : isBack)
  }

  #some(prefix: string): string[] {
    return Array.from(
      { length: Math.floor(this.#random() * 3) },
      () => `${prefix}.${1 + Math.floor(this.#random() * 3)}`,
    )
  }

  /** Kubernetes gets round to Services that are new to it. */
  #kubernetes(): void {
    this.#follows = { service: this.#selector !== undefined, pods: this.#podsService }
    if (this.#follows.service) this.#kube = aSlice(kube, this.#pods)
    if (this.#follows.pods) this.#kubePods = aSlice(kube, this.#pods, 'shop-sojourn-pods-x')
  }

  #changePods(): void {
    this.#pods = this.#some('10.0.0')
    if (this.#follows.service) this.#kube = aSlice(kube, this.#pods)
    if (this.#follows.pods) this.#kubePods = aSlice(kube, this.#pods, 'shop-sojourn-pods-x')
  }

  #observe(): TakeoverObserved {
    return observed({
      wanted: this.#wanted,
      selector: this.#selector,
      savedSelector: this.#savedSelector ?? (this.#podsService && !this.#selector ? app : undefined),
      podsService: this.#podsService ? 'current' : 'absent',
      destination: this.#pods.length === 0 ? 'proxies' : this.#destination,
      proxies: this.#proxies,
      ownSlices: [...this.#ownSlices.values()],
      foreignSlices: [this.#kube],
      pods: this.#podsService ? [this.#kubePods] : [],
    })
  }

  /** Every single write of a step may be the last: the next look starts afresh. */
  #act(): void {
    const step = decideTakeover(this.#observe(), now)
    switch (step.do) {
      case 'ensure-pods-service':
        return this.#write(() => (this.#podsService = true))
      case 'write-slices':
        for (const slice of step.write) {
          this.#write(() => this.#ownSlices.set(slice.metadata.name!, slice as EndpointSlice))
          if (this.#random() < 0.3) return
        }
        return this.#remove(step.remove)
      case 'move-selector':
        return this.#write(() => {
          this.#savedSelector = step.selector
          this.#selector = undefined
          this.#follows.service = false
        })
      case 'restore-selector':
        return this.#write(() => {
          this.#selector = step.selector
          this.#savedSelector = undefined
        })
      case 'clear-foreign-slices':
        return this.#write(() => (this.#kube = aSlice(kube, [])))
      case 'delete-slices':
        return this.#remove(step.slices)
      case 'delete-pods-service':
        return this.#write(() => {
          this.#podsService = false
          this.#follows.pods = false
          this.#kubePods = aSlice(kube, [], 'shop-sojourn-pods-x')
        })
      case 'wait':
      case 'rest':
    }
  }

  #remove(slices: readonly KubeObject[]): void {
    for (const { metadata } of slices) {
      this.#write(() => this.#ownSlices.delete(metadata.name!))
      if (this.#random() < 0.3) return
    }
  }

  #write(change: () => unknown): void {
    const before = this.#reaches()
    change()
    // A Service that no longer wants proxies, and of which Kubernetes lists no pod, has nothing left to lead to.
    const isListed = this.#pods.length > 0 && (this.#follows.service || this.#follows.pods)
    const isOver = !this.#wanted && !isListed
    if (before && !this.#reaches() && !isOver) throw new Error(`cut off: ${JSON.stringify(this.#observe())}`)
  }

  #reaches(): boolean {
    const alive = new Set([...this.#pods, ...this.#proxies])
    return [...this.#ownSlices.values(), this.#kube].some(({ endpoints }) =>
      (endpoints ?? []).some(({ addresses = [] }) => alive.has(addresses[0] ?? '')),
    )
  }
}

describe('where callers of a warm Service are led', () => {
  const k = 30_000
  const base: DestinationObserved = {
    current: 'proxies',
    warmSince: now - k,
    bypassAfterMs: k,
    lastUsedAt: now - 1,
    activity: undefined,
  }
  it.each<[string, Partial<DestinationObserved>, object]>([
    ['straight to the pods once it has been warm and in use for long enough', {}, { to: 'pods', until: now + k }],
    ['through the proxies before', { warmSince: now - k + 5 }, { to: 'proxies', until: now + 5 }],
    ['through the proxies while it is not warm', { warmSince: undefined }, { to: 'proxies', until: undefined }],
    [
      'through the proxies where nothing else was asked for',
      { bypassAfterMs: undefined },
      { to: 'proxies', until: undefined },
    ],
    ['through the proxies while no requests come', { lastUsedAt: now - k }, { to: 'proxies', until: now + k }],
    ['straight to the pods while they are busy', { current: 'pods', activity: 'busy' }, { to: 'pods', until: now + k }],
    [
      'straight to the pods while they do not say',
      { current: 'pods', activity: 'unknown' },
      { to: 'pods', until: now + k },
    ],
    [
      'back through the proxies once they are idle',
      { current: 'pods', activity: 'idle' },
      { to: 'proxies', until: undefined },
    ],
    [
      'back through the proxies once they are gone',
      { current: 'pods', warmSince: undefined },
      { to: 'proxies', until: undefined },
    ],
  ])('%s', (_, given, expected) => expect(decideDestination({ ...base, ...given }, now)).toEqual(expected))
})

it.each<[string, object, string | undefined]>([
  ['takes an ordinary Service', {}, undefined],
  ['refuses a headless one', { clusterIP: 'None' }, 'headless'],
  ['refuses an ExternalName', { type: 'ExternalName' }, 'ExternalName'],
  ['refuses two address families', { ipFamilies: ['IPv4', 'IPv6'] }, 'two address families'],
  ['refuses callers that stay on their node', { internalTrafficPolicy: 'Local' }, 'Local'],
  ['refuses UDP', { ports: [{ name: 'dns', port: 53, protocol: 'UDP' }] }, 'port dns is UDP'],
  ['refuses a Service without ports', { ports: [] }, 'no port'],
])('%s', (_, spec, expected) => {
  const refusal = whyNotTakeover(aService(spec))
  if (expected === undefined) expect(refusal).toBeUndefined()
  else expect(refusal).toContain(expected)
})

it.each([
  [{ port: 80 }, true],
  [{ port: 5432 }, false],
  [{ name: 'http', port: 8080 }, true],
  [{ name: 'http-api', port: 8080 }, true],
  [{ name: 'http2', port: 8080 }, true],
  [{ name: 'https', port: 443 }, false],
  [{ name: 'https', port: 443, appProtocol: 'https' }, false],
  [{ name: 'web', port: 80 }, false],
  [{ name: 'web', port: 1, appProtocol: 'http' }, true],
  [{ name: 'grpc', port: 1, appProtocol: 'kubernetes.io/h2c' }, true],
])('understands what %j speaks: HTTP %s', (port, expected) => expect(speaksHttp(port)).toBe(expected))

it('never takes a proxy for a pod: slices of ours would lead it round in circles', () => {
  const all = [aSlice('sojourn', ['10.9.0.1'], 'shop-sojourn', 20_000), aSlice(kube, ['10.0.0.1'])]
  const slices = { byIndex: () => all } as unknown as Parameters<typeof observeBackends>[1]
  const shop = { namespace: 'team', settings: { backend: 'shop' }, port: { name: 'http', port: 80 } } as OnDemandService
  expect(observeBackends(shop, slices).addresses).toEqual([{ host: '10.0.0.1', port: 8080 }])
})

it('writes selectors so that they come back, and takes nothing else for one', () => {
  const selector = { 'app.kubernetes.io/name': 'shop', tier: '' }
  expect(parseSelector(formatSelector(selector))).toEqual(selector)
  for (const text of [undefined, '', 'app', '=x', 'a=b=c']) expect(parseSelector(text)).toBeUndefined()
})
