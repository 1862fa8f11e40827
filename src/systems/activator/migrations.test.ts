import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { startTestServer, type TestServer } from '../../../test/apiserver/test-server.ts'
import { fastClock, startFakeCluster, startReplica, type FakeCluster } from '../../../test/activator/cluster.ts'
import { customResourceDefinitions, deployments } from '../../kube/core-types.ts'
import type { KubeObject, StoredObject } from '../../kube/object.ts'
import { downscalerRule } from './model/downscaler.ts'
import { readServiceSettings } from './model/service-settings.ts'
import { sleepInfoRule, sleepInfos } from './model/sleep-info.ts'

const namespace = 'default'
/** The example of a migration page. */
function exampleOf(page: string): KubeObject {
  const text = readFileSync(new URL(`../../../docs/migrate/${page}.md`, import.meta.url), 'utf8')
  return parse(/```yaml\n([^]*?)```/.exec(text)![1]!) as KubeObject
}

describe('rules of other tools, taken as they are', () => {
  /** A Wednesday; Berlin is one hour ahead, so its office closes half a minute later. */
  const evening = Date.UTC(2026, 10, 18, 16, 59, 30)
  let server: TestServer
  let clock: ReturnType<typeof fastClock>
  let cluster: FakeCluster
  beforeEach(async () => {
    clock = fastClock(20, evening)
    server = await startTestServer({ clock: fastClock(20, evening - 3_600_000) as never })
    cluster = await startFakeCluster(server.transport)
  })
  afterEach(async () => {
    await cluster[Symbol.asyncDispose]()
    await server.close()
  })
  const until = async (condition: () => Promise<boolean>) => {
    while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5))
  }
  const replicasOf = async (name: string) => ((await cluster.deployment(name)).spec as { replicas: number }).replicas

  it('follows the annotations of kube-downscaler', async () => {
    await cluster.client.create(deployments, exampleOf('kube-downscaler'))
    await using _ = await startReplica(server.transport, { clock, compatibility: ['downscaler'] })
    await until(async () => (await replicasOf('shop')) === 0)
    expect(clock.now()).toBeGreaterThanOrEqual(evening + 30_000)
    const forced = { 'downscaler/force-uptime': 'true' }
    const body = { metadata: { annotations: forced } }
    await cluster.client.patch(deployments, { namespace, name: 'shop' }, { type: 'merge', body })
    await until(async () => (await replicasOf('shop')) === 3)
  })

  it.each(['downscaler/downtime-replicas', 'downscaler/downscale-replicas'])(
    'leaves the replicas of %s',
    async (name) => {
      const example = exampleOf('kube-downscaler')
      const { metadata } = example as StoredObject
      const annotations = { ...metadata.annotations, [name]: '1' }
      await cluster.client.create(deployments, { ...example, metadata: { ...metadata, annotations } })
      await using it = await startReplica(server.transport, { clock, compatibility: ['downscaler'] })
      await until(async () => (await replicasOf('shop')) === 1)
      const sleptAt = clock.now()
      await until(() => Promise.resolve(clock.now() > sleptAt + 20_000))
      expect(it.events.map(({ message }) => message)).toEqual(['Scaled from 3 to 1: its awake hours have ended.'])
      const body = { metadata: { annotations: { 'downscaler/force-uptime': 'true' } } }
      await cluster.client.patch(deployments, { namespace, name: 'shop' }, { type: 'merge', body })
      await until(async () => (await replicasOf('shop')) === 3)
    },
  )

  it('wakes what kube-downscaler had put to sleep to what it noted', async () => {
    const example = exampleOf('kube-downscaler')
    const { metadata, spec } = example as StoredObject
    const annotations = { ...metadata.annotations, 'downscaler/original-replicas': '4', 'downscaler/uptime': 'always' }
    await cluster.client.create(deployments, {
      ...example,
      metadata: { ...metadata, annotations },
      spec: { ...(spec as object), replicas: 0 },
    })
    await using _ = await startReplica(server.transport, { clock, compatibility: ['downscaler'] })
    await until(async () => (await replicasOf('shop')) === 4)
    expect((await cluster.deployment('shop')).metadata.annotations).not.toHaveProperty('downscaler/original-replicas')
  })

  it('leaves both alone unless asked', async () => {
    await cluster.client.create(deployments, exampleOf('kube-downscaler'))
    await using _ = await startReplica(server.transport, { clock })
    await until(() => Promise.resolve(clock.now() > evening + 60_000))
    expect(await replicasOf('shop')).toBe(3)
  })

  it('follows a SleepInfo of kube-green', async () => {
    const names = { plural: 'sleepinfos', kind: 'SleepInfo' }
    const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
    await cluster.client.create(customResourceDefinitions, {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'sleepinfos.kube-green.com' },
      spec: {
        group: 'kube-green.com',
        scope: 'Namespaced',
        names,
        versions: [{ name: 'v1alpha1', served: true, storage: true, schema }],
      },
    })
    await cluster.client.create(sleepInfos, exampleOf('kube-green'))
    await cluster.addDeployment('web', 2)
    await cluster.addDeployment('api-gateway', 1)
    await using _ = await startReplica(server.transport, { clock, compatibility: ['kube-green'] })
    await until(async () => (await replicasOf('web')) === 0)
    expect(clock.now()).toBeGreaterThanOrEqual(evening + 30_000)
    expect(await replicasOf('api-gateway')).toBe(1)
  })
})

