import { describe, expect, it } from 'vitest'
import type { StoredObject } from '../../kube/object.ts'
import { proxlessEnvironment } from './proxless-environment.ts'
import { LastDay } from './views/last-day.ts'
import { remarksOf, serviceStateOf } from './views/service-state.ts'

describe('the environment of proxless', () => {
  it('is read in our words (C28)', () => {
    const read = proxlessEnvironment({
      NAMESPACE_SCOPED: 'true',
      PROXLESS_NAMESPACE: 'shop',
      SERVERLESS_TTL_SECONDS: '30',
      DEPLOYMENT_READINESS_TIMEOUT_SECONDS: '10',
      MAX_CONS_PER_HOST: '500',
      PORT: '80',
      LOG_LEVEL: 'VERBOSE',
      KUBE_CONFIG_PATH: '/etc/kube',
      PROXLESS_SERVICE: 'proxless',
      REDIS_URL: 'redis:6379',
    })
    expect(read).toEqual({
      options: { namespace: 'shop', defaults: { ttlMs: 30_000, readinessTimeoutMs: 10_000 } },
      limits: { maxConnectionsPerPod: 500 },
      proxyPort: 80,
      kubeconfig: '/etc/kube',
      logLevel: 'debug',
      unneeded: ['PROXLESS_SERVICE', 'REDIS_URL'],
    })
  })

  it.each([
    [{ NAMESPACE: 'one' }, 'one'],
    [{ NAMESPACE: '' }, undefined],
    [{ NAMESPACE_SCOPED: 'false', PROXLESS_NAMESPACE: 'x' }, undefined],
    [{ NAMESPACE_SCOPED: 'true' }, 'proxless'],
    [{}, undefined],
  ])('scopes %o to %s (C28)', (env, namespace) => expect(proxlessEnvironment(env).options.namespace).toBe(namespace))

  it.each(['PORT', 'SERVERLESS_TTL_SECONDS', 'MAX_CONS_PER_HOST', 'NAMESPACE_SCOPED'])(
    'is refused by name when %s is malformed (C28)',
    (name) => expect(() => proxlessEnvironment({ [name]: 'x1' })).toThrow(name),
  )
})

describe('standing', () => {
  const now = Date.UTC(2026, 10, 18, 12)
  const object = (kind: string, annotations: Record<string, string>, spec: unknown = {}): StoredObject => ({
    apiVersion: 'v1',
    kind,
    metadata: {
      name: 'web',
      namespace: 'shop',
      uid: 'u',
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
      annotations,
    },
    spec,
  })
  const service = (more: Record<string, string> = {}) => object('Service', { 'proxless/deployment': 'web', ...more })
  const used = { 'proxless/last-used': '2026-11-18T11:59:00Z' }

  it.each([
    [
      'awake, until its time is up',
      service(),
      object('Deployment', used, { replicas: 2 }),
      { state: 'awake', next: { what: 'sleep', at: now + 240_000 } },
    ],
    ['asleep', service(), object('Deployment', used, { replicas: 0 }), { state: 'asleep', next: undefined }],
    [
      'asleep until its hours begin',
      service({ 'sojourn.dev/awake-hours': 'Wed 13:00-14:00' }),
      object('Deployment', used, { replicas: 0 }),
      { state: 'asleep', next: { what: 'wake', at: now + 3_600_000 } },
    ],
    [
      'awake in its hours',
      service({ 'sojourn.dev/awake-hours': 'Wed 11:00-13:00' }),
      object('Deployment', used, { replicas: 1 }),
      { state: 'awake', next: { what: 'sleep', at: now + 3_600_000 } },
    ],
    [
      'kept awake',
      service({ 'sojourn.dev/sleep': 'never' }),
      object('Deployment', used, { replicas: 1 }),
      { state: 'awake', next: undefined },
    ],
    [
      'given way to another writer',
      service(),
      object('Deployment', { ...used, 'sojourn.dev/contended': 'argocd' }, { replicas: 1 }),
      { state: 'awake', next: undefined, why: expect.stringContaining('Contended') },
    ],
    ['without a workload', service(), undefined, { state: 'unknown', next: undefined }],
  ])('is %s', (_, given, workload, expected) => expect(serviceStateOf(given, workload, now)).toMatchObject(expected))

  it.each([
    [
      'awake by hand',
      { byHand: { power: 'Awake', since: 0, until: now + 60_000 } },
      1,
      { next: { what: 'sleep', at: now + 60_000 }, why: 'It is kept awake by hand until 2026-11-18T12:01:00Z.' },
    ],
    [
      'asleep by hand, whatever its hours',
      { byHand: { power: 'Asleep', since: 0, until: now + 60_000 }, window: { open: false, nextOpenAt: now + 30_000 } },
      0,
      { next: undefined, why: 'It was put to sleep by hand until 2026-11-18T12:01:00Z; the next request wakes it.' },
    ],
    [
      'awake in the hours of its namespace',
      { window: { open: true, until: now + 3_600_000 } },
      1,
      { next: { what: 'sleep', at: now + 3_600_000 }, why: 'Its awake hours last.' },
    ],
    [
      'asleep outside these hours',
      { window: { open: false, nextOpenAt: now + 60_000 } },
      0,
      { next: { what: 'wake', at: now + 60_000 }, why: 'Its awake hours have ended; the next request wakes it.' },
    ],
    [
      'awake outside these hours, for half an hour of idleness',
      { window: { open: false, nextOpenAt: undefined } },
      1,
      { next: { what: 'sleep', at: now + 1_740_000 }, why: 'It sleeps after 1800 seconds without requests.' },
    ],
  ] as const)('is %s', (_, rule, replicas, expected) =>
    expect(serviceStateOf(service(), object('Deployment', used, { replicas }), now, rule)).toMatchObject(expected),
  )
})

