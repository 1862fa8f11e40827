import { configMaps, events } from '../../kube/core-types.ts'
import { afterEach, describe, expect, it } from 'vitest'
import { startJanitorWorld, type JanitorWorld, type JanitorWorldOptions } from '../../../test/janitor/janitor-world.ts'
import { cleanupOptOut } from '../../apis/cleanup-opt-out.ts'
import { cleanupPolicy } from '../../apis/cleanup-policy.ts'
import { departure } from '../../apis/departure.ts'
import type { ApiRequest, ApiResponse, Transport } from '../../kube/transport.ts'
import { StatusError } from '../../kube/status-error.ts'
import { optOut } from './opt-outs/opt-out.ts'

const hour = 3_600_000
const minute = 60_000
const markedWhen = (parameters: Record<string, unknown>) => [{ rules: [{ name: 'AttributeRule', parameters }] }]

let world: JanitorWorld
afterEach(() => world[Symbol.asyncDispose]())

/** A world with these ConfigMaps, two hours old. */
async function start(names: readonly string[], options: JanitorWorldOptions = {}): Promise<JanitorWorld> {
  world = await startJanitorWorld(options)
  for (const name of names) await world.configMap(name)
  await world.pass(2 * hour)
  return world
}

/** What was told of objects in namespace team, as `reason name`. */
async function told(...reasons: readonly string[]): Promise<readonly string[]> {
  const { items } = await world.client.list<{
    metadata: { name: string }
    reason: string
    involvedObject: { name: string; namespace: string }
  }>(events, { namespace: 'team' })
  return items
    .filter(({ reason }) => reasons.includes(reason))
    .map(({ reason, involvedObject: { namespace, name } }) => `${reason} ${namespace}/${name}`)
    .toSorted()
}

/** Fails some requests as a server would that is out of order. */
function failing(isFaulty: (request: ApiRequest) => boolean) {
  const error = new StatusError('InternalError', 'out of order')
  const answer: ApiResponse = { status: error.code, headers: {}, body: error.toStatus() }
  return (transport: Transport): Transport =>
    async (request) =>
      isFaulty(request) ? answer : transport(request)
}

/** A watch that says what was there and then only that it is still alive. */
async function* withoutNews(events: AsyncIterable<unknown>): AsyncGenerator<unknown> {
  for await (const event of events) if ((event as { type: string }).type === 'BOOKMARK') yield event
}

async function annotate(name: string, annotations: Record<string, string | null>): Promise<void> {
  await world.client.patch(
    configMaps,
    { namespace: 'team', name },
    { type: 'merge', body: { metadata: { annotations } } },
  )
}

describe('marking', () => {
  it('C1: stores a mark and notifies once', async () => {
    await start(['one'])
    await world.policy({})
    await world.pass(minute)
    expect(await world.phases()).toEqual({ one: 'Notified' })
    expect(await told('CleanupMarked')).toEqual(['CleanupMarked team/one'])
    expect((await world.readPolicy()).status?.locations?.kubernetes).toMatchObject({ marked: 1, notified: 1 })
  })

  it('C1: sends no notice of a mark that could not be stored', async () => {
    await start(['one'], {
      through: failing(({ method, path }) => method === 'PUT' && path.includes('/cleanupcandidates/')),
    })
    await world.policy({})
    await world.pass(minute)
    expect(await told('CleanupMarked')).toEqual([])
  })

  it('C2: marks what the rules match, and nothing else', async () => {
    await start(['one', 'two', 'three'])
    await world.policy({ rules: markedWhen({ name: ['one', 'two'] }) })
    await world.pass(minute)
    expect(await world.phases()).toEqual({ one: 'Notified', two: 'Notified' })
    expect(await told('CleanupMarked')).toEqual(['CleanupMarked team/one', 'CleanupMarked team/two'])
  })

  it('C3: lifts the mark of what complies again, reports that once, and marks nothing', async () => {
    await start(['one', 'two'])
    for (const name of ['one', 'two']) await annotate(name, { idle: 'yes' })
    await world.policy({ rules: markedWhen({ 'tags.idle': 'yes' }) })
    await world.pass(minute)
    await annotate('one', { idle: 'no' })
    await world.pass(hour)
    expect(await world.phases()).toEqual({ one: 'Unmarked', two: 'Notified' })
    expect(await told('CleanupUnmarked')).toEqual(['CleanupUnmarked team/one'])
    expect(await told('CleanupMarked')).toHaveLength(2)
  })

  it('C4: lifts the mark of a newly excluded resource at once', async () => {
    await start(['one'])
    await world.policy({})
    await world.pass(minute)
    await annotate('one', { ttl: '30d' })
    await world.pass(hour)
    expect(await world.phases()).toEqual({ one: 'Unmarked' })
  })

  it('C5: marks nothing that is opted out', async () => {
    await start(['other'])
    await world.configMap('kept', { labels: { needed: 'yes' } })
    await world.pass(2 * hour)
    await world.create({
      apiVersion: cleanupOptOut.apiVersion,
      kind: cleanupOptOut.kind,
      metadata: { name: 'keep-it' },
      spec: { selector: { apiVersion: 'v1', kind: 'ConfigMap', labels: { matchLabels: { needed: 'yes' } } } },
    })
    await world.policy({})
    await world.pass(hour)
    expect(await world.phases()).toEqual({ other: 'Notified' })
    expect(await told('CleanupMarked')).toEqual(['CleanupMarked team/other'])
  })

  it('E21: judges marks again when the policy is edited', async () => {
    await start(['one', 'two'])
    await world.policy({})
    await world.pass(minute)
    await world.client.patch(
      cleanupPolicy.type,
      { name: 'tidy' },
      { type: 'merge', body: { spec: { rules: markedWhen({ name: 'two' }) } } },
    )
    await world.pass(minute)
    expect(await world.phases()).toEqual({ one: 'Unmarked', two: 'Notified' })
  })
})

