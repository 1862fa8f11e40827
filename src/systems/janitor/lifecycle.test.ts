import { configMaps } from '../../kube/core-types.ts'
import { afterEach, describe, expect, it } from 'vitest'
import { cleanupCandidate } from '../../apis/cleanup-candidate.ts'
import { cleanupPolicy } from '../../apis/cleanup-policy.ts'
import { startJanitorWorld, type JanitorWorld, type JanitorWorldOptions } from '../../../test/janitor/janitor-world.ts'

const hour = 3_600_000
const minute = 60_000

let world: JanitorWorld | undefined
afterEach(async () => {
  await world?.[Symbol.asyncDispose]()
  world = undefined
})

/** A world with these ConfigMaps, two hours old, and a policy that has had time to look. */
async function start(
  configMaps: readonly string[],
  spec: Parameters<JanitorWorld['policy']>[0] = {},
  options: JanitorWorldOptions = {},
): Promise<JanitorWorld> {
  world = await startJanitorWorld(options)
  for (const name of configMaps) await world.configMap(name)
  await world.pass(2 * hour)
  await world.policy(spec)
  await world.pass(minute)
  return world
}

/** Lets time pass in the world of the test. */
async function passed(ms: number): Promise<void> {
  await world?.pass(ms)
}

async function patchPolicy(target: JanitorWorld, spec: Record<string, unknown>): Promise<void> {
  await target.client.patch(cleanupPolicy.type, { name: 'tidy' }, { type: 'merge', body: { spec } })
}

describe('a mark', () => {
  it('is made, announced, waited for and carried out', async () => {
    const { phases, exists, candidates, configMap } = await start(['old'])
    await configMap('young')
    expect(await phases()).toEqual({ old: 'Notified' })
    const [candidate] = await candidates()
    expect(candidate?.status?.notices).toMatchObject([{ channel: 'events', recipient: 'event:events' }])
    await passed(5 * hour + 55 * minute)
    expect(await exists('old')).toBe(true)
    await passed(10 * minute)
    expect(await exists('old')).toBe(false)
    expect(await phases()).toMatchObject({ old: 'Deleted', young: 'Notified' })
    expect(
      await (world as JanitorWorld).names({ group: 'sojourn.dev', version: 'v1alpha1', plural: 'departures' }),
    ).toHaveLength(1)
  })

  it('is lifted as soon as its resource complies or is excluded', async () => {
    const { phases, client } = await start(['one', 'two'])
    const type = configMaps
    await client.patch(
      type,
      { namespace: 'team', name: 'one' },
      { type: 'merge', body: { metadata: { annotations: { ttl: '30d' } } } },
    )
    await patchPolicy(world as JanitorWorld, {
      exclusions: [{ type: 'Literal', attributes: [{ key: 'name', value: ['two', 'kube-root-ca.crt'] }] }],
    })
    await passed(hour)
    expect(await phases()).toEqual({ one: 'Unmarked', two: 'Unmarked' })
  })

  it('is announced again when it is made again', async () => {
    const { phases, candidates } = await start(['one'])
    await patchPolicy(world as JanitorWorld, { minAge: '1d' })
    await passed(hour)
    expect(await phases()).toEqual({ one: 'Unmarked' })
    await patchPolicy(world as JanitorWorld, { minAge: '1h' })
    await passed(hour)
    const [candidate] = await candidates()
    expect(candidate?.status).toMatchObject({ phase: 'Notified', generation: 2 })
    expect(candidate?.status?.notices?.map(({ generation }) => generation)).toEqual([1, 2])
  })

  it('E6: never passes to another resource under the same name', async () => {
    const { client, configMap, exists, candidates } = await start(['one'])
    await client.deleteObject(configMaps, { namespace: 'team', name: 'one' })
    await configMap('one')
    await passed(6 * hour)
    expect(await exists('one')).toBe(true)
    const marks = await candidates()
    expect(marks.map(({ status }) => [status?.phase, status?.because])).toContainEqual(['Unmarked', 'gone-by-itself'])
    expect(new Set(marks.map(({ metadata }) => metadata.name)).size).toBe(marks.length)
  })

  it('waits for a human who holds or postpones it', async () => {
    const { client, exists, candidates } = await start(['held', 'later', 'plain'])
    for (const candidate of await candidates()) {
      const { name } = candidate.spec.resource
      const change = name === 'held' ? { hold: true } : name === 'later' ? { notBefore: '2026-01-05T20:00:00Z' } : {}
      await client.patch(
        cleanupCandidate.type,
        { name: candidate.metadata.name },
        { type: 'merge', body: { spec: change } },
      )
    }
    await passed(7 * hour)
    expect([await exists('held'), await exists('later'), await exists('plain')]).toEqual([true, true, false])
    await passed(4 * hour)
    expect([await exists('held'), await exists('later')]).toEqual([true, false])
  })

  it('E24: stays Deleting until the resource and its finalizers are gone', async () => {
    world = await startJanitorWorld()
    await world.configMap('stuck', { finalizers: ['example.org/wait'] })
    await world.pass(2 * hour)
    await world.policy({})
    await world.pass(7 * hour)
    expect(await world.phases()).toEqual({ stuck: 'Deleting' })
    const type = configMaps
    await world.client.patch(
      type,
      { namespace: 'team', name: 'stuck' },
      { type: 'merge', body: { metadata: { finalizers: null } } },
    )
    await world.pass(hour)
    expect(await world.phases()).toEqual({ stuck: 'Deleted' })
  })

  it('E21: is deleted with its policy, and never carried out after that', async () => {
    const { client, exists, candidates } = await start(['one'])
    await client.deleteObject(cleanupPolicy.type, { name: 'tidy' })
    await passed(7 * hour)
    expect(await candidates()).toEqual([])
    expect(await exists('one')).toBe(true)
  })

  it('exists once per policy, each with its own notice', async () => {
    const { policy, candidates, exists } = await start(['one'], { retention: { duration: '30d' } })
    await policy({ retention: { duration: '3h' } }, 'other')
    await passed(hour)
    const marks = await candidates()
    expect(Object.fromEntries(marks.map(({ spec, status }) => [spec.policy, status?.notices?.length]))).toEqual({
      other: 1,
      tidy: 1,
    })
    await passed(3 * hour)
    expect(await exists('one')).toBe(false)
  })
})