describe('remarks', () => {
  const service = (takeover: string | undefined, ...conditions: readonly object[]): StoredObject => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: 'web',
      namespace: 'shop',
      uid: 'u',
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
      annotations: { 'proxless/deployment': 'web', ...(takeover ? { 'sojourn.dev/takeover': takeover } : {}) },
    },
    status: { conditions },
  })
  const taken = (message: string) => ({ type: 'sojourn.dev/TakenOver', status: 'False', reason: 'NoProxy', message })
  const refusal = {
    type: 'sojourn.dev/OnDemand',
    status: 'False',
    reason: 'InvalidAnnotation',
    message: 'sojourn.dev/takeover: the Service has no port',
  }

  it.each([
    ['nothing of one that does not ask', service(undefined, taken('Of former times.')), []],
    ['that it waits to be seen', service('true'), ['No proxy has taken it over yet.']],
    ['what the takeover waits for', service('true', taken('No proxy takes it.')), ['No proxy takes it.']],
    [
      'why it cannot be, whatever was before',
      service('true', taken('Of former times.'), refusal),
      ['sojourn.dev/takeover: the Service has no port.'],
    ],
    [
      'what is wrong beside it',
      service('true', taken('No proxy takes it.'), {
        ...refusal,
        message: 'proxless/domains: "a_b" is not a host name',
      }),
      ['proxless/domains: "a_b" is not a host name.', 'No proxy takes it.'],
    ],
  ])('say %s', (_, given, expected) => expect(remarksOf(given)).toEqual(expected))
})

describe('the last day', () => {
  const day = 86_400_000
  const step = (requests: number) => ({ requests, coldStarts: 0, awakeSeconds: 1 })

  it('is kept in half hours, and forgets what is older, or was written by a clock that runs ahead', () => {
    const last = new LastDay('')
    last.add(day, { requests: 1, coldStarts: 1, awakeSeconds: 1 })
    last.add(day + 1000, step(2))
    last.add(day + 1_800_000, step(5))
    expect(String(last)).toBe('48:3/1/2 49:5/0/1')
    last.add(2 * day, step(7))
    expect(String(last)).toBe('49:5/0/1 96:7/0/1')
    const ahead = new LastDay('900:1/1/1')
    ahead.add(day, step(1))
    expect(String(ahead)).toBe('48:1/0/1')
  })

  it('goes on from what was written, whatever a user made of it', () => {
    const last = new LastDay('48:3/1/2 x:1/1/1 <b> 47:1/0/9')
    last.add(day, step(1))
    expect(String(last)).toBe('47:1/0/9 48:4/1/3')
  })
})
