import { describe, expect, it } from 'vitest'
import { EnvironmentAdmission } from '../../admission/environment-admission.ts'
import { environmentClass, type EnvironmentClass, type EnvironmentClassSpec } from '../../apis/environment-class.ts'
import { environment, type Environment } from '../../apis/environment.ts'
import { departure, type Departure } from '../../apis/departure.ts'
import { restoreDeparture } from '../../app/operations/restore.ts'
import { keepEnvironment } from '../../app/operations/environments.ts'
import { Client } from '../../client/client.ts'
import { Door } from '../../departures/door/door.ts'
import { deployments, namespaces } from '../../kube/core-types.ts'
import type { StoredObject } from '../../kube/object.ts'
import type { ApiRequest, Transport } from '../../kube/transport.ts'
import type { Notice } from '../../notices/notice.ts'
import { Informers } from '../../runtime/cache/informers.ts'
import { EventRecorder } from '../../runtime/observability/event-recorder.ts'
import { silentLogger } from '../../runtime/observability/log.ts'
import { Metrics } from '../../runtime/observability/metrics.ts'
import { quietClock } from '../../runtime/time/quiet-clock.ts'
import { actAsOn, startWorld, type World } from '../../../test/world.ts'
import { PullForge } from '../../../test/pull-forge.ts'
import { createEnvironments } from './environments.ts'
import { accessTo } from './pulls/pull-address.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
const place = { namespace: 'shop-pr-42', name: 'shop-pr-42' }

function classOf(spec: Partial<EnvironmentClassSpec> = {}, name = 'preview') {
  const namespaceSelector = { matchLabels: { env: 'preview' } }
  const { apiVersion, kind } = environmentClass
  const base = {
    delete: { after: '7d', maxAge: '60d' },
    channels: ['mail'],
    owner: { default: 'platform@example.org' },
  }
  return { apiVersion, kind, metadata: { name }, spec: { namespaceSelector, ...base, ...spec } }
}

function namespaceOf(
  name = 'shop-pr-42',
  annotations: Record<string, string> = { 'sojourn.dev/owner': 'ada@example.org' },
) {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: { env: 'preview' }, annotations } }
}

function deploymentOf(image = 'shop:1', namespace = 'shop-pr-42') {
  const labels = { app: 'shop' }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'shop', image }] } }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'shop', namespace },
    spec: { replicas: 2, selector: { matchLabels: labels }, template },
  }
}

const channel = {
  apiVersion: 'sojourn.dev/v1alpha1',
  kind: 'NotificationChannel',
  metadata: { name: 'mail' },
  spec: { type: 'smtp', smtp: { host: 'mail', from: 'a@example.org' } },
}
const pullUrl = 'https://git.example.org/acme/shop/pulls/42'
const forges = [
  { host: 'git.example.org', type: 'gitea' as const, secretRef: { name: 'forge' }, repositories: ['acme/*'] },
]

class Mails {
  readonly sent: { at: number; notice: Notice }[] = []
  isDown = false
  open(now: () => number) {
    return () => ({
      name: 'mail',
      audience: 'owner' as const,
      send: (notice: Notice) => {
        if (this.isDown) return Promise.reject(new Error('mail server is down'))
        this.sent.push({ at: now(), notice })
        return Promise.resolve({ accepted: [...notice.to], rejected: [] })
      },
    })
  }
}

interface Started {
  readonly world: World
  readonly mails: Mails
  readonly forge: PullForge
  readonly routes: ReturnType<typeof createEnvironments>['routes']
}

interface Running {
  readonly routes: Started['routes']
  stop(): Promise<void>
}

/** Starts the system with caches of its own, as a new process would. */
function launch(
  world: World,
  { mails, forge, transport = world.server.transport }: { mails: Mails; forge: PullForge; transport?: Transport },
): Running {
  const client = new Client(transport)
  const { clock } = world
  const informers = new Informers({ clock: quietClock(clock), log: silentLogger }, { freeze: true })
  const metrics = new Metrics()
  const ports = { clock, log: silentLogger, metrics }
  const events = new EventRecorder('sojourn', { client, clock, log: silentLogger })
  const door = new Door({
    client,
    informers,
    clock,
    events,
    log: silentLogger,
    metrics,
    provesRecords: () => Promise.resolve(true),
  })
  const { controllers, routes } = createEnvironments({
    client,
    informers,
    door,
    events,
    actAs: actAsOn(client, clock),
    ports,
    network: {
      http: world.http,
      connect: () => {
        throw new Error('no network')
      },
    },
    http: { class: forge.http, environment: forge.http },
    publicUrl: () => 'https://sojourn.test',
    dryRun: false,
    openChannel: mails.open(() => clock.now()),
  })
  const stopping = new AbortController()
  const running = controllers.map((controller) => controller.start(stopping.signal))
  return {
    routes,
    async stop() {
      stopping.abort()
      await Promise.allSettled(running)
      informers.close()
    },
  }
}

