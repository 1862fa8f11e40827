import { describe, expect, it } from 'vitest'
import type { StoredObject } from '../../../kube/object.ts'
import { isOnDemand } from './annotations.ts'
import { readServiceSettings, settingDefaults } from './service-settings.ts'
import { parseAwakeHours } from '../../../apis/awake-hours.ts'
import { HostClaims, innerHosts } from './host-claims.ts'
import { backendsOf, portOf, type EndpointSlice } from './endpoints.ts'

function service(annotations: Record<string, string>, spec: unknown = {}): StoredObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: 'web',
      namespace: 'shop',
      uid: 'u',
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
      annotations,
    },
    spec,
  }
}

describe('a Service’s annotations', () => {
  it('make it on demand when they name a workload (C26)', () => {
    expect(isOnDemand(service({ 'proxless/domains': 'a.io' }))).toBe(false)
    expect(isOnDemand(service({ 'proxless/deployment': 'web' }))).toBe(true)
    expect(isOnDemand(service({ 'sojourn.dev/target': 'StatefulSet/db' }))).toBe(true)
  })

  it('are read as proxless wrote them', () => {
    const settings = readServiceSettings(
      service({
        'proxless/deployment': 'web',
        'proxless/domains': 'a.io, B.io,b.io , b\u00fccher.example',
        'proxless/ttl-seconds': '30',
        'proxless/readiness-timeout-seconds': '10',
      }),
    )
    expect(settings).toMatchObject({
      workloads: [{ apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', name: 'web' }],
      backend: 'web',
      domains: ['a.io', 'b.io', 'xn--bcher-kva.example'],
      scaling: { ttlMs: 30_000 },
      proxy: { readinessTimeoutMs: 10_000 },
      faults: [],
    })
  })

  it('are named where proxless has a setting that means nothing here, or none of that name', () => {
    const { faults } = readServiceSettings(
      service({
        'proxless/deployment': 'web',
        'proxless/scale-down-check-interval-seconds': '5',
        'proxless/ttl': '5',
        'proxless/last-used': '2026-01-01T00:00:00Z',
      }),
    )
    expect(faults.map((fault) => `${fault.annotation} ${fault.message}`)).toEqual([
      expect.stringMatching(/^proxless\/scale-down-check-interval-seconds has no effect: .*interval/) as string,
      expect.stringMatching(/^proxless\/ttl has no effect: .*proxless\/ttl-seconds/) as string,
    ])
  })

  it('name the real Service where the annotated one stands before the proxy', () => {
    expect(readServiceSettings(service({ 'proxless/deployment': 'web', 'proxless/service': 'real' })).backend).toBe(
      'real',
    )
  })

  it('may name anything that scales, and what is woken with it', () => {
    const { workloads } = readServiceSettings(
      service({
        'sojourn.dev/target': 'StatefulSet/db',
        'sojourn.dev/wake-with': 'Deployment/cache, widgets.io/v1/Widget/w',
      }),
    )
    expect(workloads.map(({ apiVersion, kind, name }) => `${apiVersion} ${kind} ${name}`)).toEqual([
      'apps/v1 StatefulSet db',
      'apps/v1 Deployment cache',
      'widgets.io/v1 Widget w',
    ])
  })

  it.each([
    ['proxless/ttl-seconds', '0'],
    ['proxless/ttl-seconds', '-5'],
    ['proxless/ttl-seconds', 'soon'],
    ['proxless/ttl-seconds', '1.5'],
    ['proxless/readiness-timeout-seconds', 'x'],
    ['proxless/domains', 'not a host'],
    ['sojourn.dev/min-replicas', '-1'],
    ['sojourn.dev/waiting-page', 'maybe'],
    ['sojourn.dev/awake-hours', 'always'],
    ['sojourn.dev/awake-until', 'tomorrow'],
    ['sojourn.dev/path-prefix', 'api'],
    ['sojourn.dev/wake-with', 'DaemonSet/x'],
  ])('that are wrong are named and do no harm: %s=%s (C27, C101)', (key, value) => {
    const settings = readServiceSettings(service({ 'proxless/deployment': 'web', [key]: value }))
    expect(settings.faults).toEqual([{ annotation: key, message: expect.stringContaining(value) as string }])
    expect(settings).toMatchObject({
      scaling: { ttlMs: settingDefaults.ttlMs },
      proxy: { readinessTimeoutMs: settingDefaults.readinessTimeoutMs, pathPrefix: '/' },
    })
    expect(settings.workloads).toHaveLength(1)
  })

  it('that keep it awake do so though they are misspelled', () => {
    const settings = readServiceSettings(service({ 'proxless/deployment': 'web', 'sojourn.dev/sleep': 'nver' }))
    expect([settings.scaling.maySleep, settings.faults[0]?.annotation]).toEqual([false, 'sojourn.dev/sleep'])
  })

  it.each(['', ' ', 'Web', 'a_b'])('that name no workload are a fault, and wake nothing: "%s" (C5)', (name) => {
    const settings = readServiceSettings(service({ 'proxless/deployment': name }))
    expect(settings.workloads).toEqual([])
    expect(settings.faults.map(({ annotation }) => annotation)).toEqual(['proxless/deployment'])
  })

  it('that are empty count as absent (C27)', () => {
    const empty = { 'proxless/ttl-seconds': '', 'proxless/readiness-timeout-seconds': ' ', 'proxless/domains': '' }
    const settings = readServiceSettings(service({ 'proxless/deployment': 'web', ...empty }), {
      ttlMs: 7,
      readinessTimeoutMs: 8,
    })
    expect(settings).toMatchObject({ scaling: { ttlMs: 7 }, proxy: { readinessTimeoutMs: 8 }, domains: [], faults: [] })
  })

  it.each([
    ['12', 12_000],
    ['0', 0],
  ])('set how long a request may wait before what is set for all: %s (C34)', (seconds, readinessTimeoutMs) => {
    const annotated = service({ 'proxless/deployment': 'web', 'proxless/readiness-timeout-seconds': seconds })
    const settings = readServiceSettings(annotated, { ttlMs: 1, readinessTimeoutMs: 60_000 })
    expect(settings).toMatchObject({ proxy: { readinessTimeoutMs }, faults: [] })
  })

  it('cannot reach into another namespace (C102)', () => {
    const settings = readServiceSettings(service({ 'proxless/deployment': 'other/web' }))
    expect(settings.workloads).toEqual([])
    expect(settings.faults[0]).toMatchObject({
      annotation: 'proxless/deployment',
      message: expect.stringContaining('namespace') as string,
    })
  })
})

describe('awake hours', () => {
  it('are days, hours and a zone', () => {
    expect(parseAwakeHours('Mon-Fri 08:00-18:00 Europe/Berlin; Sat 10:00-12:00')).toEqual({
      timeZone: 'Europe/Berlin',
      windows: [
        { days: ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday'], start: '08:00', end: '18:00' },
        { days: ['Saturday'], start: '10:00', end: '12:00' },
      ],
    })
    expect(parseAwakeHours('Sat-Mon 00:00-24:00')?.windows[0]?.days).toEqual(['Saturday', 'Sunday', 'Monday'])
  })

  it.each(['', 'Mon', 'Mon 8-18', 'Foo 08:00-18:00', 'Mon 08:00-25:00', 'Mon 08:00-18:00 Mars/Olympus'])(
    'are not %s',
    (text) => expect(parseAwakeHours(text)).toBeUndefined(),
  )
})

describe('claims', () => {
  const claim = (id: string, createdAt: string, ...domains: string[]) => ({
    id,
    uid: id,
    createdAt,
    domains,
    inner: [],
    pathPrefix: '/',
  })
  const older = claim('a/x', '2026-01-01T00:00:00Z', 'x.io')
  const newer = claim('b/y', '2026-02-01T00:00:00Z', 'x.io', 'y.io')

  it.each([
    ['older first', [older, newer]],
    ['newer first', [newer, older]],
  ])('give a domain to the oldest, and only the contested one is refused: %s (C51, C69)', (_, claims) => {
    const hostClaims = new HostClaims()
    for (const each of claims) hostClaims.set(each)
    expect([hostClaims.granted('a/x'), hostClaims.granted('b/y')]).toEqual([['x.io'], ['y.io']])
    expect(hostClaims.lost('b/y')).toEqual([{ domain: 'x.io', owner: 'a/x' }])
    expect(hostClaims.lost('a/x')).toEqual([])
  })

  it('pass to the next when the owner goes, and tell whom that touches (C69)', () => {
    const hostClaims = new HostClaims()
    hostClaims.set(newer)
    expect(hostClaims.set(older)).toEqual(new Set(['b/y']))
    expect(hostClaims.remove('a/x')).toEqual(new Set(['b/y']))
    expect(hostClaims.granted('b/y')).toEqual(['x.io', 'y.io'])
  })

  it('affect no other Service when no owner changes, in whatever order they are named (C7, C12)', () => {
    const hostClaims = new HostClaims()
    hostClaims.set(older)
    expect(hostClaims.set(newer).size).toBe(0)
    expect(hostClaims.set(older).size).toBe(0)
    expect(hostClaims.set({ ...newer, domains: newer.domains.toReversed() }).size).toBe(0)
    expect(hostClaims.set({ ...older, domains: ['z.io'] })).toEqual(new Set(['b/y']))
  })

  it('are settled by uid between equals (C69)', () => {
    const hostClaims = new HostClaims()
    hostClaims.set(claim('b', '1', 'x.io'))
    hostClaims.set(claim('a', '1', 'x.io'))
    expect(hostClaims.lost('b')).toEqual([{ domain: 'x.io', owner: 'a' }])
  })

  it('stand side by side on different paths, in one namespace', () => {
    const hostClaims = new HostClaims()
    hostClaims.set(claim('team/a', '2', 'x.io'))
    hostClaims.set({ ...claim('team/b', '3', 'x.io'), pathPrefix: '/api' })
    hostClaims.set({ ...claim('other/c', '4', 'x.io'), pathPrefix: '/login' })
    expect([hostClaims.lost('team/b'), hostClaims.lost('other/c')]).toEqual([[], [{ domain: 'x.io', owner: 'team/a' }]])
    expect(hostClaims.set(claim('other/d', '1', 'x.io'))).toEqual(new Set(['team/a', 'team/b', 'other/c']))
    expect([hostClaims.granted('team/a'), hostClaims.granted('team/b'), hostClaims.granted('other/c')]).toEqual([
      [],
      [],
      ['x.io'],
    ])
    expect(hostClaims.remove('other/d')).toEqual(new Set(['team/a', 'team/b', 'other/c']))
    expect(hostClaims.granted('team/b')).toEqual(['x.io'])
  })

  it('to the name of a Service inside the cluster are its own, however old others are', () => {
    const hostClaims = new HostClaims()
    hostClaims.set(claim('evil/old', '1', 'web.shop.svc', 'x.io'))
    expect(hostClaims.set({ ...claim('shop/web', '2'), inner: ['web.shop.svc'] })).toEqual(new Set(['evil/old']))
    expect([hostClaims.granted('shop/web'), hostClaims.granted('evil/old')]).toEqual([['web.shop.svc'], ['x.io']])
  })
})

describe('inner hosts', () => {
  it('are those a caller in the cluster uses (C25)', () => {
    expect(innerHosts('shop', 'web', false)).toEqual([
      'web.shop',
      'web.shop.svc',
      'web.shop.svc.cluster.local',
      'web-proxless.shop',
      'web-proxless.shop.svc',
      'web-proxless.shop.svc.cluster.local',
    ])
    expect(innerHosts('shop', 'web', true)).toEqual(expect.arrayContaining(['web', 'web-proxless']))
  })
})

describe('endpoints', () => {
  const slice = (
    endpoints: EndpointSlice['endpoints'],
    ports: EndpointSlice['ports'] = [{ name: 'http', port: 8080 }],
  ): EndpointSlice => ({
    ...service({}),
    kind: 'EndpointSlice',
    endpoints: endpoints!,
    ports: ports!,
  })
  const port = { name: 'http', port: 80 }

  it('are the ready ones that are not on their way out, each once (C38, C39)', () => {
    const slices = [
      slice([
        { addresses: ['10.0.0.1'] },
        { addresses: ['10.0.0.2'], conditions: { ready: false } },
        { addresses: [] },
      ]),
      slice([
        { addresses: ['10.0.0.1'], conditions: { ready: true } },
        { addresses: ['10.0.0.3'], conditions: { ready: true, terminating: true } },
      ]),
    ]
    expect(backendsOf(slices, port).addresses).toEqual([{ host: '10.0.0.1', port: 8080 }])
  })

  it('are none where Kubernetes lists none, which it writes as null (C40)', () => {
    expect(backendsOf([{ ...slice([]), endpoints: null, ports: null }], port).addresses).toEqual([])
  })

  it('come with the port of the same name (C38, C41)', () => {
    const both = slice(
      [{ addresses: ['10.0.0.1'] }],
      [
        { name: 'metrics', port: 9090 },
        { name: 'http', port: 8080 },
      ],
    )
    expect(backendsOf([both], port).addresses).toEqual([{ host: '10.0.0.1', port: 8080 }])
    expect(backendsOf([both], { port: 80 }).addresses).toEqual([])
    expect(backendsOf([slice([{ addresses: ['10.0.0.1'] }], [{ port: 8080 }])], { port: 80 }).addresses).toHaveLength(1)
  })

  it('speak HTTP/2 only where the port says so (C48)', () => {
    expect(backendsOf([], { ...port, appProtocol: 'kubernetes.io/h2c' }).protocol).toBe('h2c')
    expect(backendsOf([], port).protocol).toBe('http1')
  })

  it('are those of the first port, unless another is named (C24)', () => {
    const ports = {
      ports: [
        { name: 'a', port: 8080 },
        { name: 'b', port: 80 },
      ],
    }
    expect(portOf(service({}, ports), undefined)?.name).toBe('a')
    expect(portOf(service({}, ports), 'b')?.port).toBe(80)
    expect(portOf(service({}, ports), '80')?.name).toBe('b')
    expect(portOf(service({}, {}), undefined)).toBeUndefined()
  })
})
