import { configMaps, deployments, leases, namespaces } from '../kube/core-types.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestServer, type TestServer } from '../../test/apiserver/test-server.ts'
import { bond } from '../apis/bond.ts'
import { cleaner } from '../apis/cleaner.ts'
import { cleanupCandidate } from '../apis/cleanup-candidate.ts'
import { cleanupPolicy } from '../apis/cleanup-policy.ts'
import { conditionalTtl } from '../apis/conditional-ttl.ts'
import { environmentClass } from '../apis/environment-class.ts'
import { environment } from '../apis/environment.ts'
import { pipeline } from '../apis/pipeline.ts'
import { Client } from '../client/client.ts'
import type { KubeObject, ResourceType, StoredObject } from '../kube/object.ts'
import { ignoring } from '../kube/status-error.ts'
import { systemClock } from '../runtime/time/clock.ts'
import { pauseDeletions } from '../app/operations/deletion-switches.ts'
import { explainObject } from './explain.ts'
import { readManagedItems } from './managed-items.ts'
import { Reader } from './reader.ts'
import { registerKinds } from '../admission/register-kinds.ts'

const lastTransitionTime = '2026-11-01T00:00:00Z'

let server: TestServer
let client: Client
beforeAll(async () => {
  server = await startTestServer({ clock: systemClock })
  client = new Client(server.transport)
  await registerKinds(client)
  for (const name of ['team', 'sojourn-system'])
    await client
      .create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
      .catch(ignoring('AlreadyExists'))
})
afterAll(() => server?.close())

async function create(
  kind: { readonly type: ResourceType; readonly apiVersion: string; readonly kind: string },
  name: string,
  { metadata = {}, ...rest }: { readonly metadata?: object; readonly spec?: object; readonly status?: object },
): Promise<StoredObject> {
  const { type, apiVersion } = kind
  const place = { name, ...(type.namespaced ? { namespace: 'team' } : {}), ...metadata }
  const created = await client.create(type, { apiVersion, kind: kind.kind, ...rest, metadata: place } as KubeObject)
  if (!rest.status) return created
  return client.update(type, { ...created, status: rest.status }, { subresource: 'status' })
}

const configMap = (name: string, metadata: object = {}) =>
  create({ type: configMaps, apiVersion: 'v1', kind: 'ConfigMap' }, name, { metadata })

/** The explanation of an object, for a user with the rights of `as`. */
async function said(type: ResourceType, name: string, as = client): Promise<string> {
  const place = { name, ...(type.namespaced ? { namespace: 'team' } : {}) }
  const found = (await client.discovery.find(`${type.plural}${type.group ? `.${type.group}` : ''}`))!
  const explained = { type: found, object: await client.get(type, place) }
  return (await explainObject(as, explained, Date.now())).sentences.join('\n')
}

function condition(type: string, status: string, message: string) {
  return { type, status, reason: 'Because', message, lastTransitionTime }
}

describe('a namespace that sleeps by its annotations', () => {
  it('is told by status, with what happens next', async () => {
    const closed = 'Mon-Sun 00:00-00:01 UTC'
    for (const [name, annotations] of [
      ['night', { 'sojourn.dev/awake': closed }],
      ['by-hand', { 'sojourn.dev/awake': closed, 'sojourn.dev/awake-until': '2099-01-01T00:00:00Z' }],
      ['no-such', { 'sojourn.dev/awake': 'office-hours' }],
      ['excluded', { 'sojourn.dev/awake': closed, 'sojourn.dev/sleep': 'false' }],
    ] as const)
      await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name, annotations } })
    const now = Date.UTC(2026, 10, 18, 12)
    const told = async (namespace: string | undefined) =>
      (await readManagedItems(new Reader(client), { namespace, now })).filter(
        ({ object }) => object.kind === 'Namespace',
      )
    expect(await told('night')).toEqual([
      {
        object: { apiVersion: 'v1', kind: 'Namespace', name: 'night' },
        system: 'activator',
        state: 'Asleep',
        next: { what: 'wakes', at: Date.UTC(2026, 10, 19) },
        why: 'Outside the awake hours, which begin at 2026-11-19T00:00:00Z, in 12h.',
      },
    ])
    const all = (await told(undefined)).map(({ object, state, why }) => `${object.name}: ${state}. ${why}`)
    expect(all.toSorted()).toEqual([
      expect.stringMatching(/^by-hand: Awake. Kept awake by hand until 2099-01-01T00:00:00Z. Outside the awake hours/),
      expect.stringMatching(/^night: Asleep/),
      'no-such: Awake. It stays awake: there is no WorkSchedule "office-hours".',
    ])
  })
})