describe('caps', () => {
  it('E17: limit marks and deletions in each cycle', async () => {
    const names = Array.from({ length: 7 }, (_, index) => `c${index}`)
    const { phases } = await start(names, {
      limits: { maxMarks: 3, maxDeletes: 2, maxDeletePercent: 100 },
      retention: { duration: '1h' },
    })
    expect(Object.keys(await phases())).toHaveLength(3)
    await passed(hour / 2)
    expect(Object.keys(await phases())).toHaveLength(6)
    await passed(hour / 2 + minute)
    const gone = async () => Object.values(await phases()).filter((phase) => phase === 'Deleted').length
    expect(await gone()).toBe(2)
    await passed(hour / 2)
    expect(await gone()).toBe(4)
  })

  it('E17: count a share of everything listed, not of what is marked', async () => {
    const names = Array.from({ length: 10 }, (_, index) => `c${index}`)
    const { phases } = await start(names, {
      limits: { maxDeletes: 100, maxDeletePercent: 20 },
      retention: { duration: '1h' },
    })
    await passed(hour + 5 * minute)
    expect(Object.values(await phases()).filter((phase) => phase === 'Deleted')).toHaveLength(2)
  })

  it('spread batches over time', async () => {
    const names = Array.from({ length: 4 }, (_, index) => `c${index}`)
    const { phases } = await start(names, {
      limits: { maxDeletes: 10, maxDeletePercent: 100, batchSize: 2, deleteSpread: '2h' },
      retention: { duration: '1h' },
    })
    const gone = async () => Object.values(await phases()).filter((phase) => phase === 'Deleted').length
    await passed(hour + 5 * minute)
    expect(await gone()).toBe(2)
    await passed(hour)
    expect(await gone()).toBe(4)
  })

  it('E9: do not count the policy’s own deletions as a drop', async () => {
    const old = Array.from({ length: 12 }, (_, index) => `old${index}`)
    const { configMap, exists, phases, readPolicy } = await start(old, { retention: { duration: '1h' } })
    for (const name of ['young', 'younger']) await configMap(name)
    await passed(hour + 15 * minute)
    expect(Object.values(await phases()).filter((phase) => phase === 'Deleted')).toHaveLength(12)
    await passed(4 * hour)
    expect((await readPolicy()).status?.locations?.kubernetes?.circuit).toBeUndefined()
    for (const name of ['young', 'younger']) expect(await exists(name)).toBe(false)
  })

  it('open a circuit when too many marks would be lifted, until a human closes it', async () => {
    const { phases, call, readPolicy } = await start(['a', 'b', 'c'], { limits: { maxUnmarks: 2 } })
    await patchPolicy(world as JanitorWorld, { minAge: '10d' })
    await passed(7 * hour)
    expect(Object.values(await phases())).toEqual(['Notified', 'Notified', 'Notified'])
    const conditions = (await readPolicy()).status?.conditions ?? []
    expect(conditions.find(({ type }) => type === 'CircuitOpen')).toMatchObject({
      status: 'True',
      message: expect.stringContaining('3 marks'),
    })
    await call('POST', '/janitor/policies/tidy/close-circuit')
    await passed(hour)
    expect(Object.values(await phases())).toEqual(['Unmarked', 'Unmarked', 'Unmarked'])
  })
})

