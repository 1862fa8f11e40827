import { configMaps, events } from '../../kube/core-types.ts'
import { afterEach, describe, expect, it } from 'vitest'
import { startJanitorWorld, type JanitorWorld, type JanitorWorldOptions } from '../../../test/janitor/janitor-world.ts'
import { cleanupOptOut, type CleanupOptOut } from '../../apis/cleanup-opt-out.ts'
import { TransportError } from '../../client/transport-error.ts'
import type { ApiRequest, ApiResponse, Transport } from '../../kube/transport.ts'
import { StatusError } from '../../kube/status-error.ts'

const hour = 3_600_000
const minute = 60_000

let world: JanitorWorld | undefined
afterEach(async () => {
  await world?.[Symbol.asyncDispose]()
  world = undefined
})

async function start(
  options: JanitorWorldOptions,
  spec: Parameters<JanitorWorld['policy']>[0] = {},
): Promise<JanitorWorld> {
  world = await startJanitorWorld(options)
  await world.configMap('one')
  await world.pass(2 * hour)
  await world.policy(spec)
  await world.pass(minute)
  return world
}

/** A transport that a test can look into and make fail. */
function wire() {
  const requests: ApiRequest[] = []
  const state: { fault: (request: ApiRequest) => ApiResponse | undefined } = { fault: () => undefined }
  const through =
    (transport: Transport): Transport =>
    async (request) => {
      requests.push(request)
      return state.fault(request) ?? transport(request)
    }
  return { requests, state, through }
}

function refusal(): ApiResponse {
  const error = new StatusError('Forbidden', 'not for you')
  return { status: error.code, headers: {}, body: error.toStatus() }
}

async function* cutAfter(items: AsyncIterable<unknown>, whole: number): AsyncGenerator<unknown> {
  let left = whole
  for await (const item of items) {
    if (left-- <= 0) throw new TransportError('the connection broke')
    yield item
  }
}

const isListOf = (plural: string) => (request: ApiRequest) =>
  request.method === 'GET' && request.path.endsWith(`/${plural}`)

describe('a dry run', () => {
  it.each([
    ['of the policy', {}, { dryRun: true }],
    ['of the process', { janitor: { dryRun: true } }, {}],
  ])('E18: %s writes nothing but the policy’s own status', async (_, options, spec) => {
    const { requests, through } = wire()
    const target = await start({ ...options, through }, { ...spec, unusedFor: '1h' })
    await target.pass(8 * hour)
    const isWrite = ({ method, path }: ApiRequest) => method !== 'GET' && !path.includes('/notificationchannels/')
    const writes = requests.filter(isWrite).map(({ method, path }) => `${method} ${path}`)
    expect(new Set(writes)).toEqual(new Set(['PUT /apis/sojourn.dev/v1alpha1/cleanuppolicies/tidy/status']))
    expect(await target.candidates()).toEqual([])
    expect(await target.exists('one')).toBe(true)
  })

  it('E18: reports the same in every cycle: its own status does not count as use', async () => {
    const rules = [{ rules: [{ name: 'Unused' }] }]
    const target = await start({}, { dryRun: true, interval: '10m', rules })
    const looks = []
    for (let look = 0; look < 6; look++) {
      await target.pass(10 * minute)
      looks.push((await target.readPolicy()).status?.locations?.kubernetes?.wouldMark)
    }
    expect(looks).toEqual(Array.from({ length: 6 }, () => ['ConfigMap team/one']))
  })

  it('E18: reports what it would mark, and the retention starts when it ends', async () => {
    const target = await start({}, { dryRun: true })
    expect((await target.readPolicy()).status?.locations?.kubernetes?.wouldMark).toEqual(['ConfigMap team/one'])
    await target.pass(7 * hour)
    await target.client.patch(
      {
        group: 'sojourn.dev',
        version: 'v1alpha1',
        kind: 'CleanupPolicy',
        plural: 'cleanuppolicies',
        namespaced: false,
      },
      { name: 'tidy' },
      { type: 'merge', body: { spec: { dryRun: false } } },
    )
    await target.pass(5 * hour)
    expect(await target.exists('one')).toBe(true)
    await target.pass(2 * hour)
    expect(await target.exists('one')).toBe(false)
  })
})