describe('notices', () => {
  it('C13: are not sent without a channel, and the mark records that', async () => {
    await start(['one'])
    await world.policy({ notification: {} })
    await world.pass(minute)
    const [candidate] = await world.candidates()
    expect(candidate?.status?.notices).toMatchObject([{ kind: 'none', channel: 'none' }])
    expect(await told('CleanupScheduled')).toEqual([])
  })

  it('E1: that need an address keep resources without an owner, longer where no notice is required', async () => {
    await start(['one'])
    await world.policy({ retentionWithoutOwner: '20h' })
    await world.pass(7 * hour)
    expect(await world.exists('one')).toBe(true)
    await world.pass(14 * hour)
    expect(await world.exists('one')).toBe(false)
  })

  it('go to the creator of the object, where the policy asks for that', async () => {
    await start(['one'])
    await world.policy({ owner: { strategies: [{ type: 'Creator', values: { sojourn: 'ann@example.org' } }] } })
    await world.pass(minute)
    const [candidate] = await world.candidates()
    expect(candidate?.status?.owner).toEqual({ address: 'ann@example.org', source: 'Creator' })
  })

  it('E23: say which policy acts first, where that is another one', async () => {
    await start(['one'])
    await world.policy({ retention: { duration: '3h' } })
    await world.pass(minute)
    await world.policy({ retention: { duration: '30d' } }, 'other')
    await world.pass(minute)
    const { items } = await world.client.list<{ message: string; reason: string }>(events, { namespace: 'team' })
    const messages = items.filter(({ reason }) => reason === 'CleanupScheduled').map(({ message }) => message)
    expect(messages).toContainEqual(expect.stringMatching(/policy "tidy", with its own date: "tidy" acts first, from /))
  })

  it('E23: say which other policies have marked the resource', async () => {
    await start(['one'])
    await world.policy({ retention: { duration: '30d' } })
    await world.pass(minute)
    await world.policy({ retention: { duration: '3h' } }, 'other')
    await world.pass(minute)
    const { items } = await world.client.list<{ metadata: { name: string }; message: string; reason: string }>(events, {
      namespace: 'team',
    })
    const messages = items.filter(({ reason }) => reason === 'CleanupScheduled').map(({ message }) => message)
    expect(messages.filter((message) => message.includes('Also marked by the cleanup policy "tidy"'))).toEqual([
      expect.stringContaining('with its own date: this policy acts first'),
    ])
    await world.pass(4 * hour)
    expect(await world.exists('one')).toBe(false)
  })
})