describe('a policy', () => {
  it('E14: with a problem names the field, and does nothing', async () => {
    const { readPolicy, candidates } = await start(['one'], {
      exclusions: [{ type: 'Literal', attributes: [{ key: 'name', value: ['pattern:('] }] }],
    })
    await passed(hour)
    expect((await readPolicy()).status?.conditions).toMatchObject([
      { type: 'Ready', status: 'False', message: expect.stringContaining('spec.exclusions[0].attributes[0].value') },
      { type: 'Stalled', status: 'True' },
    ])
    expect(await candidates()).toEqual([])
  })

  it.each([
    ['a schedule', { scheduleRef: 'nowhere' }, 'spec.scheduleRef: WorkSchedule "nowhere" does not exist'],
    ['a channel', { notification: { channels: ['missing'] } }, 'spec.notification.channels[0]'],
    ['a rule', { rules: [{ rules: [{ name: 'NoSuchRule' }] }] }, 'spec.rules[0].rules[0].name: unknown rule'],
    [
      'a namespace',
      { targets: [{ kubernetes: { resources: [{ kind: 'ConfigMap' }], namespaces: { exclude: ['prod-*'] } } }] },
      'spec.targets[0].kubernetes.namespaces.exclude[0]: "prod-*" is not the name of a namespace',
    ],
    [
      'a selector',
      {
        targets: [
          {
            kubernetes: {
              resources: [{ kind: 'ConfigMap' }],
              labelSelector: { matchExpressions: [{ key: 'app', operator: 'In' as const }] },
            },
          },
        ],
      },
      'spec.targets[0].kubernetes.labelSelector: ',
    ],
  ])('E14: waits for %s that does not exist', async (_, spec, message) => {
    const { readPolicy, candidates } = await start(['one'], spec)
    expect((await readPolicy()).status?.conditions).toMatchObject([
      { type: 'Ready', status: 'False', message: expect.stringContaining(message) },
      { type: 'Stalled', status: 'True' },
    ])
    expect(await candidates()).toEqual([])
  })

  it('waits for a channel that can be used', async () => {
    world = await startJanitorWorld()
    await world.channel('half', { type: 'smtp' })
    await world.configMap('one')
    await world.pass(2 * hour)
    await world.policy({ notification: { channels: ['half'] } })
    await world.pass(minute)
    expect((await world.readPolicy()).status?.conditions).toMatchObject([
      {
        type: 'Ready',
        status: 'False',
        message: 'spec.notification.channels[0]: NotificationChannel "half": it needs spec.smtp',
      },
      { type: 'Stalled', status: 'True' },
    ])
    expect(await world.candidates()).toEqual([])
  })

  it.each([
    ['time zone', { timeZone: 'Mars/Olympus' }, 'spec.timeZone: "Mars/Olympus" is not a time zone'],
    ['schedule', { skip: [{ from: '2026-02-01', to: '2026-01-01' }] }, 'spec.skip[0]: ends'],
  ])('E14: does nothing with an invalid %s', async (_, wrong, message) => {
    world = await startJanitorWorld()
    await world.create({
      apiVersion: 'sojourn.dev/v1alpha1',
      kind: 'WorkSchedule',
      metadata: { name: 'odd' },
      spec: { windows: [{ days: ['Monday'] }], ...wrong },
    })
    await world.configMap('one')
    await world.pass(2 * hour)
    await world.policy({ scheduleRef: 'odd' })
    await world.pass(hour)
    expect((await world.readPolicy()).status?.conditions).toMatchObject([
      {
        type: 'Ready',
        status: 'False',
        message: expect.stringContaining(`spec.scheduleRef: WorkSchedule "odd": ${message}`),
      },
      { type: 'Stalled', status: 'True' },
    ])
    expect(await world.candidates()).toEqual([])
  })

  it('marks, announces and deletes only in its hours', async () => {
    world = await startJanitorWorld()
    await world.create({
      apiVersion: 'sojourn.dev/v1alpha1',
      kind: 'WorkSchedule',
      metadata: { name: 'office' },
      spec: { windows: [{ days: ['Monday', 'Tuesday'], start: '12:00', end: '14:00' }] },
    })
    await world.configMap('one')
    await world.pass(2 * hour)
    await world.policy({ scheduleRef: 'office', retention: { duration: '3h' } })
    await world.pass(hour)
    expect(await world.candidates()).toEqual([])
    await world.pass(2 * hour)
    const [candidate] = await world.candidates()
    expect(candidate?.status).toMatchObject({ phase: 'Notified', projectedDeletionTime: '2026-01-06T12:00:00Z' })
    await world.pass(20 * hour)
    expect(await world.exists('one')).toBe(true)
    await world.pass(4 * hour)
    expect(await world.exists('one')).toBe(false)
  })

  it('E29: never deletes parts of Sojourn or of the cluster', async () => {
    const kinds = [
      { kind: 'ConfigMap' },
      { kind: 'Secret' },
      { group: 'coordination.k8s.io', kind: 'Lease' },
      { group: 'apiextensions.k8s.io', kind: 'CustomResourceDefinition' },
      { kind: 'Namespace' },
      { group: 'sojourn.dev', kind: 'CleanupPolicy' },
    ]
    const { candidates } = await start([], {
      targets: [{ kubernetes: { resources: kinds } }],
      rules: [{ rules: [{ name: 'Expression', parameters: { expression: 'true' } }] }],
      exclusions: [],
    })
    await passed(hour)
    const marked = (await candidates()).map(
      ({ spec: { resource } }) => `${resource.kind} ${resource.namespace ?? ''}/${resource.name}`,
    )
    expect(marked.filter((name) => /kube-|sojourn|CustomResource/.test(name.replace('kube-root-ca.crt', '')))).toEqual(
      [],
    )
    expect(marked).toContain('Namespace /team')
  })

  it('does not mark objects that have an owner reference', async () => {
    world = await startJanitorWorld()
    const owner = await world.configMap('owner')
    await world.configMap('owned', {
      ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: owner.metadata.uid }],
    })
    await world.pass(2 * hour)
    await world.policy({})
    await world.pass(minute)
    expect(await world.phases()).toEqual({ owner: 'Notified' })
  })
})

