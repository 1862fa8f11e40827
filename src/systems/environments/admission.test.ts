import { describe, expect, it } from 'vitest'
import { EnvironmentAdmission } from '../../admission/environment-admission.ts'
import { environmentClass, type EnvironmentClass } from '../../apis/environment-class.ts'
import { environment } from '../../apis/environment.ts'
import { deployments, namespaces } from '../../kube/core-types.ts'
import type { KubeObject } from '../../kube/object.ts'
import {
  channel,
  classOf,
  day,
  deploymentOf,
  exists,
  forges,
  hour,
  minute,
  namespaceOf,
  place,
  pullUrl,
  read,
  start,
} from '../../../test/environments/environments-world.ts'
import { startWorld, type World } from '../../../test/world.ts'

const reasonOf = async (world: World, name: string) => {
  const { status } = await world.client.get<EnvironmentClass>(environmentClass.type, { name })
  return status?.conditions?.find(({ type }) => type === 'Ready')
}
const withPull = { 'sojourn.dev/owner': 'ada@example.org', 'sojourn.dev/pull-request': pullUrl }

describe('two classes that select one Namespace', () => {
  it.each([
    ['the second class', true],
    ['the Namespace', false],
  ])('follow the older one, and both say so, when %s comes last', async (_, isNamespaceFirst) => {
    await using started = await start({ channels: [] })
    const { world } = started
    if (isNamespaceFirst) await world.create(namespaceOf())
    await world.pass(minute)
    await world.create(classOf({ channels: [], delete: { after: '2d' } }, 'another'))
    if (!isNamespaceFirst) await world.create(namespaceOf())
    await world.pass(minute)
    expect((await read(world)).spec.className).toBe('preview')
    const message = (name: string) => expect.stringContaining(name) as string
    expect(await reasonOf(world, 'another')).toMatchObject({ reason: 'Overlapping', message: message('preview') })
    expect(await reasonOf(world, 'preview')).toMatchObject({ reason: 'Overlapping', message: message('another') })
    const body = { metadata: { labels: { env: null } } }
    await world.client.patch(namespaces, { name: 'shop-pr-42' }, { type: 'merge', body })
    await world.pass(minute)
    for (const name of ['another', 'preview'])
      expect(await reasonOf(world, name)).toMatchObject({ status: 'True', reason: 'InForce' })
  })
})

describe('a second Environment in a Namespace', () => {
  it('says that it is a duplicate, and decides nothing', async () => {
    await using started = await start({ channels: [] })
    const { world } = started
    await world.create(namespaceOf())
    await world.pass(minute)
    const { apiVersion, kind } = environment
    const second = { namespace: 'shop-pr-42', name: 'a-second' }
    await world.create({ apiVersion, kind, metadata: second, spec: { className: 'preview', owner: 'eve@example.org' } })
    await world.pass(minute)
    const { status } = await read(world, second)
    expect(status?.conditions?.find(({ type }) => type === 'Ready')).toMatchObject({
      status: 'False',
      reason: 'Duplicate',
      message: expect.stringContaining('Environment shop-pr-42') as string,
    })
    expect((await read(world)).status?.owner).toBe('ada@example.org')
    await world.client.deleteObject(environment.type, place, {})
    await world.pass(minute)
    expect((await read(world, second)).status).toMatchObject({ phase: 'Awake', owner: 'eve@example.org' })
  })
})

describe('a class that names what does not exist', () => {
  it('is not Ready and says in which fields, until it is there', async () => {
    await using started = await start({ channels: ['post'], delete: { window: 'office' }, sleep: { awake: 'nights' } })
    const { world } = started
    await world.pass(minute)
    expect(await reasonOf(world, 'preview')).toMatchObject({
      status: 'False',
      reason: 'ReferenceNotFound',
      message:
        'spec.channels: there is no NotificationChannel post; spec.sleep.awake: there is no WorkSchedule nights; spec.delete.window: there is no WorkSchedule office',
    })
    await world.create({ ...channel, metadata: { name: 'post' } })
    for (const name of ['nights', 'office'])
      await world.create({
        apiVersion: 'sojourn.dev/v1alpha1',
        kind: 'WorkSchedule',
        metadata: { name },
        spec: { windows: [{ days: ['Monday'], start: '08:00', end: '18:00' }] },
      })
    await world.pass(minute)
    expect(await reasonOf(world, 'preview')).toMatchObject({ status: 'True', reason: 'InForce' })
  })
})

