import { describe, expect, it } from 'vitest'
import { EnvironmentAdmission } from '../../admission/environment-admission.ts'
import { environmentClass } from '../../apis/environment-class.ts'
import { environment } from '../../apis/environment.ts'
import { departure, type Departure } from '../../apis/departure.ts'
import { restoreDeparture } from '../../app/operations/restore.ts'
import { keepEnvironment } from '../../app/operations/environments.ts'
import { Client } from '../../client/client.ts'
import { findCondition } from '../../kube/conditions.ts'
import { cronJobs, deployments, namespaces, services } from '../../kube/core-types.ts'
import type { KubeObject, ResourceType, StoredObject } from '../../kube/object.ts'
import { formatTime } from '../../kube/time.ts'
import type { ApiRequest, Transport } from '../../kube/transport.ts'
import { readManagedItems } from '../../queries/managed-items.ts'
import { Reader } from '../../queries/reader.ts'
import {
  channel,
  classOf,
  day,
  deploymentOf,
  exists,
  forges,
  hour,
  launch,
  Mails,
  minute,
  namespaceOf,
  place,
  pullUrl,
  read,
  start,
} from '../../../test/environments/environments-world.ts'
import { startWorld, type World } from '../../../test/world.ts'
import { PullForge } from '../../../test/pull-forge.ts'
import { accessTo } from '../../forges/pull-access.ts'