describe('in and out of service', () => {
  it('C19: does nothing while it is paused, and goes on after', async () => {
    const { call, policy, candidates } = await start([])
    await call('POST', '/janitor/pause')
    await passed(minute)
    await (world as JanitorWorld).configMap('one')
    await passed(2 * hour)
    await policy({}, 'second')
    await passed(hour)
    expect(await candidates()).toEqual([])
    await call('POST', '/janitor/resume')
    await passed(hour)
    expect(await candidates()).not.toEqual([])
  })

  it('C18: does nothing while this instance is out of service', async () => {
    const { candidates } = await start(['one'], {}, { janitor: { inService: () => false } })
    await passed(hour)
    expect(await candidates()).toEqual([])
  })
})

describe('a policy that changes', () => {
  const minute = 60_000
  const hour = 60 * minute
  const retention = (duration: string) => ({ retention: { duration } })

  it('C59: created again under its name, it tells anew and keeps its own retention', async () => {
    await using world = await startJanitorWorld()
    await world.configMap('one')
    await world.pass(2 * hour)
    await world.policy(retention('6h'))
    await world.pass(hour)
    const [before] = await world.candidates()
    expect(before?.status?.phase).toBe('Notified')
    // What a policy left that was deleted, and created again, while no janitor ran.
    const place = { name: before?.metadata.name ?? '' }
    const former = { type: 'merge', body: { status: { policyUid: 'former' } } } as const
    await world.client.patch(cleanupCandidate.type, place, former, { subresource: 'status' })
    await world.client.patch(cleanupPolicy.type, { name: 'tidy' }, { type: 'merge', body: { spec: retention('30h') } })
    await world.pass(10 * hour)
    expect(await world.exists('one')).toBe(true)
    const [after] = await world.candidates()
    expect(after?.status).toMatchObject({ phase: 'Notified', generation: 2, policyUid: before?.status?.policyUid })
    await world.pass(25 * hour)
    expect(await world.exists('one')).toBe(false)
  })

  it('C60: a lengthened retention keeps what is announced already', async () => {
    await using world = await startJanitorWorld()
    await world.configMap('one')
    await world.pass(2 * hour)
    await world.policy(retention('6h'))
    await world.pass(hour)
    await world.client.patch(cleanupPolicy.type, { name: 'tidy' }, { type: 'merge', body: { spec: retention('30h') } })
    await world.pass(10 * hour)
    expect(await world.exists('one')).toBe(true)
    const [mark] = await world.candidates()
    expect(Date.parse(mark?.status?.projectedDeletionTime ?? '')).toBeGreaterThan(world.clock.now() + 15 * hour)
    await world.pass(25 * hour)
    expect(await world.exists('one')).toBe(false)
  })

  it('C61: a shortened retention deletes nothing before the date that its owner was told', async () => {
    await using world = await startJanitorWorld()
    await world.configMap('one')
    await world.pass(2 * hour)
    await world.policy(retention('30h'))
    await world.pass(hour)
    await world.client.patch(cleanupPolicy.type, { name: 'tidy' }, { type: 'merge', body: { spec: retention('2h') } })
    await world.pass(20 * hour)
    expect(await world.exists('one')).toBe(true)
    await world.pass(12 * hour)
    expect(await world.exists('one')).toBe(false)
  })
})