describe('a class that is deleted', () => {
  it('takes its announcements with it: the environment stays', async () => {
    await using started = await start()
    const { world } = started
    await world.create(namespaceOf())
    await world.create(deploymentOf())
    await world.pass(6 * day + hour)
    expect((await read(world)).status?.phase).toBe('Announced')
    await world.client.deleteObject(environmentClass.type, { name: 'preview' }, {})
    await world.pass(90 * day)
    expect((await read(world)).status).toMatchObject({ phase: 'Awake', because: 'no-class' })
    expect((await read(world)).status?.announcement).toBeUndefined()
    expect(await exists(world)).toBe(true)
  })
})

describe('the pull request of an environment', () => {
  it('is no longer read once the environment names another one', async () => {
    await using started = await start({ pullRequest: { forges: [...forges] } })
    const { world, forge } = started
    for (const number of [41, 42]) forge.open(number)
    await world.create(namespaceOf('shop-pr-42', withPull))
    await world.pass(5 * minute)
    const annotations = { 'sojourn.dev/pull-request': pullUrl.replace('acme/shop/pulls/42', 'acme/other/pulls/41') }
    const body = { metadata: { annotations } }
    await world.client.patch(namespaces, { name: 'shop-pr-42' }, { type: 'merge', body })
    await world.pass(2 * minute)
    forge.requests.length = 0
    await world.pass(10 * minute)
    expect(forge.requests.length).toBeGreaterThan(0)
    expect(forge.requests.filter((request) => request.includes('/pulls/42'))).toEqual([])
  })

  it('keeps its one comment when the environment is created anew under the same name', async () => {
    await using started = await start({ pullRequest: { forges: [...forges] }, delete: {}, channels: [] })
    const { world, forge } = started
    forge.open(42)
    await world.create(namespaceOf('shop-pr-42', withPull))
    await world.pass(10 * minute)
    expect(forge.comments).toHaveLength(1)
    await world.client.deleteObject(environment.type, place, {})
    await world.client.deleteObject(namespaces, { name: 'shop-pr-42' }, {})
    await expect.poll(() => exists(world)).toBe(false)
    await world.pass(minute)
    await world.create(namespaceOf('shop-pr-42', withPull))
    await world.pass(10 * minute)
    expect((await read(world)).status?.pullRequest?.commentId).toBe('1')
    expect(forge.comments).toHaveLength(1)
  })
})

describe('kubectl exec in an environment', () => {
  const connect = { operation: 'CONNECT', type: { kind: 'PodExecOptions', group: '', plural: 'pods' } }
  const request = { ...connect, namespace: 'shop-pr-42', name: 'shop-1', isDryRun: false, object: undefined }

  it.each([
    ['counts as use', ['Deploy', 'Exec'], 'exec', 'Exec'],
    ['counts as use through a forwarded port', ['Exec'], 'portforward', 'Exec'],
    ['does not count', ['Deploy'], 'exec', 'Created'],
    ['of logs does not count', ['Deploy', 'Exec'], 'log', 'Created'],
  ] as const)('%s where the class says %j', async (_, use, subresource, expected) => {
    await using started = await start({ use: [...use], channels: [] })
    const { world } = started
    const admission = new EnvironmentAdmission(world.clock)
    await admission.follow(world.informers, world.client)
    await world.create(namespaceOf())
    await world.create(deploymentOf())
    await world.pass(6 * day + hour)
    expect((await read(world)).status?.phase).toBe('Announced')
    for (let i = 0; i < 5; i++) admission.validate({ ...request, subresource, old: undefined })
    await world.pass(minute)
    const { status } = await read(world)
    expect(status?.lastUsedBy).toBe(expected)
    expect(status?.phase).toBe(expected === 'Exec' ? 'Awake' : 'Announced')
    expect(Date.parse(status?.deletesAt ?? '') - world.clock.now() > 6 * day).toBe(expected === 'Exec')
  })
})