describe('environments', () => {
  it('gives a matching Namespace an Environment that tells owner, use and the date of its deletion', async () => {
    await using started = await start()
    const { world } = started
    await world.create(namespaceOf())
    await world.create(deploymentOf())
    await world.pass(minute)
    const { status, spec } = await read(world)
    expect(spec.className).toBe('preview')
    expect(status).toMatchObject({
      phase: 'Awake',
      owner: 'ada@example.org',
      workloads: { awake: 1, asleep: 0 },
      lastUsedBy: 'Created',
    })
    expect(status?.conditions?.find(({ type }) => type === 'Ready')).toMatchObject({
      status: 'True',
      reason: 'Waiting',
    })
    expect(Date.parse(status?.deletesAt ?? '') - world.clock.now()).toBeGreaterThan(6.9 * day)
  })

  it.each([
    ['with it, unless it says itself', {}, { what: 'falls asleep', at: 29 * minute }, 'It sleeps with environment'],
    ['by its own TTL', { 'proxless/ttl-seconds': '600' }, { what: 'falls asleep', at: 9 * minute }, '600 seconds'],
  ])('shows in the status of a Service that it sleeps %s', async (_, more, next, why) => {
    await using started = await start({ channels: [], sleep: { idleAfter: '30m', grace: '0s' } })
    const { world } = started
    await world.create(namespaceOf())
    const deployment = deploymentOf()
    const annotations = { 'proxless/last-used': formatTime(world.clock.now()) }
    await world.create({ ...deployment, metadata: { ...deployment.metadata, annotations } })
    const served = { type: 'sojourn.dev/OnDemand', status: 'True', reason: 'Routed', message: '' }
    const service = await world.create({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        name: 'shop',
        namespace: place.namespace,
        annotations: { 'proxless/deployment': 'shop', ...more },
      },
      spec: { selector: { app: 'shop' }, ports: [{ port: 80 }] },
    })
    await world.client.updateStatus(services, service, { conditions: [served] })
    await world.pass(minute)
    const now = world.clock.now()
    const items = await readManagedItems(new Reader(world.client), { namespace: place.namespace, now })
    const item = items.find(({ system }) => system === 'activator')
    expect(item?.next).toEqual({ ...next, at: now + next.at })
    expect(item?.why).toContain(why)
  })

  it('leaves system namespaces and those that opted out alone, and takes back what it made when the label goes', async () => {
    await using started = await start({
      namespaceSelector: { matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'Exists' }] },
    })
    const { world } = started
    await world.create(namespaceOf('quiet', { 'sojourn.dev/environment': 'false' }))
    await world.create(namespaceOf())
    await world.pass(minute)
    expect(await world.names(environment.type)).toEqual(['shop-pr-42', 'team'])
    await world.client.patch(
      namespaces,
      { name: 'team' },
      { type: 'merge', body: { metadata: { annotations: { 'sojourn.dev/environment': 'false' } } } },
    )
    await world.pass(minute)
    expect(await world.names(environment.type)).toEqual(['shop-pr-42'])
  })

  it('announces, tells the owner once, and deletes at the date with everything recorded', async () => {
    await using started = await start()
    const { world, mails } = started
    await world.create(namespaceOf())
    await world.create(deploymentOf())
    const within = (name: string) => ({ apiVersion: 'v1', metadata: { name, namespace: 'shop-pr-42' } })
    const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
    await world.create({ ...within('data'), kind: 'PersistentVolumeClaim', spec } as KubeObject)
    for (const name of ['password', 'token']) await world.create({ ...within(name), kind: 'Secret' })
    await world.pass(6 * day + minute)
    expect((await read(world)).status).toMatchObject({ phase: 'Announced', announcement: { reason: 'unused' } })
    expect(mails.sent).toHaveLength(1)
    const { notice } = mails.sent[0]!
    expect(notice).toMatchObject({
      to: ['ada@example.org'],
      items: [
        {
          name: 'shop-pr-42',
          // The Environment itself is one of them.
          place: '5 objects, among them 1 volume with all data and 2 Secrets whose data cannot be restored',
          deletionAt: expect.any(Number) as number,
        },
      ],
    })
    await world.pass(notice.items[0]!.deletionAt - world.clock.now() - 1000)
    expect(await exists(world)).toBe(true)
    await world.pass(hour)
    expect(await exists(world)).toBe(false)
    expect(mails.sent).toHaveLength(1)
    const records = await world.client.list<Departure>(departure.type, {
      namespace: 'sojourn-system',
      labelSelector: '!sojourn.dev/page',
    })
    expect(records.items.map(({ spec }) => [spec.object.kind, spec.by.system, spec.because])).toContainEqual([
      'Namespace',
      'environments',
      'unused',
    ])
  })

  it('moves the date when a deploy comes, and withdraws the announcement', async () => {
    await using started = await start()
    const { world } = started
    await world.create(namespaceOf())
    const made = await world.create<StoredObject>(deploymentOf())
    await world.pass(6 * day + hour)
    expect((await read(world)).status?.announcement).toBeDefined()
    const { name, namespace = '' } = made.metadata
    await world.client.patch(
      deployments,
      { namespace, name },
      { type: 'merge', body: { spec: { template: { metadata: { annotations: { build: '2' } } } } } },
    )
    await world.pass(minute)
    expect((await read(world)).status).toMatchObject({ phase: 'Awake', lastUsedBy: 'Deploy' })
    await world.pass(2 * day)
    expect(await exists(world)).toBe(true)
  })

  it('shows the first request soon after creation as the last use, and later ones without a write each', async () => {
    await using started = await start({ sleep: { idleAfter: '30m' } })
    const { world } = started
    await world.create(namespaceOf())
    const { metadata } = await world.create<StoredObject>(deploymentOf())
    await world.pass(20_000)
    const request = async () => {
      const body = { metadata: { annotations: { 'proxless/last-used': new Date(world.clock.now()).toISOString() } } }
      await world.client.patch(deployments, { namespace: 'shop-pr-42', name: metadata.name }, { type: 'merge', body })
      await world.pass(1000)
      return (await read(world)).status
    }
    const first = await request()
    expect(first).toMatchObject({ lastUsedBy: 'Traffic', message: expect.stringContaining('(Traffic)') as string })
    await world.pass(minute)
    expect((await request())?.lastUsedAt).toBe(first?.lastUsedAt)
    await world.pass(hour)
    expect((await request())?.lastUsedAt).not.toBe(first?.lastUsedAt)
  })

  it('decides nothing while workloads may not be read, says so, and goes on after a restart with the right', async () => {
    const world = await startWorld()
    const [mails, forge] = [new Mails(), new PullForge()]
    await world.create(channel)
    await world.create(classOf())
    let isRefused = false
    const message = 'deployments.apps is forbidden'
    const status = { apiVersion: 'v1', kind: 'Status', status: 'Failure', reason: 'Forbidden', code: 403, message }
    const transport: Transport = async (request) =>
      isRefused && request.path.includes('/deployments')
        ? { status: 403, headers: {}, body: status }
        : await world.server.transport(request)
    const first = launch(world, { mails, forge, transport })
    await world.create(namespaceOf())
    await world.create(deploymentOf())
    await world.pass(minute)
    await first.stop()
    isRefused = true
    const second = launch(world, { mails, forge, transport })
    for (let days = 0; days < 30; days++) await world.pass(day)
    expect(await exists(world)).toBe(true)
    expect(mails.sent).toEqual([])
    const ready = async () => (await read(world)).status?.conditions?.find(({ type }) => type === 'Ready')
    expect(await ready()).toMatchObject({
      status: 'False',
      reason: 'Forbidden',
      message: expect.stringContaining(message) as string,
    })
    await second.stop()
    const third = launch(world, { mails, forge })
    await world.pass(hour)
    expect(await ready()).not.toMatchObject({ reason: 'Forbidden' })
    await third.stop()
    await world[Symbol.asyncDispose]()
  })

  it('deletes while the expression of its class over the Namespace and the pull request is true', async () => {
    const when =
      '"done" in namespaceObject.metadata.labels && !has(pullRequest.state) && environment.spec.className == "preview"'
    await using started = await start({ delete: { when, warnBefore: '1h' }, channels: [] })
    const { world } = started
    await world.create(namespaceOf())
    await world.pass(30 * day)
    expect(await exists(world)).toBe(true)
    const body = { metadata: { labels: { done: 'yes' } } }
    await world.client.patch(namespaces, { name: 'shop-pr-42' }, { type: 'merge', body })
    await world.pass(minute)
    expect((await read(world)).status).toMatchObject({ phase: 'Announced', announcement: { reason: 'condition' } })
    await world.pass(2 * hour)
    expect(await exists(world)).toBe(false)
  })

  it('holds the deletion while no owner could be told', async () => {
    await using started = await start()
    const { world, mails } = started
    mails.isDown = true
    await world.create(namespaceOf())
    await world.pass(20 * day)
    expect(await exists(world)).toBe(true)
    const { phase, message, conditions } = (await read(world)).status ?? {}
    const why = 'channel mail: mail server is down'
    expect([phase, message]).toEqual(['Held', `the deletion is due and held: the owner could not be told: ${why}`])
    expect(findCondition(conditions, 'Notified')).toMatchObject({ status: 'False', message: why })
    mails.isDown = false
    await world.pass(7 * hour)
    expect(mails.sent).toHaveLength(1)
    // The date in the mail is the one that holds, not the one that passed while the owner could not be told.
    const [{ at, notice }] = mails.sent as [(typeof mails.sent)[0]]
    const told = notice.items[0]?.deletionAt ?? 0
    expect(told - at).toBeGreaterThanOrEqual(day)
    expect(Date.parse((await read(world)).status?.deletesAt ?? '')).toBe(told)
    expect(await exists(world)).toBe(true)
    await world.pass(told - world.clock.now() - 1000)
    expect(await exists(world)).toBe(true)
    await world.pass(5000)
    expect(await exists(world)).toBe(false)
  })

  it('records that the owner was told though the cache is late', async () => {
    await using started = await start()
    const { world, mails } = started
    await world.create(namespaceOf())
    await world.pass(6 * day)
    // Another client writes the status while the mail is under way.
    mails.onSend = async () => {
      const body = { status: { message: 'changed meanwhile' } }
      await world.client.patch(environment.type, place, { type: 'merge', body }, { subresource: 'status' })
    }
    await world.pass(minute)
    expect(mails.sent).toHaveLength(1)
    expect((await read(world)).status?.announcement?.toldAt).toBeDefined()
    await world.pass(day + hour)
    expect(await exists(world)).toBe(false)
    expect(mails.sent).toHaveLength(1)
  })

  it('tells an owner of many environments in one notice a day', async () => {
    await using started = await start()
    const { world, mails } = started
    for (let i = 0; i < 5; i++) await world.create(namespaceOf(`pr-${i}`))
    await world.pass(5 * hour)
    await world.create(namespaceOf('late'))
    await world.pass(8 * day)
    const times = mails.sent.map(({ at }) => at)
    expect(mails.sent[0]?.notice.items).toHaveLength(5)
    for (const [index, at] of times.entries()) if (index > 0) expect(at - times[index - 1]!).toBeGreaterThanOrEqual(day)
  })

  it('keeps from the signed link by POST only, up to the maximum age', async () => {
    await using started = await start({ delete: { after: '7d', maxAge: '9d' } })
    const { world, mails, routes } = started
    await world.create(namespaceOf())
    await world.pass(6 * day + minute)
    const url = new URL(mails.sent[0]?.notice.items[0]?.optOutUrl ?? '')
    const ask = (method: string, query = Object.fromEntries(url.searchParams)) =>
      routes
        .find((route) => route.method === method)!
        .handle({ method, url: url.pathname, remoteAddress: '', params: place, query, headers: {}, body: '' })
    expect(await ask('GET')).toMatchObject({
      status: 200,
      body: expect.stringMatching(/Because<.*it was not used</s) as string,
    })
    expect((await read(world)).status?.kept).toBeUndefined()
    expect(await ask('POST', { ...Object.fromEntries(url.searchParams), signature: 'f'.repeat(64) })).toMatchObject({
      status: 403,
    })
    expect(await ask('POST')).toMatchObject({ status: 200 })
    await world.pass(minute)
    const { status, metadata } = await read(world)
    expect(status?.kept?.by).toBe('ada@example.org')
    const createdAt = Date.parse(metadata.creationTimestamp)
    expect(Date.parse(status?.kept?.until ?? '') - createdAt).toBeLessThanOrEqual(9 * day + minute)
    await world.pass(hour)
    expect(await exists(world)).toBe(true)
  })

  it('106: tells without a valid link not whether an environment exists', async () => {
    await using started = await start()
    const { world, routes } = started
    await world.create(namespaceOf())
    await world.pass(minute)
    const query = { generation: '1', expires: '9999999999', signature: 'f'.repeat(64) }
    const ask = (params: typeof place) =>
      routes[0]!.handle({ method: 'GET', url: '', remoteAddress: '', params, query, headers: {}, body: '' })
    expect(await ask(place)).toEqual(await ask({ namespace: 'none', name: 'none' }))
  })

  it('keeps by command from the date of the deletion', async () => {
    await using started = await start()
    const { world } = started
    await world.create(namespaceOf())
    await world.pass(6 * day + minute)
    const self = await read(world)
    const { until, was } = await keepEnvironment(world.client, self, { forMs: undefined, now: world.clock.now() })
    expect(until - (was ?? 0)).toBe(3 * day)
    await world.pass(minute)
    expect((await read(world)).status?.announcement).toBeUndefined()
  })

  it('follows a pull request: one comment, a commit status, and the deletion after the grace', async () => {
    await using started = await start({ pullRequest: { forges: [...forges] } })
    const { world, forge } = started
    forge.open(42)
    await world.create(
      namespaceOf('shop-pr-42', { 'sojourn.dev/owner': 'ada@example.org', 'sojourn.dev/pull-request': pullUrl }),
    )
    await world.create(deploymentOf())
    await world.pass(10 * minute)
    expect((await read(world)).status?.pullRequest).toMatchObject({ state: 'open', commentId: '1' })
    expect(forge.comments).toHaveLength(1)
    expect(forge.comments[0]).toContain('**Environment shop-pr-42** is awake')
    expect(forge.statuses.at(-1)).toMatchObject({ context: 'sojourn/shop-pr-42', state: 'success' })
    forge.close(42, world.clock.now())
    await world.pass(30 * minute)
    expect((await read(world)).status?.pullRequest?.state).toBe('closed')
    forge.open(42)
    await world.pass(2 * hour)
    expect(await exists(world)).toBe(true)
    forge.close(42, world.clock.now())
    await world.pass(2 * minute)
    forge.isDown = true
    await world.pass(3 * hour)
    expect(await exists(world)).toBe(true)
    forge.isDown = false
    await world.pass(10 * minute)
    expect(await exists(world)).toBe(false)
    expect(forge.comments).toHaveLength(1)
    expect(forge.comments[0]).toContain('being deleted')
    expect(forge.comments[0]).toContain('sojourn restore namespace-shop-pr-42-')
  })

  it.each([
    ['a repository that is not allowed', 'https://git.example.org/other/shop/pulls/42', 'NotAllowed'],
    ['another host', 'https://evil.example.org/acme/shop/pulls/42', 'NotAllowed'],
    ['something else than a pull request', 'https://git.example.org/acme/shop', 'InvalidURL'],
  ])('never sends the token to %s', async (_, url, reason) => {
    await using started = await start({ pullRequest: { forges: [...forges] } })
    const { world, forge } = started
    await world.create(namespaceOf('shop-pr-42', { 'sojourn.dev/pull-request': url }))
    await world.pass(hour)
    expect(forge.requests).toEqual([])
    expect((await read(world)).status?.conditions?.find(({ type }) => type === 'PullRequestKnown')).toMatchObject({
      status: 'False',
      reason,
    })
  })

  it('restores an environment with all workloads asleep, so that each can wake, and with a new date', async () => {
    await using started = await start({ delete: { after: '2d', extendBy: '5d' } })
    const { world } = started
    await world.create(namespaceOf())
    await world.create(deploymentOf())
    const { spec, metadata, ...rest } = deploymentOf()
    const owner = { apiVersion: 'example.org/v1', kind: 'Shop', name: 'shop', uid: 'a-shop', controller: true }
    await world.create({ ...rest, spec, metadata: { ...metadata, name: 'owned', ownerReferences: [owner] } })
    const jobTemplate = { spec: { template: { spec: { ...spec.template.spec, restartPolicy: 'Never' } } } }
    const nightly = { apiVersion: 'batch/v1', kind: 'CronJob', metadata: { ...metadata, name: 'nightly' } }
    await world.create({ ...nightly, spec: { schedule: '0 3 * * *', jobTemplate } })
    await world.pass(4 * day)
    expect(await exists(world)).toBe(false)
    const { items } = await world.client.list<Departure>(departure.type, {
      namespace: 'sojourn-system',
      labelSelector: '!sojourn.dev/page',
    })
    const record = items.find(({ spec }) => spec.object.kind === 'Namespace')!
    const now = world.clock.now()
    await restoreDeparture(world.client, { namespace: 'sojourn-system', name: record.metadata.name }, { now })
    const find = (type: ResourceType, name: string) =>
      world.client.get<StoredObject>(type, { namespace: 'shop-pr-42', name })
    const back = await find(deployments, 'shop')
    expect(back.spec).toMatchObject({ replicas: 0 })
    // Without the time the activator would not take it for a workload that it put to sleep.
    expect(back.metadata.annotations).toMatchObject({
      'sojourn.dev/former-replicas': '2',
      'sojourn.dev/asleep-since': expect.any(String) as string,
    })
    const suspended = await find(cronJobs, 'nightly')
    expect(suspended.spec).toMatchObject({ suspend: true })
    expect(suspended.metadata.annotations).toMatchObject({ 'sojourn.dev/former-replicas': '1' })
    expect((await find(deployments, 'owned')).spec).toMatchObject({ replicas: 2 })
    await world.pass(minute)
    const { status } = await read(world)
    expect(status).toMatchObject({ workloads: { asleep: 1 } })
    expect(Date.parse(status?.deletesAt ?? '')).toBeGreaterThanOrEqual(now + 5 * day - 1000)
  })

  it('says what is wrong and deletes nothing: no class, no channel, no schedule', async () => {
    await using started = await start({ channels: ['nothere'], delete: { after: '1d' } })
    const { world } = started
    const reason = async () => (await read(world)).status?.conditions?.find(({ type }) => type === 'Ready')
    await world.create(namespaceOf())
    await world.pass(4 * day)
    expect(await reason()).toMatchObject({ status: 'False', reason: 'ChannelNotFound' })
    const patch = (spec: object) =>
      world.client.patch(environmentClass.type, { name: 'preview' }, { type: 'merge', body: { spec } })
    await patch({ channels: ['mail'], sleep: { awake: 'nothere' }, delete: { after: '30d' } })
    await world.pass(minute)
    expect(await reason()).toMatchObject({ status: 'False', reason: 'ScheduleNotFound' })
    await world.client.deleteObject(environmentClass.type, { name: 'preview' }, {})
    await world.pass(90 * day)
    expect(await reason()).toMatchObject({ status: 'False', reason: 'ClassNotFound' })
    expect(await exists(world)).toBe(true)
  })

  it('lets a claim outside the selector delete only what its author may delete', async () => {
    await using started = await start({ delete: { after: '1d' }, channels: [] })
    const { world } = started
    const claim = {
      apiVersion: environment.apiVersion,
      kind: environment.kind,
      metadata: { name: 'mine', namespace: 'team' },
      spec: { className: 'preview' },
    }
    const tenant = await tenantOf(world)
    await tenant.create(environment.type, claim)
    await world.pass(5 * day)
    expect(await exists(world, 'team')).toBe(true)
    const { status } = await read(world, { namespace: 'team', name: 'mine' })
    expect(status).toMatchObject({ phase: 'Held' })
    expect(status?.conditions?.find(({ type }) => type === 'Ready')).toMatchObject({
      status: 'False',
      reason: 'CreatorForbidden',
    })
  })

  it('139: takes no step of a deletion that its author may not do, wherever the status says it stands', async () => {
    await using started = await start({ delete: { after: '1d' }, channels: [] })
    const { world } = started
    const { apiVersion, kind } = environment
    const at = { namespace: 'team', name: 'mine' }
    const tenant = await tenantOf(world)
    await tenant.create(environment.type, { apiVersion, kind, metadata: at, spec: { className: 'preview' } })
    await world.pass(minute)
    // As a user writes it where no policy keeps the status, or as it stays when the right is lost meanwhile.
    const now = formatTime(world.clock.now())
    const deletion = { step: 'Namespace', reason: 'max-age', startedAt: now, stepAt: now }
    await world.client.merge(environment.type, at, { status: { deletion } }, { subresource: 'status' })
    await world.pass(hour)
    expect(await exists(world, 'team')).toBe(true)
    expect((await read(world, at)).status).toMatchObject({ phase: 'Held' })
    expect((await read(world, at)).status?.message).toMatch(/^the deletion is held: user "tenant".* may not delete/)
  })

  it('refuses the environment beyond the limit at admission, also when twenty come at once', async () => {
    const world = await startWorld()
    const admission = new EnvironmentAdmission(world.clock)
    await world[Symbol.asyncDispose]()
    await using limited = await startWorld({ server: { admission: [admission.hook] } })
    await limited.create(classOf({ limits: { max: 5 }, channels: [] }))
    await admission.follow(limited.informers, limited.client)
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, (_, i) => limited.create(namespaceOf(`pr-${i}`))),
    )
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(5)
    const refused = results.find(({ status }) => status === 'rejected') as PromiseRejectedResult
    expect(String(refused.reason)).toMatch(/5 of 5 environments of class preview exist; least recently used: pr-/)
  })
})

