import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { AwsTypeName } from '../../src/apis/cleanup-policy.ts'
import type { ProviderAccount } from '../../src/apis/provider-account.ts'
import { defaultPrices } from '../../src/prices/prices.ts'
import { systemClock } from '../../src/runtime/time/clock.ts'
import { AwsProvider } from '../../src/systems/janitor/aws/aws-provider.ts'
import { InventoryError, type Resource } from '../../src/systems/janitor/model/resource.ts'
import { localNetwork } from '../local-network.ts'
import { furnishCosts, type Names } from './aws-account.ts'
import { startFaultProxy, type FaultProxy } from './fault-proxy.ts'
import { policy } from './fixtures.ts'
import { startMoto, whyNoMoto, type Moto } from './moto.ts'

const missing = await whyNoMoto()
const region = 'eu-west-1'
const day = 86_400_000
/** moto stamps everything with the real time: it is judged a hundred days later. */
const later = 100 * day

/** What each type must say of each resource of the account, by name. */
const expected: Partial<Record<AwsTypeName, Readonly<Record<string, string>>>> = {
  volume: {
    attached: 'used: instance',
    root: 'used: instance',
    'left-over': 'unused: it is attached to no instance',
    'of-a-claim': 'used: PersistentVolume/data',
    'of-another-cluster': 'unknown: its tag kubernetes.io/created-for/pv/name',
  },
  snapshot: {
    'of-image': 'used: image',
    spare: 'unused: no image maps it',
    shared: 'unknown: it is shared with account 999999999999',
    'of-a-content-by-hand': 'used: VolumeSnapshotContent/by-hand',
    'of-a-volume-snapshot': 'unknown: its tag CSIVolumeSnapshotName',
    'of-a-backup': 'unknown: its tag velero.io/backup',
  },
  loadBalancer: {
    'idle-classic': 'unused: no instance, target or auto-scaling group',
    'classic-of-cluster': 'unknown: its tag kubernetes.io/cluster/shop',
  },
  loadBalancerV2: {
    'idle-balancer': 'unused: no instance, target or auto-scaling group',
    'balancer-of-cluster': 'unknown: its tag elbv2.k8s.aws/cluster',
    'busy-balancer': 'used: target group',
  },
  elasticIp: {
    'idle-address': 'unused: it is associated with nothing',
    'address-of-routed': 'used: network interface',
    'address-of-quiet': 'used: network interface',
    'address-of-new': 'used: network interface',
    'address-of-unrouted': 'used: network interface',
  },
  natGateway: {
    routed: 'used: route table',
    quiet: 'unused: it sent no traffic for 14 days',
    new: 'used: route table',
    unrouted: 'unused: no route leads to it',
  },
  dbInstance: {
    busy: 'used: up to 7 connections',
    idle: 'unused: it had no connections for 14 days',
    unmeasured: 'unknown: CloudWatch has no values',
    protected: 'unused: it had no connections for 14 days',
    source: 'used: its replica replica',
    replica: 'used: up to 3 connections',
  },
  dbSnapshot: {
    'idle-1': 'unused: idle-last is a later snapshot of idle',
    'idle-shared': 'unknown: it is shared with account 999999999999',
    'idle-last': 'used: database idle, whose last snapshot it is',
    'busy-only': 'used: database busy, whose last snapshot it is',
  },
  logGroup: {
    '/app/written': 'unused: no log event arrived for 100 days',
    '/app/empty': 'unused: no log event arrived for 100 days',
  },
  ecrImage: {
    'by-pod': 'used: Deployment/web',
    'by-task': 'used: task definition web',
    member: 'used: manifest list list',
    list: 'unused: nothing names it, and it was not pulled for 90 days',
    old: 'unused: nothing names it, and it was not pulled for 90 days',
  },
}