describe('a listing that may not be complete', () => {
  it('E9: marks nothing', async () => {
    const { state, through } = wire()
    state.fault = (request) =>
      isListOf('configmaps')(request) && request.path.includes('/team/') ? refusal() : undefined
    const target = await start({ through })
    await target.pass(hour)
    expect(await target.candidates()).toEqual([])
    const { conditions = [] } = (await target.readPolicy()).status ?? {}
    expect(conditions.find(({ type }) => type === 'InventoryComplete')).toMatchObject({
      status: 'False',
      message: expect.stringContaining('configmaps'),
    })
  })

  it.each([0, 1, 2])('E9: that breaks off after %i objects marks nothing', async (whole) => {
    const broken =
      (transport: Transport): Transport =>
      async (request) => {
        const answer = await transport(request)
        if (!isListOf('configmaps')(request) || !request.path.includes('/team/')) return answer
        const { body } = answer
        if (!(Symbol.asyncIterator in Object(body))) throw new TransportError('the connection broke')
        return { ...answer, body: cutAfter(body as AsyncIterable<unknown>, whole) } as ApiResponse
      }
    world = await startJanitorWorld({ through: broken })
    for (const name of ['one', 'two', 'three']) await world.configMap(name)
    await world.pass(2 * hour)
    await world.policy({})
    await world.pass(hour)
    expect(await world.candidates()).toEqual([])
  })

  it('E9: lifts no mark and carries none out', async () => {
    const { state, through } = wire()
    const target = await start({ through, relists: true })
    expect(await target.phases()).toEqual({ one: 'Notified' })
    state.fault = (request) =>
      isListOf('configmaps')(request) && request.path.includes('/team/') ? refusal() : undefined
    await target.pass(12 * hour)
    expect(await target.phases()).toEqual({ one: 'Notified' })
    expect(await target.exists('one')).toBe(true)
    state.fault = () => undefined
    await target.pass(2 * hour)
    expect(await target.exists('one')).toBe(false)
  })

  it('E11: of possible users keeps what they may use, and only that', async () => {
    const { state, through } = wire()
    state.fault = (request) => (isListOf('pods')(request) ? refusal() : undefined)
    const target = await start(
      { through },
      {
        rules: [{ rules: [{ name: 'Unused' }] }],
        targets: [
          {
            kubernetes: {
              resources: [{ kind: 'ConfigMap' }],
              namespaces: { include: ['team'] },
              customReferences: 'Ignore',
            },
          },
        ],
      },
    )
    await target.pass(hour)
    expect(await target.candidates()).toEqual([])
    expect((await target.readPolicy()).status?.locations?.kubernetes?.unknown).toBeGreaterThan(0)
  })
})

describe('use', () => {
  it('E4: that begins between mark and deletion lifts the mark', async () => {
    const target = await start(
      {},
      {
        rules: [{ rules: [{ name: 'Unused' }] }],
        targets: [
          {
            kubernetes: {
              resources: [{ kind: 'ConfigMap' }],
              namespaces: { include: ['team'] },
              customReferences: 'Ignore',
            },
          },
        ],
      },
    )
    expect(await target.phases()).toEqual({ one: 'Notified' })
    await target.pass(5 * hour)
    await target.create({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'user', namespace: 'team' },
      spec: { containers: [{ name: 'c', image: 'i', envFrom: [{ configMapRef: { name: 'one' } }] }] },
    })
    await target.pass(3 * hour)
    expect(await target.phases()).toEqual({ one: 'Unmarked' })
    expect(await target.exists('one')).toBe(true)
  })

  it('is recorded: recently used resources are kept', async () => {
    const spec = {
      unusedFor: '4h',
      rules: [{ rules: [{ name: 'Unused' }] }],
      targets: [
        {
          kubernetes: {
            resources: [{ kind: 'ConfigMap' }],
            namespaces: { include: ['team'] },
            customReferences: 'Ignore' as const,
          },
        },
      ],
    }
    const target = await start({}, spec)
    expect(await target.candidates()).toEqual([])
    await target.pass(3 * hour)
    expect(await target.candidates()).toEqual([])
    await target.pass(2 * hour)
    expect(await target.phases()).toEqual({ one: 'Notified' })
    expect(await target.names({ group: 'sojourn.dev', version: 'v1alpha1', plural: 'usageledgers' })).toHaveLength(1)
  })
})

