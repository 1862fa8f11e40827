import { configMaps } from '../../kube/core-types.ts'
import { afterEach, describe, expect, it } from 'vitest'
import { startJanitorWorld, type JanitorWorld, type JanitorWorldOptions } from '../../../test/janitor/janitor-world.ts'
import { cleanupPolicy } from '../../apis/cleanup-policy.ts'
import { startMailSink } from '../../../test/janitor/sinks.ts'

const hour = 3_600_000
const minute = 60_000
const day = 24 * hour
const namespace = 'kubernetes:home:team:configmap'

let world: JanitorWorld
afterEach(() => world[Symbol.asyncDispose]())

/** ConfigMaps made an hour apart, the first one the oldest, and a policy that has marked them all. */
async function start(
  names: readonly string[],
  spec: Parameters<JanitorWorld['policy']>[0] = {},
  options: JanitorWorldOptions = {},
): Promise<JanitorWorld> {
  world = await startJanitorWorld(options)
  for (const name of names) {
    await world.configMap(name)
    await world.pass(hour)
  }
  await world.pass(2 * hour)
  await world.policy(spec)
  await world.pass(minute)
  return world
}

const read = async (path: string) => (await world.call('GET', `/resources/${path}`)).body
const names = (found: unknown) => (found as readonly { name: string }[]).map(({ name }) => name).toSorted()