/** A user who may write Environments in every Namespace, and nothing else. */
async function tenantOf(world: World, name = 'tenant'): Promise<Client> {
  const group = 'rbac.authorization.k8s.io'
  const rules = [{ apiGroups: ['sojourn.dev'], resources: ['environments'], verbs: ['*'] }]
  const metadata = { name: `claims-of-${name}` }
  await world.create({ apiVersion: `${group}/v1`, kind: 'ClusterRole', metadata, rules })
  await world.create({
    apiVersion: `${group}/v1`,
    kind: 'ClusterRoleBinding',
    metadata,
    roleRef: { apiGroup: group, kind: 'ClusterRole', name: metadata.name },
    subjects: [{ kind: 'User', name, apiGroup: group }],
  })
  return new Client(world.server.transportAs({ name, groups: ['system:authenticated'] }))
}

describe('a tenant who writes the Environment', () => {
  it('107: lets the token of the class write to no pull request that the Namespace does not name', async () => {
    await using started = await start({ pullRequest: { forges }, channels: [] })
    const { world, forge } = started
    for (const number of [7, 42]) forge.open(number)
    await world.create(namespaceOf('shop-pr-42', { 'sojourn.dev/pull-request': pullUrl }))
    await world.pass(10 * minute)
    const tenant = await tenantOf(world)
    const url = pullUrl.replace('42', '7')
    const name = (client: Client) =>
      client.patch(environment.type, place, { type: 'merge', body: { spec: { pullRequest: { url } } } })
    await name(tenant)
    await world.pass(10 * minute)
    const ready = async () => (await read(world)).status?.conditions?.find(({ type }) => type === 'PullRequestKnown')
    expect(forge.requests.filter((request) => request.includes('/7'))).toEqual([])
    expect(JSON.stringify(await ready())).toContain('sojourn.dev/pull-request of the Namespace')
    // An author who may annotate the Namespace could name it there.
    await world.client.patch(environment.type, place, { type: 'merge', body: { spec: { pullRequest: null } } })
    await name(world.client)
    await world.pass(10 * minute)
    expect(forge.requests.filter((request) => request.includes('/7')).length).toBeGreaterThan(0)
  })

  it('108: uses up no notice of an owner whom the Environment names', async () => {
    await using started = await start({ delete: { after: '2d' } })
    const { world, mails } = started
    await world.create(namespaceOf('borrowed', {}))
    await world.pass(minute)
    const tenant = await tenantOf(world)
    const at = { namespace: 'borrowed', name: 'borrowed' }
    const body = { spec: { owner: 'Ada@example.org' } }
    await tenant.patch(environment.type, at, { type: 'merge', body })
    await world.pass(12 * hour)
    await world.create(namespaceOf())
    await world.pass(day + hour)
    const told = mails.sent.map(({ notice }) => notice.items.map(({ name }) => name).join())
    expect(told).toEqual(['borrowed', 'shop-pr-42'])
    const [first, second] = mails.sent.map((each) => each.at)
    expect(second! - first!).toBeLessThan(day)
  })

  it('109: sends one notice a day to whomever it names, also when it is created anew by others', async () => {
    await using started = await start({ delete: { when: 'true', warnBefore: '10d' } })
    const { world, mails } = started
    await world.create(namespaceOf('mill', {}))
    await world.pass(minute)
    mails.sent.length = 0
    const at = { namespace: 'mill', name: 'mill' }
    for (let i = 0; i < 5; i++) {
      const tenant = await tenantOf(world, `tenant-${i}`)
      await tenant.patch(environment.type, at, { type: 'merge', body: { spec: { owner: `ada+${i}@example.org` } } })
      await world.pass(hour)
      await tenant.deleteObject(environment.type, at)
      await world.pass(minute)
    }
    expect(mails.sent.filter(({ notice }) => notice.to.some((address) => address.startsWith('ada')))).toHaveLength(1)
  })

  it('109: sends one notice a day to a mailbox, however owners are combined and tagged', async () => {
    await using started = await start({ delete: { when: 'true', warnBefore: '10d' } })
    const { world, mails } = started
    const tenant = await tenantOf(world)
    for (let i = 0; i < 5; i++) {
      await world.create(namespaceOf(`mill-${i}`, {}))
      await world.pass(minute)
      const body = { spec: { owner: `u${i}@example.org,ada+${i}@example.org` } }
      await tenant.patch(environment.type, { namespace: `mill-${i}`, name: `mill-${i}` }, { type: 'merge', body })
    }
    await world.pass(12 * hour)
    const toAda = () => mails.sent.filter(({ notice }) => notice.to.some((address) => address.startsWith('ada')))
    expect(toAda()).toHaveLength(1)
    await world.pass(day)
    expect(toAda()).toHaveLength(2)
  })

  it('124: goes to at most five addresses, and one of each mailbox', async () => {
    await using started = await start({ delete: { when: 'true', warnBefore: '10d' } })
    const { world, mails } = started
    const many = Array.from({ length: 20 }, (_, index) => `u${index}@example.org`)
    await world.create(namespaceOf('many', { 'sojourn.dev/owner': many.join() }))
    await world.create(namespaceOf('one', { 'sojourn.dev/owner': many.map((_, i) => `ada+${i}@example.org`).join() }))
    await world.pass(hour)
    expect(mails.sent.map(({ notice }) => notice.to.length).toSorted((a, b) => a - b)).toEqual([1, 5])
  })

  it('103: takes no label off a pull request that its Namespace does not name', async () => {
    await using started = await start({
      delete: { when: 'true', warnBefore: '0s' },
      pullRequest: { forges, label: 'preview' },
      channels: [],
    })
    const { world, forge } = started
    for (const number of [7, 42]) forge.open(number)
    const made = namespaceOf('shop-pr-42', { 'sojourn.dev/pull-request': pullUrl })
    const labels = { ...made.metadata.labels, 'resourceset.fluxcd.controlplane.io/name': 'previews' }
    await world.create({ ...made, metadata: { ...made.metadata, labels } })
    await world.pass(1000)
    const body = { spec: { pullRequest: { url: pullUrl.replace('42', '7') } } }
    await world.client.patch(environment.type, place, { type: 'merge', body })
    await world.pass(10 * minute)
    expect(forge.requests.filter((request) => request.includes('/labels'))).toEqual([])
    expect((await read(world)).status).toMatchObject({ phase: 'Held' })
  })

  it.each([
    ['another kind of forge', 'https://git.example.org/projects/acme/repos/shop/pull-requests/7'],
    ['a path of another kind', 'https://git.example.org/other/projects/acme/repos/shop/-/merge_requests/7'],
    ['an encoded slash', 'https://git.example.org/acme/..%2fother%2fshop/pulls/7'],
  ])('102: uses the token of the class for no other repository, by %s', (_, url) => {
    for (const type of ['gitea', 'gitlab', 'github'] as const) {
      const allowed = forges.map((each) => ({ ...each, type }))
      expect(accessTo(url, { ownSecret: undefined, allowed })).toMatchObject({ reason: 'NotAllowed' })
    }
  })
})