describe('a clock that has gone astray', () => {
  it('E12: deletes nothing until it agrees with the server’s clock again', async () => {
    const { state, through } = wire()
    const target = await start({ through })
    const server = (at: number): ApiResponse => ({
      status: 200,
      headers: { date: new Date(at).toUTCString() },
      body: {},
    })
    state.fault = (request) => (request.path === '/version' ? server(target.clock.now() - 12 * hour) : undefined)
    await target.pass(8 * hour)
    expect(await target.exists('one')).toBe(true)
    const inSync = async () =>
      (await target.readPolicy()).status?.conditions?.find(({ type }) => type === 'ClockInSync')
    expect(await inSync()).toMatchObject({ status: 'False', reason: 'ClockSkew' })
    expect((await inSync())?.message).toContain('43200 s apart')
    state.fault = (request) => (request.path === '/version' ? server(target.clock.now()) : undefined)
    await target.pass(hour)
    expect(await target.exists('one')).toBe(false)
    expect(await inSync()).toMatchObject({ status: 'True' })
  })
})

describe('an opt-out', () => {
  /** The link in the notice, as a path. */
  async function link(target: JanitorWorld): Promise<string> {
    const { items } = await target.client.list<{ message: string; reason: string; metadata: { name: string } }>(
      events,
      { namespace: 'team' },
    )
    const text = items.find(({ reason }) => reason === 'CleanupScheduled')?.message ?? ''
    const url = new URL(/https:\/\/\S+/.exec(text)?.[0] ?? '')
    return `${url.pathname}${url.search}`
  }

  it('E19: needs the button: opening the page changes nothing', async () => {
    const target = await start({})
    const path = await link(target)
    const shown = await target.call('GET', path)
    expect(shown).toMatchObject({ status: 200, headers: { 'cache-control': 'no-store' } })
    expect(shown.body).toContain('Keep ConfigMap team/one?')
    await target.pass(minute)
    expect(await target.phases()).toEqual({ one: 'Notified' })
    const kept = await target.call('POST', path, { body: 'reason=needed' })
    expect(kept.status).toBe(200)
    await target.pass(minute)
    expect(await target.phases()).toEqual({ one: 'OptedOut' })
    const object = await target.get<{ metadata: { annotations: Record<string, string> } }>({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      namespace: 'team',
      name: 'one',
    })
    expect(object?.metadata.annotations['sojourn.dev/expiration-time']).toBe('never')
    await target.call('POST', path)
    expect((await target.client.list(cleanupOptOut.type)).items).toHaveLength(1)
    await target.pass(12 * hour)
    expect(await target.exists('one')).toBe(true)
  })

  it('E19: refuses a link that was altered, belongs to another resource, or is too old', async () => {
    const target = await start({})
    const path = await link(target)
    const altered = [
      path.replace(/expires=\d+/, 'expires=9999999999'),
      path.replace(/generation=1/, 'generation=2'),
      path.replace(/signature=../, 'signature=00'),
      path.replace(/signature=\w+/, ''),
    ]
    for (const wrong of altered) expect((await target.call('POST', wrong)).status).toBe(403)
    expect((await target.call('POST', path.replace(/opt-out\/[^?]+/, 'opt-out/nothing'))).status).toBe(403)
    await target.client.patch(
      configMaps,
      { namespace: 'team', name: 'one' },
      { type: 'merge', body: { metadata: { annotations: { 'sojourn.dev/keep': 'true' } } } },
    )
    await target.clock.run(target.clock.now() + minute)
    expect((await target.client.list(cleanupOptOut.type)).items).toEqual([])
  })

  it('E19: comes too late for a deleted resource', async () => {
    const target = await start({})
    const path = await link(target)
    await target.pass(7 * hour)
    expect(await target.exists('one')).toBe(false)
    expect((await target.call('GET', path)).status).toBe(410)
    expect((await target.call('POST', path)).status).toBe(410)
  })

  it('E19: is refused by the link of a resource that was created again', async () => {
    const target = await start({}, { interval: '12h', retention: { duration: '60d' } })
    const path = await link(target)
    await target.client.deleteObject(configMaps, { namespace: 'team', name: 'one' })
    await target.configMap('one')
    await target.pass(24 * hour)
    expect((await target.call('POST', path)).status).toBe(410)
    expect((await target.client.list(cleanupOptOut.type)).items).toEqual([])
  })

  it('E19: is refused by a link that has expired', async () => {
    const target = await start({}, { interval: '24h', retention: { duration: '1h' }, limits: { maxDeletes: 0 } })
    const path = await link(target)
    await target.pass(32 * 24 * hour)
    const { status, body } = await target.call('POST', path)
    expect([status, body]).toEqual([403, expect.stringContaining('This link has expired')])
  })

  it('is revocable: the resource is marked and announced again', async () => {
    const target = await start({})
    const path = '/resources/state/kubernetes:home:team:configmap/one/optOut'
    expect(await target.call('PUT', path, { user: { name: 'ann', groups: [] } })).toMatchObject({
      status: 200,
      body: { optedOut: true },
    })
    await target.pass(hour)
    expect(await target.phases()).toEqual({ one: 'OptedOut' })
    expect((await target.call('DELETE', path)).status).toBe(200)
    await target.pass(hour)
    expect(await target.phases()).toEqual({ one: 'Notified' })
    const { items } = await target.client.list<CleanupOptOut>(cleanupOptOut.type)
    expect(items.map(({ spec, status }) => [spec.requestedBy, status?.mirrored])).toEqual([['ann', undefined]])
    await target.pass(7 * hour)
    expect(await target.exists('one')).toBe(false)
  })
})