describe('Swabbie’s paths', () => {
  it('list marks in short and full form, by name, by namespace and one by one', async () => {
    await start(['one', 'two'])
    expect(await read('marked')).toEqual(
      expect.arrayContaining([
        {
          name: 'one',
          resourceId: 'one',
          namespace,
          summaries: [{ ruleName: 'AttributeRule', description: 'its namespace is team' }],
          projectedDeletionStamp: expect.any(Number),
          markTs: expect.any(Number),
          resourceOwner: '',
        },
      ]),
    )
    for (const path of ['marked?expand=true', `marked/${namespace}?expand`])
      expect(await read(path)).toMatchObject([
        { resource: { resourceType: 'ConfigMap', cloudProvider: 'kubernetes' }, notificationInfo: {} },
        { notificationInfo: { notificationStamp: expect.any(Number) } },
      ])
    expect(await read('marked?list=true')).toEqual(
      ['one', 'two'].map((name) => ({ name, resourceId: name, namespace })),
    )
    expect(names(await read(`marked/${namespace.toUpperCase()}`))).toEqual(['one', 'two'])
    expect(await read('marked/aws:test:us-east-1:image')).toEqual([])
    expect(await read(`marked/${namespace}/one`)).toMatchObject({ namespace, candidate: expect.any(String) })
    expect((await world.call('GET', `/resources/marked/${namespace}/ONE`)).status).toBe(404)
    expect(await read('numMarked')).toBe(2)
    expect(await read('canDelete')).toEqual([])
    expect(await read('deleted')).toEqual([])
  })

  it('find the state of one, by its parts, its id, or its namespace and id', async () => {
    await start(['one', 'two'])
    const query = 'provider=kubernetes&account=home&location=team&resourceType=configMap&resourceId=one'
    for (const path of [`state?${query}`, `state/${namespace}/one`])
      expect(await read(path)).toMatchObject({ markedResource: { resource: { name: 'one' } }, deleted: false })
    expect(await read('state/one')).toMatchObject([{ markedResource: { resource: { name: 'one' } }, deleted: false }])
    expect(await read('states?start=0&limit=1')).toHaveLength(2)
  })

  it('answer for unknown ids as Swabbie does: no state, an empty list, or not found', async () => {
    await start(['one'])
    expect(await world.call('GET', `/resources/state/${namespace}/three`)).toEqual({ status: 200, body: null })
    expect(await world.call('GET', '/resources/state/three')).toEqual({ status: 200, body: [] })
    const query = 'provider=kubernetes&account=home&location=team&resourceType=configMap&resourceId=three'
    expect((await world.call('GET', `/resources/state?${query}`)).status).toBe(404)
    expect((await world.call('GET', `/resources/marked/${namespace}/three`)).status).toBe(404)
  })

  it('sort lists of names, and prefer expand to list', async () => {
    await start(['b', 'c', 'a'])
    const listed = async (path: string) => ((await read(path)) as { name: string }[]).map(({ name }) => name)
    expect(await listed('marked?list=true')).toEqual(['a', 'b', 'c'])
    expect(await read('marked?list=true&expand=true')).toMatchObject([
      { resource: {} },
      { resource: {} },
      { resource: {} },
    ])
    for (const name of ['c', 'a', 'b']) await world.call('PUT', `/resources/state/${namespace}/${name}/optOut`)
    await world.pass(minute)
    expect(await listed('deleted')).toEqual(['a', 'b', 'c'])
  })

  it('call a notice by mail EMAIL', async () => {
    await using mail = await startMailSink()
    world = await startJanitorWorld()
    await world.channel('mail', {
      type: 'smtp',
      smtp: { host: '127.0.0.1', port: mail.port, from: 'janitor@example.org' },
    })
    await world.configMap('one', { annotations: { owner: 'ann@example.org' } })
    await world.pass(2 * hour)
    await world.policy({ notification: { channels: ['mail'] } })
    await world.pass(hour)
    expect(await read(`marked/${namespace}/one`)).toMatchObject({
      notificationInfo: { notificationType: 'EMAIL', recipient: 'ann@example.org' },
    })
  })

  it('C11: bring forward only the oldest of those that are due later', async () => {
    await start(['a', 'b', 'c', 'd', 'e'], { retention: { duration: '10d' } })
    const dates = async () =>
      Object.fromEntries(
        (await world.candidates()).map(({ spec, status }) => [
          spec.resource.name,
          Date.parse(status?.projectedDeletionTime ?? '') - world.clock.now(),
        ]),
      )
    const path = `/admin/resources/recalculate/${namespace}`
    const answer = await world.call('PUT', `${path}?retentionSeconds=3600&numResources=1`)
    expect(names((answer.body as { moved: unknown }).moved)).toEqual(['a'])
    const { a, ...others } = await dates()
    expect(a).toBeLessThanOrEqual(hour + minute)
    for (const left of Object.values(others)) expect(left).toBeGreaterThan(9 * day)
    const later = await world.call('PUT', `${path}?retentionSeconds=${20 * 86_400}&numResources=5`)
    expect(later.body).toEqual({ moved: [] })
    expect((await world.call('PUT', `${path}?retentionSeconds=soon`)).status).toBe(400)
  })

  it('C42: list the rules in use, each branch once', async () => {
    const rules = [{ rules: [{ name: 'AgeRule', parameters: { moreThanDays: 3 } }] }]
    await start([], { rules })
    await world.policy({ rules }, 'same')
    await world.pass(minute)
    expect(await read('rules')).toEqual(rules)
  })

  it('C53: return the history of each resource', async () => {
    await start(['left', 'kept', 'spared'])
    await world.call('PUT', `/resources/state/${namespace}/kept/optOut`)
    await world.client.patch(
      configMaps,
      { namespace: 'team', name: 'spared' },
      { type: 'merge', body: { metadata: { annotations: { ttl: '90d' } } } },
    )
    await world.pass(8 * hour)
    const story = async (name: string) => {
      const { statuses, deleted, optedOut, currentStatus } = (await read(`state/${namespace}/${name}`)) as {
        statuses: { name: string }[]
        deleted: boolean
        optedOut: boolean
        currentStatus: { name: string }
      }
      expect(currentStatus.name).toBe(statuses.at(-1)?.name)
      return { said: statuses.map((status) => status.name), deleted, optedOut }
    }
    expect(await story('left')).toEqual({ said: ['MARK', 'NOTIFY', 'DELETE'], deleted: true, optedOut: false })
    expect(await story('kept')).toEqual({ said: ['MARK', 'NOTIFY', 'OPTOUT'], deleted: false, optedOut: true })
    expect(await story('spared')).toEqual({ said: ['MARK', 'NOTIFY', 'UNMARK'], deleted: false, optedOut: false })
    for (const [status, expected] of [
      ['DELETE', 'left'],
      ['OPTOUT', 'kept'],
      ['unmark', 'spared'],
    ] as const)
      expect(await read(`states/${status}`)).toMatchObject([{ markedResource: { resource: { name: expected } } }])
    expect(await read('states/FAILED')).toEqual([])
    expect(names(await read('deleted'))).toEqual(['kept', 'left', 'spared'])
  })

  it('C58: count marks, and list those that are due', async () => {
    world = await startJanitorWorld()
    for (let index = 0; index < 200; index++) await world.configMap(`thing-${index}`)
    await world.pass(2 * hour)
    await world.policy({
      limits: { maxMarks: 1000, maxDeletes: 1000, maxDeletePercent: 100 },
      retention: { duration: '2h' },
    })
    await world.pass(hour)
    expect(await read('numMarked')).toBe(200)
    expect(await read('canDelete')).toEqual([])
    await world.call('POST', '/janitor/pause')
    await world.pass(3 * hour)
    expect(await read('canDelete')).toHaveLength(200)
    await world.call('PUT', `/resources/state/${namespace}/thing-7/optOut`)
    await world.pass(minute)
    expect(await read('numMarked')).toBe(199)
  })

  it('C58: drop marks that ended long ago', async () => {
    await start(['one'], { interval: '12h' })
    await world.pass(29 * day)
    expect(await world.phases()).toEqual({ one: 'Deleted' })
    await world.pass(3 * day)
    expect(await world.candidates()).toEqual([])
  })

  it('list marks without a notice, and retry notices on request', async () => {
    await using mail = await startMailSink()
    mail.refuse = () => ({ code: 451, message: 'later' })
    world = await startJanitorWorld()
    await world.channel('mail', {
      type: 'smtp',
      smtp: { host: '127.0.0.1', port: mail.port, from: 'janitor@example.org' },
    })
    await world.configMap('one', { annotations: { owner: 'ann@example.org' } })
    await world.pass(2 * hour)
    await world.policy({ notification: { channels: ['mail'] } })
    await world.pass(5 * hour)
    expect(names(await read('notify'))).toEqual(['one'])
    mail.refuse = () => undefined
    await world.pass(1000)
    expect(mail.mails).toEqual([])
    await world.call('POST', '/resources/notify')
    await world.pass(5000)
    expect(mail.mails).toHaveLength(1)
    expect(await read('notify')).toEqual([])
  })

  it('E18: write nothing in a dry run', async () => {
    await start(['one'], {}, { janitor: { dryRun: true, testing: { resourceIds: ['one'] } } })
    for (const [method, path] of [
      ['PUT', `/resources/state/${namespace}/one/optOut`],
      ['DELETE', `/resources/state/${namespace}/one/optOut`],
      ['POST', `/resources/state/${namespace}/one/restore`],
      ['PUT', `/admin/resources/recalculate/${namespace}?retentionSeconds=1`],
      ['POST', '/resources/notify'],
      ['POST', '/janitor/pause'],
      ['POST', '/janitor/opt-out/any'],
      ['DELETE', `/testing/resources/state/${namespace}/one`],
    ] as const)
      expect((await world.call(method, path)).status, `${method} ${path}`).toBe(409)
  })

  it('E18: do not change the marks of a policy that has become a dry run', async () => {
    await start(['one'], {}, { janitor: { testing: { resourceIds: ['one'] } } })
    await world.client.patch(cleanupPolicy.type, { name: 'tidy' }, { type: 'merge', body: { spec: { dryRun: true } } })
    await world.pass(minute)
    const path = `/admin/resources/recalculate/${namespace}?retentionSeconds=1`
    expect((await world.call('PUT', path)).body).toEqual({ moved: [] })
    expect((await world.call('DELETE', `/testing/resources/state/${namespace}/one`)).status).toBe(409)
    await world.pass(12 * hour)
    expect(await world.exists('one')).toBe(true)
  })
})