describe('killed at any write', () => {
  /** Lets the first life of the system make this many writes; then it is gone. */
  function dying(transport: Transport, writes: number): { transport: Transport; isDead: () => boolean } {
    let left = writes
    const isWrite = ({ method }: ApiRequest) => method !== 'GET'
    return {
      isDead: () => left < 0,
      transport: (request) => {
        if (isWrite(request)) left--
        return left < 0 ? Promise.reject(new Error('killed')) : transport(request)
      },
    }
  }

  it('deletes nothing early, comments once, tells before it deletes, and comes to the end', async () => {
    for (let writes = 0; ; writes += 1) {
      const world = await startWorld()
      const [mails, forge] = [new Mails(), new PullForge()]
      forge.open(42)
      await world.create(channel)
      await world.create({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'forge', namespace: 'sojourn-system' },
        stringData: { token: 'x' },
      })
      await world.create(classOf({ pullRequest: { forges: [...forges] }, delete: { after: '2d' } }))
      const { transport, isDead } = dying(world.server.transport, writes)
      const first = launch(world, { mails, forge, transport })
      await world.create(
        namespaceOf('shop-pr-42', { 'sojourn.dev/owner': 'ada@example.org', 'sojourn.dev/pull-request': pullUrl }),
      )
      await world.create(deploymentOf())
      for (let hours = 0; hours < 96 && !isDead() && (await exists(world)); hours++) await world.pass(hour)
      const wasDead = isDead()
      await first.stop()
      const second = launch(world, { mails, forge })
      for (let hours = 0; hours < 240 && (await exists(world)); hours++) {
        await world.pass(hour)
        const told = mails.sent.at(-1)?.notice.items[0]?.deletionAt
        if (!(await exists(world))) expect(world.clock.now()).toBeGreaterThanOrEqual(told ?? Infinity)
      }
      expect({ writes, exists: await exists(world) }).toEqual({ writes, exists: false })
      expect({ writes, comments: forge.comments.length }).toEqual({ writes, comments: 1 })
      await second.stop()
      await world[Symbol.asyncDispose]()
      if (!wasDead) break
    }
  }, 120_000)
})