describe('Swabbie’s paths', () => {
  it('E6: keep the existing resource, not a deleted one with the same name', async () => {
    const target = await start({})
    await target.pass(8 * hour)
    expect(await target.exists('one')).toBe(false)
    const { metadata } = await target.configMap('one')
    await target.pass(minute)
    const kept = await target.call('PUT', '/resources/state/kubernetes:home:team:configmap/one/optOut', {
      user: { name: 'ann', groups: [] },
    })
    expect(kept.status).toBe(200)
    const { items } = await target.client.list<CleanupOptOut>(cleanupOptOut.type)
    expect(items.map(({ spec }) => spec.resource?.uid)).toEqual([metadata.uid])
    await target.pass(24 * hour)
    expect(await target.exists('one')).toBe(true)
  })

  it('answer over the same marks', async () => {
    const target = await start({})
    const namespace = 'kubernetes:home:team:configmap'
    const marked = (await target.call('GET', '/resources/marked')).body as { name: string; namespace: string }[]
    expect(marked.map(({ name, namespace: found }) => [name, found])).toEqual([['one', namespace]])
    expect((await target.call('GET', `/resources/marked/${namespace}/one`)).body).toMatchObject({
      resource: { resourceId: 'one' },
      notificationInfo: { recipient: 'event:events' },
    })
    expect((await target.call('GET', `/resources/marked/${namespace}/two`)).status).toBe(404)
    expect((await target.call('GET', '/resources/numMarked')).body).toBe(1)
    expect((await target.call('GET', '/resources/canDelete')).body).toEqual([])
    expect((await target.call('GET', '/resources/states/NOTIFY')).body).toMatchObject([
      { currentStatus: { name: 'NOTIFY' }, optedOut: false },
    ])
    expect((await target.call('GET', '/resources/states/NONSENSE')).status).toBe(400)
    expect((await target.call('GET', `/resources/check/${namespace}/one`)).body).toMatchObject({ wouldMark: true })
    expect((await target.call('GET', `/resources/check/${namespace}/kube-root-ca.crt`)).body).toMatchObject({
      wouldMark: false,
      wouldMarkReason: expect.stringContaining('an exclusion names it: '),
    })
  })

  it('bring a date forward only with a new notice, and restore deleted resources', async () => {
    const target = await start({})
    const namespace = 'kubernetes:home:team:configmap'
    await target.call('PUT', `/admin/resources/recalculate/${namespace}?retentionSeconds=3600&numResources=1`)
    await target.pass(minute)
    const [candidate] = await target.candidates()
    expect(candidate?.status).toMatchObject({ phase: 'Notified', generation: 2 })
    expect(candidate?.status?.notices).toHaveLength(2)
    await target.pass(50 * minute)
    expect(await target.exists('one')).toBe(true)
    await target.pass(20 * minute)
    expect(await target.exists('one')).toBe(false)
    expect((await target.call('POST', `/resources/state/${namespace}/one/restore`)).status).toBe(200)
    expect(await target.exists('one')).toBe(true)
  })
})