describe('explain of an environment', () => {
  const at = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString().replace(/\.\d+/, '')

  it('tells its life for itself and its Namespace, and the date for what is in it', async () => {
    await create(environment, 'shop', {
      spec: { className: 'preview', power: 'Asleep', powerSince: at(-1), powerUntil: at(2) },
      status: {
        phase: 'Asleep',
        because: 'by-hand',
        message: 'will be deleted on some day; held while the pull request cannot be read',
        lastUsedAt: at(-5),
        lastUsedBy: 'Traffic',
        deletesAt: at(30),
        conditions: [
          condition('Ready', 'False', 'class "preview" does not exist'),
          condition('UseVisible', 'True', 'every sign can be read'),
          condition('PullRequestKnown', 'False', 'the Secret has no token'),
          condition('Notified', 'False', 'mail: refused'),
        ],
      },
    })
    const inside = await configMap('of-environment')
    const life = await said(environment.type, 'shop')
    expect(life).not.toContain('The environments says')
    expect(life).toContain('Environment shop of class preview is Asleep: will be deleted on some day; held while')
    expect(life).toMatch(/It is asleep by hand until .*; a request wakes it\./)
    expect(life).toContain('It is not Ready: class "preview" does not exist.')
    expect(life).not.toContain('Its use cannot be seen')
    expect(life).toContain('Its pull request cannot be read, so it is not deleted: the Secret has no token.')
    expect(life).toContain('Its owner could not be told, so it is not deleted: mail: refused.')
    expect(life).toMatch(/It was last used 5h\S* ago \(Traffic\)/)
    expect(life).not.toContain('It is deleted with its Namespace')
    expect(life).toMatch(/Its deletion is due, and held as said above, at .*, in 29h/)
    expect(life).toContain('To keep it, run: sojourn keep team --for 3d.')
    expect(await said(namespaces, 'team')).toContain('Environment shop of class preview is Asleep')
    expect(await said(configMaps, inside.metadata.name)).toMatch(/It is deleted with environment shop at .*, in 29h/)
    await client.deleteObject(environment.type, { namespace: 'team', name: 'shop' })
  })
})