describe('deleting', () => {
  it('C7: deletes two due resources through the door, and watches each until it is absent', async () => {
    await start(['one', 'two'])
    await world.policy({})
    await world.pass(7 * hour)
    const marks = await world.candidates()
    expect(marks.map(({ status }) => status?.history?.map(({ phase }) => phase).slice(-2))).toEqual([
      ['Deleting', 'Deleted'],
      ['Deleting', 'Deleted'],
    ])
    expect((await world.client.list(departure.type)).items).toHaveLength(2)
    expect([await world.exists('one'), await world.exists('two')]).toEqual([false, false])
  })

  it('E4: judges a resource again that changed during its deletion', async () => {
    let changes = 1
    await start(['one'], {
      through: (transport) => async (request) => {
        const isRecord = request.method === 'PUT' && request.path.includes('/cleanupcandidates/')
        const body = request.body as { status?: { phase?: string } } | undefined
        if (isRecord && body?.status?.phase === 'Deleting' && changes-- > 0) await annotate('one', { ttl: '30d' })
        return transport(request)
      },
    })
    await world.policy({})
    await world.pass(7 * hour)
    expect(await world.exists('one')).toBe(true)
    expect(await world.phases()).toEqual({ one: 'Unmarked' })
  })

  it('E24: retries soon after a failure, with growing backoff', async () => {
    let faults = 3
    await start(['one'], {
      through: failing(
        ({ method, path }) => method === 'DELETE' && path.includes('/configmaps/') && faults > 0 && faults-- > 0,
      ),
    })
    await world.policy({ retention: { duration: '1h' } })
    await world.pass(hour + 45_000)
    const [candidate] = await world.candidates()
    expect(candidate?.status).toMatchObject({ phase: 'Failed', because: 'refused', attempts: 3 })
    expect(await world.exists('one')).toBe(true)
    await world.pass(minute)
    expect(await world.phases()).toEqual({ one: 'Deleted' })
  })

  it('E7: reads opt-outs right before each deletion', async () => {
    let wishes = 1
    await start(['one', 'two'], {
      through: (transport) => async (request) => {
        const body = request.body as { status?: { phase?: string } } | undefined
        if (request.path.includes('/cleanupcandidates/') && body?.status?.phase === 'Deleting' && wishes-- > 0)
          await world.create({
            apiVersion: cleanupOptOut.apiVersion,
            kind: cleanupOptOut.kind,
            metadata: { name: 'everything' },
            spec: { selector: { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'team', labels: {} } },
          })
        return transport(request)
      },
    })
    await world.policy({})
    await world.pass(8 * hour)
    expect([await world.exists('one'), await world.exists('two')]).toEqual([true, true])
    expect(await world.phases()).toEqual({ one: 'OptedOut', two: 'OptedOut' })
  })

  it('E7: honours an opt-out from before the deletion, even if its cache is stale', async () => {
    let asked = false
    await start(['one'], {
      through: (transport) => async (request) => {
        const body = request.body as { status?: { phase?: string } } | undefined
        if (request.path.includes('/cleanupcandidates/') && body?.status?.phase === 'Deleting' && !asked) {
          asked = true
          const [candidate] = await world.candidates()
          if (candidate) await optOut(world.client, candidate.spec.resource, { by: 'ann' })
        }
        const response = await transport(request)
        const isWatch = request.path.endsWith('/cleanupoptouts') && response.stream
        return isWatch ? { ...response, stream: withoutNews(response.stream) } : response
      },
    })
    await world.policy({})
    await world.pass(8 * hour)
    expect(asked).toBe(true)
    expect(await world.exists('one')).toBe(true)
    const [candidate] = await world.candidates()
    expect(candidate?.status?.history).toContainEqual(expect.objectContaining({ phase: 'OptedOut' }))
  })

  it('E13: stops before the next one when the window closes in the middle of a batch', async () => {
    await start(['one', 'two'])
    await world.create({
      apiVersion: 'sojourn.dev/v1alpha1',
      kind: 'WorkSchedule',
      metadata: { name: 'noon' },
      spec: {
        windows: [{ days: ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday'], start: '10:00', end: '12:00' }],
      },
    })
    await world.policy({
      scheduleRef: 'noon',
      retention: { duration: '22h' },
      limits: { maxDeletes: 10, maxDeletePercent: 100, batchSize: 1, deleteSpread: '4h' },
    })
    await world.pass(30 * hour)
    expect(new Set(Object.values(await world.phases()))).toEqual(new Set(['Deleted', 'Due']))
    await world.pass(24 * hour)
    expect(Object.values(await world.phases())).toEqual(['Deleted', 'Deleted'])
  })
})
