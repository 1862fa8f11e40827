import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { cleanupPolicy } from '../src/apis/cleanup-policy.ts'
import { pipeline } from '../src/apis/pipeline.ts'
import { readConfig } from '../src/app/config/config.ts'
import { readAssumption } from '../src/forecast/assumption.ts'
import { forecast } from '../src/app/forecast/forecast.ts'
import { describeRef, type KubeObject } from '../src/kube/object.ts'
import { stringify } from 'yaml'
import { startWorld, type World } from './world.ts'

const day = 86_400_000
let world: World

beforeEach(async () => {
  world = await startWorld()
})
afterEach(() => world[Symbol.asyncDispose]())

/** The forecast events under these assumptions, as `+HOURS what object`. */
async function ahead(assume: readonly string[], files: Readonly<Record<string, string>> = {}): Promise<string[]> {
  const now = world.clock.now()
  const assumptions = assume.map((text) => readAssumption(text, { now, readFile: (path) => files[path] ?? '' }))
  const config = readConfig({ flags: {}, env: {} })
  const { events } = await forecast(world.client, { config, now, forMs: 10 * day, assumptions })
  return events.map(({ at, what, object, environment = '' }) =>
    `+${Math.floor((at - now) / 3_600_000)} ${what} ${describeRef(object)} ${environment}`.trim(),
  )
}

function configMap(name: string, given: Partial<KubeObject['metadata']> = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'team', ...given } }
}

const unusedPolicy = {
  apiVersion: cleanupPolicy.apiVersion,
  kind: cleanupPolicy.kind,
  metadata: { name: 'unused' },
  spec: {
    targets: [{ kubernetes: { resources: [{ kind: 'ConfigMap' }], namespaces: { include: ['team'] } } }],
    rules: [{ rules: [{ name: 'AlwaysCleanRule', parameters: { resourceIds: ['old'] } }] }],
    minAge: '1h',
    retention: { duration: '2d' },
    notification: { required: false },
    limits: { maxDeletePercent: 100 },
  },
}

describe('sojourn forecast --assume', () => {
  it('FILE: shows what a policy would do before it is applied', async () => {
    await world.create(configMap('old'))
    const files = { 'policy.yaml': stringify(unusedPolicy) }
    expect(await ahead([])).toEqual([])
    const events = await ahead(['policy.yaml@1d'], files)
    expect(events).toContain('+24 assumed CleanupPolicy/unused')
    expect(events).toContain('+24 marked ConfigMap/team/old')
    expect(events.filter((event) => event.includes('leaves ConfigMap/team/old'))).toHaveLength(1)
  }, 60_000)

  it('opt-out: keeps an object that would be deleted', async () => {
    await world.create(configMap('old'))
    const files = { 'policy.yaml': stringify(unusedPolicy) }
    const events = await ahead(['policy.yaml', 'opt-out:configmap/team/old@1d'], files)
    expect(events).toContain('+24 assumed ConfigMap/team/old')
    expect(events.some((event) => event.includes('leaves'))).toBe(false)
    expect(events.some((event) => event.includes('spared ConfigMap/team/old'))).toBe(true)
  }, 60_000)

  it('delete: deletes its dependents too', async () => {
    const { metadata } = await world.create(configMap('owner'))
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: metadata.uid }]
    await world.create(configMap('owned', { ownerReferences }))
    const events = await ahead(['delete:configmap/team/owner@2d'])
    expect(events[0]).toBe('+48 assumed ConfigMap/team/owner')
    expect(events.slice(1)).toEqual(['+48 leaves ConfigMap/team/owner', '+48 leaves ConfigMap/team/owned'])
  }, 60_000)

  it('approve and merge: a revision reaches the last environment', async () => {
    await world.create(configMap('dev', { annotations: { revision: '2' } }))
    for (const name of ['staging', 'production'])
      await world.create(configMap(name, { annotations: { revision: '1' } }))
    const environment = (name: string, promotion?: object) => ({
      name,
      appRef: { apiVersion: 'v1', kind: 'ConfigMap', name },
      targets: [{ namespace: 'team' }],
      ...(promotion ? { promotion } : {}),
    })
    const url = 'https://git.example.org/team/shop'
    const strategy = {
      'pull-request': { type: 'gitea', url, baseBranch: 'main', secretRef: { name: 'git' } },
    }
    await world.create({
      apiVersion: pipeline.apiVersion,
      kind: pipeline.kind,
      metadata: { name: 'shop', namespace: 'team' },
      spec: {
        appRef: { apiVersion: 'v1', kind: 'ConfigMap', name: 'dev' },
        adapter: { healthy: 'true', revision: 'self.metadata.annotations["revision"]' },
        environments: [
          environment('dev'),
          environment('staging', { strategy }),
          environment('production', { strategy: { notification: {} }, manual: true }),
        ],
      },
    })
    const shop = (events: readonly string[]) => events.filter((event) => event.includes('Pipeline/team/shop'))
    expect(shop(await ahead([]))).toEqual([
      '+0 promotes Pipeline/team/shop staging',
      '+0 waits Pipeline/team/shop staging',
    ])
    expect(shop(await ahead(['merge:5h', 'approve:team/shop/production']))).toEqual([
      '+0 promotes Pipeline/team/shop staging',
      '+0 waits Pipeline/team/shop staging',
      '+5 arrives Pipeline/team/shop staging',
      '+5 waits Pipeline/team/shop production',
      '+5 assumed Pipeline/team/shop',
      '+5 promotes Pipeline/team/shop production',
      '+5 told Pipeline/team/shop production',
      '+5 arrives Pipeline/team/shop production',
    ])
  }, 60_000)

  it('fails with the assumption that cannot be carried out', async () => {
    await expect(ahead(['delete:configmap/team/nothing'])).rejects.toThrow('cannot assume that a user deletes')
  }, 60_000)
})