describe('explain', () => {
  it('says of a class how many environments it has, and what is wrong', async () => {
    const message = 'spec.channels: there is no NotificationChannel mail'
    await create(environmentClass, 'preview', {
      spec: { namespaceSelector: { matchLabels: { env: 'preview' } } },
      status: { environments: 2, conditions: [condition('Ready', 'False', message)] },
    })
    expect(await said(environmentClass.type, 'preview')).toBe(
      `EnvironmentClass preview has 2 environments: it is not Ready: ${message}.`,
    )
    await client.deleteObject(environmentClass.type, { name: 'preview' })
  })

  it('names who uses a ConfigMap', async () => {
    await configMap('mounted')
    const volumes = [{ name: 'v', configMap: { name: 'mounted' } }]
    const template = { metadata: { labels: { app: 'w' } }, spec: { containers: [{ name: 'c', image: 'i' }], volumes } }
    await create({ type: deployments, apiVersion: 'apps/v1', kind: 'Deployment' }, 'web', {
      spec: { replicas: 0, selector: { matchLabels: { app: 'w' } }, template },
    })
    expect(await said(configMaps, 'mounted')).toContain('in use by Deployment/web (volume v)')
  })

  it('does not call an object kept that a Bond deletes', async () => {
    const needed = await configMap('needed')
    const needing = await configMap('needing')
    await create(bond, 'casc', {
      spec: {
        dependent: { apiVersion: 'v1', kind: 'ConfigMap', name: 'needing' },
        dependency: { apiVersion: 'v1', kind: 'ConfigMap', name: 'needed' },
        onDelete: 'Cascade',
      },
      status: {
        phase: 'Active',
        dependencyUid: needed.metadata.uid,
        dependents: 1,
        dependentUids: [needing.metadata.uid],
      },
    })
    expect(await said(configMaps, 'needing')).toBe('Bond team/casc: it is deleted before configmap/needed is.')
    expect(await said(configMaps, 'needed')).toBe('Bond team/casc: configmap/needing is deleted before it.')
    expect(await said(bond.type, 'casc')).toContain(
      'configmap/needing depends on configmap/needed: when the dependency',
    )
  })

  it('names kinds that the user may not read', async () => {
    await configMap('secretive')
    const stranger = new Client(server.transportAs({ name: 'stranger', groups: ['system:authenticated'] }))
    const text = await said(configMaps, 'secretive', stranger)
    expect(text).not.toContain('does not manage')
    expect(text).toMatch(/You may not read .*cleaners\.cleaner\.vtex\.dev.*bonds\.sojourn\.dev.*or have it deleted\.$/)
    expect(await said(configMaps, 'secretive')).toBe('Sojourn does not manage it and will not delete it.')
  })

  it('finds the Cleaner that selects it by labels, and not one for another group', async () => {
    await configMap('labelled', { labels: { app: 'shop' } })
    const labelSelector = { matchLabels: { app: 'shop' } }
    const target = (apiVersion: string) => [
      {
        name: 'x',
        delete: true,
        includeWhenEvaluating: false,
        reference: { apiVersion, kind: 'ConfigMap', labelSelector },
      },
    ]
    await create(conditionalTtl, 'by-label', { spec: { ttl: '24h', targets: target('v1') } })
    await create(cleaner, 'other-group', { spec: { ttl: '24h', targets: target('example.org/v1') } })
    const text = await said(configMaps, 'labelled')
    expect(text).toBe('ConditionalTTL by-label will delete it: not evaluated yet.')
  })

  it('quotes the condition a Cleaner waits for, and names its targets', async () => {
    await create(cleaner, 'waiting', {
      spec: {
        ttl: '1s',
        targets: [
          { name: 'x', delete: true, includeWhenEvaluating: true, reference: { kind: 'ConfigMap', name: 'settings' } },
        ],
        conditions: ['true', 'x.data.done == "yes"'],
        helm: { release: 'preview', delete: true },
      },
      status: { conditions: [condition('Ready', 'True', 'spec.conditions[1] is false')] },
    })
    const text = await said(cleaner.type, 'waiting')
    expect(text).toContain('spec.conditions[1] is x.data.done == "yes".')
    expect(text).toContain('When its time is up it deletes configmap/settings, the Helm release preview.')
  })

  it('names its own finalizers once', async () => {
    await configMap('stuck', { finalizers: ['example.org/never'] })
    await client.request({ method: 'DELETE', path: '/api/v1/namespaces/team/configmaps/stuck' })
    const text = await said(configMaps, 'stuck')
    expect(text).toMatch(/^Its deletion was requested \d+s ago; it waits for the finalizers example\.org\/never\.$/)
  })
})

