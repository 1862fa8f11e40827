import { systemClock } from '../../runtime/time/clock.ts'
import { configMaps, namespaces } from '../../kube/core-types.ts'
import { afterEach, describe, expect, it } from 'vitest'
import { startJanitorWorld, type JanitorWorld, type JanitorWorldOptions } from '../../../test/janitor/janitor-world.ts'
import { startTestServer } from '../../../test/apiserver/test-server.ts'
import type { CleanupCandidate } from '../../apis/cleanup-candidate.ts'
import { Client } from '../../client/client.ts'
import { VirtualClock } from '../../runtime/time/virtual-clock.ts'
import { applySwabbie } from './swabbie/apply-swabbie.ts'
import { importSwabbie } from './swabbie/import-swabbie.ts'
import { assertHeld, FenceLost, writeMark } from './work/work.ts'

const hour = 3_600_000
const minute = 60_000

let world: JanitorWorld | undefined
afterEach(async () => {
  await world?.[Symbol.asyncDispose]()
  world = undefined
})

async function start(options: JanitorWorldOptions = {}): Promise<JanitorWorld> {
  world = await startJanitorWorld(options)
  await world.configMap('one')
  await world.pass(2 * hour)
  return world
}

describe('another cluster', () => {
  const target = {
    kubernetes: { clusters: ['team.remote'], resources: [{ kind: 'ConfigMap' }], namespaces: { include: ['far'] } },
  }

  it('is cleaned up like the local one, which is not changed', async () => {
    const remoteClock = new VirtualClock(Date.parse('2026-01-05T08:00:00Z'))
    await using remote = await startTestServer({ clock: remoteClock })
    const far = new Client(remote.transport)
    await far.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'far' } })
    await far.create(configMaps, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'distant', namespace: 'far' },
    })
    const here = await start({ connect: (_, cluster) => new Client(remote.transport, { cluster }) })
    await here.create({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'remote', namespace: 'team' },
      stringData: { kubeconfig: 'apiVersion: v1' },
    })
    await here.create({
      apiVersion: 'gitops.weave.works/v1alpha1',
      kind: 'GitopsCluster',
      metadata: { name: 'remote', namespace: 'team' },
      spec: { secretRef: { name: 'remote' } },
    })
    await here.pass(minute)
    await here.policy({
      targets: [target],
      rules: [{ rules: [{ name: 'AttributeRule', parameters: { name: 'distant' } }] }],
    })
    await here.pass(hour)
    expect(await here.phases()).toEqual({ distant: 'Notified' })
    const [candidate] = await here.candidates()
    expect(candidate?.spec).toMatchObject({ location: 'kubernetes/team.remote', resource: { cluster: 'team.remote' } })
    await here.pass(7 * hour)
    await expect(far.get(configMaps, { namespace: 'far', name: 'distant' })).rejects.toThrow('not found')
    expect(await here.exists('one')).toBe(true)
  })

  it('that cannot be reached changes nothing', async () => {
    const here = await start()
    await here.policy({ targets: [target] })
    await here.pass(hour)
    expect(await here.candidates()).toEqual([])
    const { conditions = [] } = (await here.readPolicy()).status ?? {}
    expect(conditions.find(({ type }) => type === 'InventoryComplete')).toMatchObject({
      status: 'False',
      message: expect.stringContaining('team.remote'),
    })
  })
})

describe('an opt-out', () => {
  it('E23: covers every policy that marked the resource', async () => {
    const here = await start()
    await here.policy({})
    await here.policy({}, 'other')
    await here.pass(minute)
    await here.call('PUT', '/resources/state/kubernetes:home:team:configmap/one/optOut')
    await here.pass(minute)
    expect((await here.candidates()).map(({ status }) => status?.phase)).toEqual(['OptedOut', 'OptedOut'])
  })
})

describe('a lease that was lost', () => {
  it('E8: stops every further side effect', async () => {
    const work = { fence: { held: false, number: 3 }, signal: new AbortController().signal, wrote: () => {} }
    expect(() => assertHeld(work)).toThrow(FenceLost)
    const candidate = { metadata: { name: 'x' }, spec: {}, status: { phase: 'Marked' } } as unknown as CleanupCandidate
    const ports = { client: new Client(() => Promise.reject(new Error('written'))), clock: systemClock }
    await expect(writeMark({ ...work, ports }, candidate, { phase: 'Notified' })).rejects.toThrow(FenceLost)
  })
})

describe('Swabbie’s testing paths', () => {
  it('do not exist unless enabled', async () => {
    const here = await start()
    await expect(here.call('PUT', '/testing/resources/state/kubernetes:home:team:configmap/one/mark')).rejects.toThrow(
      'no route',
    )
  })

  it('bring the date of a listed id forward, and of no other', async () => {
    const here = await start({ janitor: { testing: { resourceIds: ['one'] } } })
    await here.configMap('two')
    await here.pass(2 * hour)
    await here.policy({})
    await here.pass(minute)
    expect((await here.call('DELETE', '/testing/resources/state/kubernetes:home:team:configmap/two')).status).toBe(403)
    expect((await here.call('DELETE', '/testing/resources/state/kubernetes:home:team:configmap/one')).status).toBe(200)
    await here.pass(hour)
    expect([await here.exists('one'), await here.exists('two')]).toEqual([false, true])
  })
})