describe('the limits of a class, as a cluster asks its webhook', () => {
  it('129: refuse the environment beyond them, naming the least recently used ones of its owner', async () => {
    await using world = await startWorld()
    await world.create(classOf({ limits: { max: 2 }, channels: [] }))
    const admission = new EnvironmentAdmission(world.clock)
    await admission.follow(world.informers, world.client)
    const type = { kind: 'Namespace', group: '', plural: 'namespaces' }
    const review = (
      name: string,
      given: { operation?: string; old?: KubeObject; labels?: object; owner?: string } = {},
    ) => {
      const { operation = 'CREATE', old, labels = { env: 'preview' }, owner = 'ada@example.org' } = given
      const annotations = { 'sojourn.dev/owner': owner }
      const object = { ...namespaceOf(name), metadata: { name, labels, annotations } } as KubeObject
      admission.validate({ operation, type, namespace: '', name, subresource: '', object, old, isDryRun: false })
    }
    // Reviews of Namespaces that never come take no room: a tenant could send them.
    for (let i = 0; i < 5; i++) review(`forged-${i}`)
    // Those that came count, before they have their Environments.
    for (const name of ['pr-1', 'pr-2']) {
      await world.create(namespaceOf(name))
      await world.pass(minute)
    }
    const refusal =
      /2 of 2 environments of class preview exist; least recently used: pr-1 .*kubectl delete namespace pr-1/
    expect(() => review('pr-3')).toThrow(refusal)
    // Those of others are not named: 129.
    const ofOthers =
      /2 of 2 environments of class preview exist, all of other owners\. An administrator can delete one, or raise limits\.max of the class$/
    expect(() => review('pr-3', { owner: 'eve@example.org' })).toThrow(ofOthers)
    const old = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other', labels: {} } }
    expect(() => review('other', { operation: 'UPDATE', old })).toThrow(refusal)
    review('pr-2')
    review('other', { labels: {} })
  })
})

describe('an environment whose deletion is held', () => {
  it('is named what holds it, and is looked at now and then only', async () => {
    await using started = await start({ channels: [], delete: { after: '2d' } })
    const { world } = started
    await world.create(namespaceOf())
    const { metadata, ...rest } = deploymentOf()
    await world.create({ ...rest, metadata: { ...metadata, annotations: { 'sojourn.dev/keep': 'true' } } })
    await world.pass(2 * day + hour)
    const held = await read(world)
    expect(held.status).toMatchObject({ phase: 'Held', message: expect.stringContaining('held') as string })
    await world.pass(hour)
    expect((await read(world)).metadata.resourceVersion).toBe(held.metadata.resourceVersion)
    expect(await exists(world)).toBe(true)
    const body = { metadata: { annotations: { 'sojourn.dev/keep': null } } }
    await world.client.patch(deployments, { namespace: 'shop-pr-42', name: 'shop' }, { type: 'merge', body })
    await world.pass(hour)
    expect(await exists(world)).toBe(false)
  })
})

describe('many environments of one repository', () => {
  it('are read by lists within the budget of the forge, and none is unknown because it is spent', async () => {
    await using started = await start({ pullRequest: { forges: [...forges], comment: false, commitStatus: false } })
    const { world, forge } = started
    const names = Array.from({ length: 120 }, (_, index) => `pr-${index + 1}`)
    for (const [index, name] of names.entries()) {
      forge.open(index + 1)
      await world.create(namespaceOf(name, { 'sojourn.dev/pull-request': pullUrl.replace('42', String(index + 1)) }))
    }
    await world.pass(5 * minute)
    for (const name of names) {
      const { status } = await read(world, { namespace: name, name })
      expect(status?.pullRequest?.state).toBe('open')
      expect(status?.conditions?.find(({ type }) => type === 'PullRequestKnown')).toMatchObject({ status: 'True' })
    }
    // Three pages a minute, and a few more at the start.
    expect(forge.requests.length).toBeLessThan(60)
  })
})