describe('explain, of policies', () => {
  const policy = (name: string, spec: object, status?: object) =>
    create(cleanupPolicy, name, {
      spec: {
        targets: [{ kubernetes: { resources: [{ kind: 'ConfigMap' }], labelSelector: { matchLabels: { of: name } } } }],
        rules: [{ rules: [{ name: 'Unused' }] }],
        ...spec,
      },
      ...(status ? { status } : {}),
    })
  const looked = { locations: { kubernetes: { markedAt: '2026-11-17T12:00:00Z', visited: 1 } } }

  it.each([
    ['young', { minAge: '10d' }, looked, /does not mark it: it is younger than the policy’s minimum age, until 20/],
    [
      'wrong',
      { scheduleRef: 'nope' },
      { conditions: [condition('Ready', 'False', 'there is no WorkSchedule "nope"')] },
      /covers it, but is not ready: there is no WorkSchedule "nope"\./,
    ],
    ['suspended', { suspend: true }, looked, /covers it, but is suspended\./],
    [
      'shut',
      { minAge: '0s', scheduleRef: 'office' },
      { ...looked, conditions: [condition('InWindow', 'False', 'office')] },
      /marks nothing now: its WorkSchedule office is closed\./,
    ],
    ['blind', { minAge: '0s' }, { locations: { kubernetes: { trouble: 'pods are forbidden' } } }, /could not check it/],
    [
      'unused',
      { minAge: '0s' },
      looked,
      /will mark it in its next cycle \(the last was at .*\): rule Unused: nothing refers to it\./,
    ],
    [
      'unfollowed',
      { minAge: '0s', unusedFor: '30d' },
      looked,
      /neither marks nor unmarks it: its use has not been recorded for long enough: 0 of 30 days\./,
    ],
    [
      'failing',
      {
        minAge: '0s',
        rules: [{ rules: [{ name: 'Expression', parameters: { expression: 'object.spec.size == 1' } }] }],
      },
      looked,
      /neither marks nor unmarks it: a rule could not be evaluated: no such key: spec/,
    ],
    ['new', { minAge: '0s' }, undefined, /has not checked it yet\./],
    [
      'ruled',
      { minAge: '0s', rules: [{ rules: [{ name: 'AgeRule', parameters: { moreThanDays: 3 } }] }] },
      looked,
      /does not mark it: rule AgeRule: 0 of 3 days\./,
    ],
  ])('that have not marked it says why: %s', async (name, spec, status, expected) => {
    await policy(name, spec, status)
    await configMap(`of-${name}`, { labels: { of: name } })
    expect(await said(configMaps, `of-${name}`)).toMatch(new RegExp(`^CleanupPolicy ${name} ${expected.source}`))
  })

  it('says what is wrong with an invalid one', async () =>
    expect(await said(cleanupPolicy.type, 'wrong')).toContain('It is not ready: there is no WorkSchedule "nope".'))
})

describe('explain, of marks', () => {
  const marked = async (name: string, status: object, uid?: string) => {
    const object = await configMap(name)
    const resource = { provider: 'kubernetes', apiVersion: 'v1', kind: 'ConfigMap', namespace: 'team', name }
    await create(cleanupCandidate, `mark-${name}`, {
      spec: { policy: 'p', location: 'kubernetes', resource: { ...resource, uid: uid ?? object.metadata.uid } },
      status: { summaries: [{ rule: 'Unused', description: 'nothing refers to it' }], ...status },
    })
    return said(configMaps, name)
  }
  const owner = { address: 'me@example.org', source: 'default' }
  const at = '2026-11-17T12:00:00Z'
  const projectedDeletionTime = '2030-01-01T00:00:00Z'

  it('says who could not be notified, and no deletion time: that counts from the notice', async () => {
    const notices = [{ channel: 'mail', at, error: 'connect ECONNREFUSED' }]
    const text = await marked('untold', { phase: 'Marked', owner, notices, projectedDeletionTime, nextAttemptTime: at })
    expect(text).toContain('me@example.org could not be notified: connect ECONNREFUSED.')
    expect(text).not.toContain('was notified')
    expect(text).not.toContain('leaves')
  })

  it('says who was notified, and when it is deleted', async () => {
    const notices = [{ channel: 'mail', at, recipient: 'me@example.org' }]
    const text = await marked('told', { phase: 'Notified', owner, notices, projectedDeletionTime })
    expect(text).toContain('nothing refers to it, me@example.org was notified.')
    expect(text).toContain('Next, deleted at 2030-01-01T00:00:00Z')
    expect(text).toContain('To keep it, run: sojourn opt-out configmap/told -n team.')
  })

  it('says why an ended one ended', async () =>
    expect(
      await marked('spared', { phase: 'OptedOut', because: 'opted-out', owner, message: 'CleanupOptOut x' }),
    ).toContain('The janitor says OptedOut (CleanupPolicy p): CleanupOptOut x.'))

  it('ignores the mark of another object of the same name', async () =>
    expect(await marked('again', { phase: 'Deleted', because: 'deleted' }, 'another')).not.toContain('janitor'))
})