describe('Swabbie’s testing mark', () => {
  const path = '/testing/resources/state/kubernetes:home:team:configmap/one/mark'
  const noRule = { rules: [{ rules: [{ name: 'AgeRule', parameters: { moreThanDays: 900 } }] }] }
  const alwaysClean = [{ rules: [{ name: 'AlwaysCleanRule', parameters: { resourceIds: ['one'] } }] }]

  it.each(['{', '{"projectedDeletionStamp":"soon"}', '{"markTs":"1"}', '{"resourceOwner":7}'])(
    'refuses a body that it cannot read: %s',
    async (body) => {
      const here = await start({ janitor: { testing: { resourceIds: ['one'] } } })
      expect(await here.call('PUT', path, { body })).toMatchObject({ status: 400 })
    },
  )

  it('marks what no cycle has marked yet, with the given owner and date', async () => {
    const here = await start({ janitor: { testing: { resourceIds: ['one'] } } })
    await here.pass(2 * hour)
    await here.policy({ ...noRule, interval: '12h' })
    await here.pass(minute)
    expect(await here.phases()).toEqual({})
    const body = JSON.stringify({ projectedDeletionStamp: here.clock.now() + hour, resourceOwner: 'ann@example.org' })
    expect(await here.call('PUT', path, { body })).toMatchObject({
      status: 200,
      body: {
        markedResource: { resourceOwner: 'ann@example.org', notificationInfo: { notificationType: 'NONE' } },
        currentStatus: { name: 'NOTIFY' },
      },
    })
    expect(await here.phases()).toEqual({ one: 'Notified' })
    // No rule matches: the deletion judges again, and lifts the mark.
    await here.pass(13 * hour)
    expect(await here.exists('one')).toBe(true)
    expect(await here.phases()).toEqual({ one: 'Unmarked' })
  })

  it('leads to a deletion on the given date where a rule matches', async () => {
    const here = await start({ janitor: { testing: { resourceIds: ['one'] } } })
    await here.pass(2 * hour)
    await here.policy({ rules: alwaysClean, actions: ['Delete'] })
    await here.pass(minute)
    await here.call('PUT', path, { body: JSON.stringify({ projectedDeletionStamp: here.clock.now() + hour }) })
    await here.pass(hour / 2)
    expect(await here.exists('one')).toBe(true)
    await here.pass(hour)
    expect(await here.exists('one')).toBe(false)
  })

  it('marks nothing that is kept, that no policy targets, or for a dry run', async () => {
    const here = await start({ janitor: { testing: { resourceIds: ['one'] } } })
    await here.pass(2 * hour)
    expect((await here.call('PUT', path)).status).toBe(404)
    await here.policy({ rules: alwaysClean, dryRun: true })
    await here.pass(minute)
    expect((await here.call('PUT', path)).status).toBe(409)
    await here.client.patch(
      {
        group: 'sojourn.dev',
        version: 'v1alpha1',
        kind: 'CleanupPolicy',
        plural: 'cleanuppolicies',
        namespaced: false,
      },
      { name: 'tidy' },
      {
        type: 'merge',
        body: {
          spec: { dryRun: false, exclusions: [{ type: 'Literal', attributes: [{ key: 'name', value: ['one'] }] }] },
        },
      },
    )
    await here.pass(minute)
    expect((await here.call('PUT', path)).body).toMatchObject({ message: expect.stringContaining('it is kept') })
    expect(await here.phases()).toEqual({})
  })
})

describe('a swabbie.yml', () => {
  const text = `
swabbie:
  providers:
    - {name: aws, locations: [us-east-1], accounts: [main], resourceTypes: [{name: snapshot, enabled: true, enabledRules: [{rules: [{name: OrphanedSnapshotRule}]}]}]}
`
  it('is applied completely, and can be applied again', async () => {
    const here = await start()
    for (let times = 0; times < 2; times++) await applySwabbie(here.client, importSwabbie(text))
    expect((await here.readPolicy('swabbie-aws-snapshot')).spec).toMatchObject({ dryRun: true, scheduleRef: 'swabbie' })
  })

  it('with a problem is not applied at all', async () => {
    const here = await start()
    await expect(
      applySwabbie(here.client, importSwabbie(text.replace('OrphanedSnapshotRule', 'NoSuchRule'))),
    ).rejects.toThrow('unknown rule "NoSuchRule"')
    expect(
      (
        await here.client.list({
          group: 'sojourn.dev',
          version: 'v1alpha1',
          kind: 'CleanupPolicy',
          plural: 'cleanuppolicies',
          namespaced: false,
        })
      ).items,
    ).toEqual([])
  })
})