it.each([
  ['sablier', { domains: ['whoami.example.org'], workloads: ['whoami', 'db'] }],
  ['keda-http-add-on', { domains: ['xkcd.example.org'], workloads: ['xkcd'] }],
])('understands the example for %s without a fault', (page, { domains, workloads }) => {
  const settings = readServiceSettings(exampleOf(page) as StoredObject)
  expect(settings.faults).toEqual([])
  expect(settings.domains).toEqual(domains)
  expect(settings.workloads.map(({ name }) => name)).toEqual(workloads)
})

describe('a rule of kube-downscaler', () => {
  const at = (text: string) => Date.parse(text)
  const object = (annotations: Record<string, string>) =>
    ({ metadata: { name: 'x', annotations } }) as unknown as StoredObject
  const openAt = (annotations: Record<string, string>, time: string) =>
    downscalerRule([object(annotations)], at(time))?.window(at(time))

  it.each([
    ['uptime, inside', { uptime: 'Mon-Fri 07:00-19:00 UTC' }, '2026-11-18T12:00:00Z', true],
    ['uptime, outside', { uptime: 'Mon-Fri 07:00-19:00 UTC' }, '2026-11-21T12:00:00Z', false],
    ['downtime, inside', { downtime: 'Sat-Sun 00:00-24:00 UTC' }, '2026-11-21T12:00:00Z', false],
    ['several spans', { uptime: 'Mon-Mon 07:00-08:00 UTC, Wed-Wed 11:00-13:00 UTC' }, '2026-11-18T12:00:00Z', true],
    ['an absolute span', { downtime: '2026-12-24T00:00:00Z-2026-12-27T00:00:00Z' }, '2026-12-25T00:00:00Z', false],
    ['overnight, on a listed day', { uptime: 'Mon-Fri 20:00-06:00 UTC' }, '2026-11-18T02:00:00Z', true],
    ['overnight, on a day that is not listed', { uptime: 'Mon-Fri 20:00-06:00 UTC' }, '2026-11-21T02:00:00Z', false],
    ['force-downtime over uptime', { uptime: 'always', 'force-downtime': 'true' }, '2026-11-18T12:00:00Z', false],
    ['uptime with downtime', { uptime: 'never', downtime: 'always' }, '2026-11-18T12:00:00Z', true],
    ['a span that is none', { uptime: 'sometimes' }, '2026-11-18T12:00:00Z', true],
  ])('%s', (_, given, time, open) => {
    const annotations = Object.fromEntries(Object.entries(given).map(([key, value]) => [`downscaler/${key}`, value]))
    expect(openAt(annotations, time)).toMatchObject({ open })
  })

  it('says nothing outside its periods, nor while excluded', () => {
    const noon = '2026-11-18T12:00:00Z'
    expect(openAt({ 'downscaler/downscale-period': 'Mon-Fri 19:00-20:00 UTC' }, noon)).toMatchObject({ asIs: true })
    expect(openAt({ 'downscaler/uptime': 'never', 'downscaler/exclude': 'true' }, noon)).toBeUndefined()
    expect(openAt({ 'downscaler/uptime': 'never', 'downscaler/exclude-until': '2026-12-24' }, noon)).toBeUndefined()
  })
})

describe('a SleepInfo', () => {
  const web = { kind: 'Deployment', metadata: { name: 'web' } } as unknown as StoredObject
  const windowAt = (spec: object, time: string) =>
    sleepInfoRule([{ metadata: { name: 'x' }, spec } as unknown as StoredObject], web)?.window(Date.parse(time))
  const office = { weekdays: '1-5', sleepAt: '20:00', wakeUpAt: '08:00', timeZone: 'Europe/Berlin' }

  it.each([
    [
      'sleeps over the weekend',
      office,
      '2026-11-21T12:00:00Z',
      { open: false, nextOpenAt: Date.parse('2026-11-23T07:00:00Z') },
    ],
    [
      'is awake on a weekday',
      office,
      '2026-11-18T12:00:00Z',
      { open: true, until: Date.parse('2026-11-18T19:00:00Z') },
    ],
    [
      'keeps local hours over a change of clocks',
      office,
      '2026-03-28T12:00:00Z',
      { nextOpenAt: Date.parse('2026-03-30T06:00:00Z') },
    ],
    [
      'sleeps until woken without wakeUpAt',
      { ...office, wakeUpAt: undefined },
      '2026-11-18T12:00:00Z',
      { open: false, nextOpenAt: undefined },
    ],
    ['is refused with times that repeat', { ...office, sleepAt: '*:*/2' }, '2026-11-21T12:00:00Z', { open: true }],
    ['is refused with patches', { ...office, patches: [{}] }, '2026-11-21T12:00:00Z', { open: true }],
  ])('%s', (_, spec, time, expected) => expect(windowAt(spec, time)).toMatchObject(expected))
})