describe('explain, of pipelines', () => {
  const environments = [{ name: 'production', targets: [{ namespace: 'team' }] }]
  const appRef = { apiVersion: 'v1', kind: 'ConfigMap', name: 'shop' }

  it('says that one is suspended', async () => {
    const conditions = [condition('Suspended', 'True', 'the pipeline is suspended')]
    await create(pipeline, 'resting', { spec: { appRef, environments, suspend: true }, status: { conditions } })
    expect(await said(pipeline.type, 'resting')).toContain('Nothing is promoted now: the pipeline is suspended.')
  })

  it('names the closed gate of one that waits', async () => {
    const promotion = {
      id: 'p1',
      revision: '1.1.0',
      phase: 'Gated',
      phaseAt: lastTransitionTime,
      because: 'GatesOpen',
      createdAt: lastTransitionTime,
      runSequence: 1,
      strategyHash: 'h',
      attempt: 1,
    }
    const gates = [{ name: 'soak', state: 'Closed', reason: 'Soaking', message: 'needs 10m' }]
    await create(pipeline, 'soaking', {
      spec: { appRef, environments },
      status: { environments: { production: { promotion, gates } } },
    })
    const text = await said(pipeline.type, 'soaking')
    expect(text).toContain('production: the gate soak is closed: needs 10m.')
    expect(text).not.toContain('every gate is open')
  })
})

describe('explain, while deletions are stopped', () => {
  it('says that no process runs, once those that led have ended', async () => {
    const stopped = 'Sojourn does not run, so nothing happens in spite of the times: check "kubectl get pods'
    expect(await said(cleaner.type, 'waiting')).not.toContain(stopped)
    const renewed = (at: number) => ({
      holderIdentity: 'pod',
      leaseDurationSeconds: 15,
      renewTime: new Date(at).toISOString().replace('Z', '000Z'),
    })
    const metadata = { name: 'sojourn-cleaner', namespace: 'sojourn-system' }
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata }
    const created = await client.create(leases, { ...lease, spec: renewed(Date.now() - 60_000) })
    try {
      expect(await said(cleaner.type, 'waiting')).toContain(stopped)
      await client.update(leases, { ...created, spec: renewed(Date.now()) })
      expect(await said(cleaner.type, 'waiting')).not.toContain(stopped)
    } finally {
      await client.deleteObject(leases, metadata, {})
    }
  })

  it('says so, and how to change that, only for objects that are due', async () => {
    await configMap('bystander')
    await pauseDeletions(client, true)
    try {
      expect(await said(cleaner.type, 'waiting')).toContain(
        'Nothing is deleted now: deletions are paused; "sojourn departures --resume" resumes them.',
      )
      expect(await said(configMaps, 'bystander')).not.toContain('paused')
    } finally {
      await pauseDeletions(client, false)
    }
  })
})