describe.skipIf(missing)('AWS resources that cost', () => {
  let moto: Moto
  let proxy: FaultProxy
  let provider: AwsProvider
  let names: Names
  let offset = later
  let clusters: () => Promise<Map<string, string>>

  beforeAll(async () => {
    moto = await startMoto()
    proxy = await startFaultProxy(moto.url)
  })
  beforeEach(async () => {
    offset = later
    await moto.reset()
    proxy.fault = () => undefined
    const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }
    names = await furnishCosts({ region, endpoint: moto.url, credentials }, Date.now() + later)
    proxy.calls.length = 0
    const idOf = (wanted: string) => [...names].find(([, name]) => name === wanted)?.[0] ?? ''
    const image = `123456789012.dkr.ecr.${region}.amazonaws.com/shop/web:by-pod`
    clusters = async () =>
      new Map([
        [image, 'Deployment/web'],
        [idOf('of-a-claim'), 'PersistentVolume/data'],
        [idOf('of-a-content-by-hand'), 'VolumeSnapshotContent/by-hand'],
      ])
    provider?.close()
    provider = new AwsProvider({
      clock: { ...systemClock, now: () => systemClock.now() + offset, monotonic: () => systemClock.monotonic() },
      prices: defaultPrices,
      network: localNetwork(),
      accounts: () => [account],
      secret: async () => credentials,
      clusters: () => clusters(),
    })
    const account = {
      metadata: { name: 'main', generation: 1 },
      spec: { provider: 'aws', regions: [region], endpoint: proxy.url, secretRef: { name: 'aws' } },
    } as ProviderAccount
  })
  afterAll(async () => {
    provider?.close()
    await proxy?.[Symbol.asyncDispose]()
    await moto?.[Symbol.asyncDispose]()
  })

  const observe = async (type: AwsTypeName) => {
    const { resources } = await provider.observe({
      policy: policy({ targets: [{ aws: { accounts: ['main'], resourceTypes: [type] } }] }),
      location: `aws/main/${region}`,
      signal: new AbortController().signal,
    })
    return resources
  }
  const nameOf = ({ name }: Resource) => names.get(name) ?? name
  const verdictOf = ({ use }: Resource) => `${use.state}: ${use.state === 'used' ? use.by : use.because}`

  it.each(Object.keys(expected) as AwsTypeName[])('A1: tells used, unused and unknown apart: %s', async (type) => {
    const found = Object.fromEntries((await observe(type)).map((resource) => [nameOf(resource), verdictOf(resource)]))
    expect(Object.keys(found).toSorted()).toEqual(Object.keys(expected[type] ?? {}).toSorted())
    for (const [name, verdict] of Object.entries(expected[type] ?? {})) expect(found[name], name).toContain(verdict)
  })

  it('tells a detached network interface from one with an address', async () => {
    const states = (await observe('networkInterface')).map((resource) => [nameOf(resource), resource.use.state])
    expect(states.filter(([, state]) => state === 'unused')).toEqual([['detached', 'unused']])
    expect(states.length).toBeGreaterThan(4)
  })

  it('A2: keeps what is young: logs of today, databases and images of last week', async () => {
    offset = 7 * day
    await moto.reset()
    const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }
    names = await furnishCosts({ region, endpoint: moto.url, credentials }, Date.now() + offset)
    for (const type of ['logGroup', 'dbInstance', 'ecrImage'] as const)
      expect((await observe(type)).filter(({ use }) => use.state === 'unused')).toEqual([])
    expect((await observe('natGateway')).map(nameOf).length).toBe(4)
    const idle = (await observe('natGateway')).filter(({ use }) => use.state === 'unused').map(nameOf)
    expect(idle).toEqual(['unrouted'])
  })

  it.each([
    ['volume', '100 GiB gp3, about 8.80 USD a month', 'left-over'],
    ['snapshot', '100 GiB, about 5.00 USD a month', 'spare'],
    ['loadBalancer', 'about 20.44 USD a month', 'idle-classic'],
    ['loadBalancerV2', 'about 18.40 USD a month', 'idle-balancer'],
    ['elasticIp', 'about 3.65 USD a month', 'idle-address'],
    ['natGateway', 'about 35.04 USD a month', 'unrouted'],
    ['dbInstance', '20 GiB db.t3.medium, about 55.10 USD a month', 'idle'],
    ['dbSnapshot', '20 GiB, about 1.90 USD a month', 'idle-1'],
    ['logGroup', 'about 0.00 USD a month', '/app/empty'],
    ['ecrImage', 'shop/web:old', 'old'],
  ] as const)('shows what a %s costs: %s', async (type, about, name) => {
    const found = (await observe(type)).find((resource) => nameOf(resource) === name)
    expect(found?.about).toContain(about)
  })

  it('A5: shields a protected database', async () => {
    const shielded = (await observe('dbInstance')).filter(({ shield }) => shield)
    expect(shielded.map(nameOf)).toEqual(['protected'])
  })

  it.each([...Object.keys(expected), 'networkInterface'] as AwsTypeName[])(
    'A6: never says unused when any of its reads is refused: %s',
    async (type) => {
      await observe(type)
      const reads = new Set(proxy.calls.map(({ action }) => action).filter((action) => !/Identity/.test(action)))
      expect(reads.size).toBeGreaterThan(0)
      for (const read of reads) {
        proxy.fault = (action) => (action === read ? { status: 403, code: 'AccessDenied' } : undefined)
        const seen = await observe(type).catch((error: unknown) => {
          expect(error).toBeInstanceOf(InventoryError)
          return []
        })
        expect(seen.filter(({ use }) => use.state === 'unused').map(nameOf), `without ${read}`).toEqual([])
      }
    },
  )

  it.each(['volume', 'snapshot', 'ecrImage'] as const)(
    'A3: never says unused when a cluster cannot be listed: %s',
    async (type) => {
      clusters = async () => Promise.reject(new InventoryError('cannot list pods'))
      expect(new Set((await observe(type)).map(({ use }) => use.state))).toEqual(new Set(['unknown']))
    },
  )

  it('A4: deletes one of each type with one call, and keeps the data of a database', async () => {
    const calls: Partial<Record<AwsTypeName, string>> = {
      volume: 'DeleteVolume',
      snapshot: 'DeleteSnapshot',
      loadBalancer: 'DeleteLoadBalancer',
      loadBalancerV2: 'DeleteLoadBalancer',
      elasticIp: 'ReleaseAddress',
      natGateway: 'DeleteNatGateway',
      networkInterface: 'DeleteNetworkInterface',
      dbSnapshot: 'DeleteDBSnapshot',
      dbInstance: 'DeleteDBInstance',
      logGroup: 'DeleteLogGroup',
      ecrImage: 'BatchDeleteImage',
    }
    for (const [type, call] of Object.entries(calls) as [AwsTypeName, string][]) {
      const [thing] = (await observe(type)).filter(({ use, shield }) => use.state === 'unused' && !shield)
      if (!thing) throw new Error(`no ${type} is unused`)
      const { kind, name, uid, apiVersion } = thing
      const ref = { provider: 'aws', account: 'main', region, apiVersion, kind, name, uid } as const
      const subject = await provider.subject(ref)
      proxy.calls.length = 0
      expect(await subject.remove({ uid, resourceVersion: 'another' }), type).toBe('changed')
      expect(await subject.remove({ uid, resourceVersion: thing.resourceVersion ?? '' }), type).toBe('gone')
      expect(await subject.read(), type).toBeUndefined()
      expect(proxy.writes()).toEqual([call])
    }
    // The data of the deleted database stays.
    expect((await observe('dbSnapshot')).map(({ name }) => name)).toContainEqual(expect.stringMatching(/^final-idle-/))
  })

  it.each(['volume', 'elasticIp', 'natGateway', 'networkInterface', 'dbInstance', 'dbSnapshot', 'logGroup'] as const)(
    'mirrors an opt-out of a %s as a tag and removes it',
    async (type) => {
      const [{ kind, name, uid, apiVersion } = {} as Resource] = await observe(type)
      const ref = { provider: 'aws', account: 'main', region, apiVersion, kind, name, uid } as const
      expect(await provider.setNeverExpires(ref, true)).toBe(true)
      const tagsOf = async () => (await observe(type)).find((resource) => resource.name === name)?.tags
      expect(await tagsOf()).toMatchObject({ expiration_time: 'never' })
      await provider.setNeverExpires(ref, false)
      expect(await tagsOf()).not.toHaveProperty('expiration_time')
    },
  )
})