async function start(spec?: Partial<EnvironmentClassSpec>): Promise<Started & AsyncDisposable> {
  const world = await startWorld()
  const [mails, forge] = [new Mails(), new PullForge()]
  await world.create(channel)
  await world.create({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'forge', namespace: 'sojourn-system' },
    stringData: { token: 'secret-token' },
  })
  await world.create(classOf(spec))
  const running = launch(world, { mails, forge })
  return {
    world,
    mails,
    forge,
    routes: running.routes,
    async [Symbol.asyncDispose]() {
      await running.stop()
      await world[Symbol.asyncDispose]()
    },
  }
}

const read = (world: World, at = place) => world.client.get<Environment>(environment.type, at)
const exists = async (world: World, name = 'shop-pr-42') => {
  const found = await world.client.get<StoredObject>(namespaces, { name }).catch(() => undefined)
  return found !== undefined && found.metadata.deletionTimestamp === undefined
}

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
    await world.pass(6 * day + minute)
    expect((await read(world)).status).toMatchObject({ phase: 'Announced', announcement: { reason: 'unused' } })
    expect(mails.sent).toHaveLength(1)
    const { notice } = mails.sent[0]!
    expect(notice).toMatchObject({
      to: ['ada@example.org'],
      items: [{ name: 'shop-pr-42', deletionAt: expect.any(Number) as number }],
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

  it('holds the deletion while no owner could be told', async () => {
    await using started = await start()
    const { world, mails } = started
    mails.isDown = true
    await world.create(namespaceOf())
    await world.pass(20 * day)
    expect(await exists(world)).toBe(true)
    mails.isDown = false
    await world.pass(7 * hour)
    expect(mails.sent).toHaveLength(1)
    expect(await exists(world)).toBe(true)
    await world.pass(day)
    expect(await exists(world)).toBe(false)
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
    expect(await ask('GET')).toMatchObject({ status: 200 })
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

  it('restores an environment asleep, with a new date', async () => {
    await using started = await start({ delete: { after: '2d' } })
    const { world } = started
    await world.create(namespaceOf())
    await world.create(deploymentOf())
    await world.pass(4 * day)
    expect(await exists(world)).toBe(false)
    const { items } = await world.client.list<Departure>(departure.type, {
      namespace: 'sojourn-system',
      labelSelector: '!sojourn.dev/page',
    })
    const record = items.find(({ spec }) => spec.object.kind === 'Namespace')!
    const now = world.clock.now()
    await restoreDeparture(world.client, { namespace: 'sojourn-system', name: record.metadata.name }, { now })
    const back = await world.client.get<StoredObject>(deployments, { namespace: 'shop-pr-42', name: 'shop' })
    expect(back.spec).toMatchObject({ replicas: 0 })
    expect(back.metadata.annotations?.['sojourn.dev/former-replicas']).toBe('2')
    await world.pass(minute)
    const { status } = await read(world)
    expect(status).toMatchObject({ phase: 'Asleep', workloads: { awake: 0, asleep: 1 } })
    expect(Date.parse(status?.deletesAt ?? '')).toBeGreaterThanOrEqual(now + 3 * day - 1000)
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
    const tenant = new Client(world.server.transportAs({ name: 'tenant', groups: ['system:authenticated'] }))
    const rules = [{ apiGroups: ['sojourn.dev'], resources: ['environments'], verbs: ['*'] }]
    await world.create({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'claims' },
      rules,
    })
    await world.create({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'claims' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'claims' },
      subjects: [{ kind: 'User', name: 'tenant', apiGroup: 'rbac.authorization.k8s.io' }],
    })
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

describe('a tenant who writes the Environment', () => {
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
    const found = classOf({ pullRequest: { forges } })
    for (const type of ['gitea', 'gitlab', 'github'] as const) {
      const spec = { ...found.spec, pullRequest: { forges: forges.map((each) => ({ ...each, type })) } }
      const environmentClass = { ...found, spec } as unknown as EnvironmentClass
      expect(accessTo(url, { ownSecret: undefined, environmentClass })).toMatchObject({ reason: 'NotAllowed' })
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
