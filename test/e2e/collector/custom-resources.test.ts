import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ownedBy } from '../../cascades.ts'
import type { StoredObject } from '../../../src/kube/object.ts'
import { lanes, LiveCascades } from './live-cascades.ts'

const definitions = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' }
const template = {
  metadata: { labels: { app: 'a' } },
  spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] },
}

describe.each(lanes)('owners of every kind, %s', (_, options) => {
  let here: LiveCascades
  beforeAll(async () => {
    here = await LiveCascades.start(options)
  })
  afterAll(() => here[Symbol.asyncDispose]())

  /** A kind of its own for each case, and a word to make one of it. */
  async function define(scope: 'Namespaced' | 'Cluster' = 'Namespaced') {
    await here.begin()
    const kind = `Kind${here.namespace.replace('-', '')}`
    const plural = kind.toLowerCase()
    const make = () =>
      here.make(definitions.apiVersion, definitions.kind, `${plural}.x.dev`, {
        spec: {
          group: 'x.dev',
          scope,
          names: { kind, plural, singular: plural },
          versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
        },
      })
    /** Waits until the server serves it and the collector watches it. */
    const served = async () => {
      here.client.discovery.forget()
      await expect
        .poll(async () => {
          here.client.discovery.forget()
          return here.client.discovery.typeOf({ apiVersion: 'x.dev/v1', kind })
        })
        .toBeDefined()
      await expect.poll(() => here.collector.world.typeOf({ apiVersion: 'x.dev/v1', kind })).toBeDefined()
    }
    const definition = await make()
    await served()
    const custom = (name: string, metadata: object = {}) => here.make('x.dev/v1', kind, name, { metadata })
    return { definition, custom, left: () => here.left('x.dev/v1', kind), again: () => make().then(served) }
  }

  it('68: a custom resource that goes in the foreground waits for the one it owns', async () => {
    const { custom, left } = await define()
    const owner = await custom('owner')
    const child = await custom('child', {
      ownerReferences: [ownedBy(owner, { blockOwnerDeletion: true })],
      finalizers: ['x.dev/held'],
    })
    await here.rest()
    await here.remove(owner, 'Foreground')
    expect(await left()).toEqual(['child', 'owner'])
    await here.change(child, { finalizers: null })
    await here.rest()
    expect(await left()).toEqual([])
  })

  it('69: custom resources own built-in ones, and the other way round', async () => {
    const { custom, left } = await define()
    const owner = await custom('owner')
    await here.configMap('owned', { ownerReferences: [ownedBy(owner)] })
    const other = await here.configMap('other')
    await custom('owned', { ownerReferences: [ownedBy(other)] })
    await here.rest()
    await here.remove(owner)
    expect([await here.left(), await left()]).toEqual([['other'], ['owned']])
    await here.remove(other)
    expect([await here.left(), await left()]).toEqual([[], []])
  })

  it('70: with a definition its instances go and all they own, and again when it comes again', async () => {
    const { definition, custom, again } = await define()
    for (const turn of ['first', 'second']) {
      if (turn === 'second') await again()
      const owner = await custom('owner')
      await here.configMap(`owned-${turn}`, { ownerReferences: [ownedBy(owner)] })
      await here.configMap(`free-${turn}`)
      await here.rest()
      await here.ask(definition)
      await expect.poll(() => here.left(), { timeout: 10_000 }).not.toContain(`owned-${turn}`)
      await expect.poll(() => here.now(definition)).toBeUndefined()
    }
    await here.rest()
    expect(await here.left()).toEqual(['free-first', 'free-second'])
  })

  it('72: bad references into another namespace are found at the start, good ones are left', async () => {
    const { custom } = await define()
    const owner = await custom('owner')
    for (let index = 0; index < 10; index++)
      await here.configMap(`good-${index}`, { ownerReferences: [ownedBy(owner)] })
    await here.rest()
    for (const running of here.running) await running.stop()
    const metadata = { namespace: 'team', ownerReferences: [ownedBy(owner)] }
    const bad = await here.configMap('bad', metadata)
    await here.collect()
    await here.rest()
    expect([await here.now(bad), (await here.left()).length]).toEqual([undefined, 10])
    const late = await here.configMap('bad-too', metadata)
    await here.rest()
    expect([await here.now(late), (await here.left()).length]).toEqual([undefined, 10])
    await here.remove(owner)
    expect(await here.left()).toEqual([])
  })

  it('73: while the list of an owner’s kind is slow, its dependents are kept and objects without an owner are deleted', async () => {
    await here.begin()
    for (const running of here.running) await running.stop()
    const owner = await here.make('rbac.authorization.k8s.io/v1', 'ClusterRole', here.namespace)
    const missing = { ...ownedBy(owner), name: 'absent', uid: crypto.randomUUID() }
    await here.configMap('valid', { ownerReferences: [ownedBy(owner)] })
    await here.configMap('missing', { ownerReferences: [missing] })
    await here.configMap('unknown', { ownerReferences: [ownedBy(owner, { apiVersion: 'y.dev/v1', kind: 'Never' })] })
    const hear = here.hush('clusterroles')
    const starting = here.collect()
    // Nothing is judged before everything has been looked at once.
    await expect
      .poll(() => here.collector.world.unknownKinds, { timeout: 10_000 })
      .toEqual(['clusterroles.rbac.authorization.k8s.io'])
    expect(await here.left()).toEqual(['missing', 'unknown', 'valid'])
    hear()
    await starting
    await here.rest()
    expect(await here.left()).toEqual(['unknown', 'valid'])
    await here.remove(owner)
  })

  it.each([
    ['82', 'Background' as const, []],
    ['83', 'Orphan' as const, ['child']],
  ])('%s: a custom resource deleted with %s leaves %j', async (_, policy, expected) => {
    const { custom, left } = await define()
    const owner = await custom('owner')
    const child = await custom('child', { ownerReferences: [ownedBy(owner)] })
    await here.rest()
    await here.ask(owner, { propagationPolicy: policy })
    await expect.poll(left, { timeout: 10_000 }).toEqual(expected)
    await here.rest()
    expect((await here.now(child))?.metadata.ownerReferences).toBeUndefined()
  })

  it('84: a CronJob takes its Job along, and that its Pod', async () => {
    await here.begin()
    const jobTemplate = { spec: { template } }
    const cron = await here.make('batch/v1', 'CronJob', 'cron', { spec: { schedule: '* * * * *', jobTemplate } })
    const controlledBy = (owner: StoredObject) => ({
      ownerReferences: [ownedBy(owner, { controller: true, blockOwnerDeletion: true })],
    })
    const job = await here.make('batch/v1', 'Job', 'job', { metadata: controlledBy(cron), spec: { template } })
    await here.make('v1', 'Pod', 'pod', { metadata: controlledBy(job), spec: template.spec })
    await here.rest()
    await here.remove(cron, 'Background')
    expect([await here.left('batch/v1', 'Job'), await here.left('v1', 'Pod')]).toEqual([[], []])
  })

  it('62: of ten times five owners each takes along what it was told to, and nothing else', async () => {
    await here.begin()
    type Fate = readonly [string, 'Background' | 'Foreground' | 'Orphan', readonly string[], boolean]
    const fates: readonly Fate[] = [
      ['background', 'Background', [], false],
      ['foreground', 'Foreground', [], false],
      ['orphan', 'Orphan', [], true],
      ['was-orphan', 'Background', ['orphan'], false],
      ['was-foreground', 'Orphan', ['foregroundDeletion'], true],
    ]
    const owners: [StoredObject, Fate][] = []
    await Promise.all(
      Array.from({ length: 10 }, async (_, round) => {
        for (const fate of fates) {
          const [name, , finalizers] = fate
          const owner = await here.configMap(`${name}-${round}`, { finalizers })
          for (let index = 0; index < 3; index++)
            await here.configMap(`of-${name}-${round}-${index}`, {
              ownerReferences: [ownedBy(owner, { blockOwnerDeletion: true })],
            })
          owners.push([owner, fate])
        }
      }),
    )
    await here.rest()
    await Promise.all(owners.map(([owner, [, propagationPolicy]]) => here.ask(owner, { propagationPolicy })))
    await expect
      .poll(async () => (await here.left()).filter((name) => !name.startsWith('of-')), { timeout: 20_000 })
      .toEqual([])
    await here.rest()
    const expected = owners.flatMap(([{ metadata }, [, , , stays]]) =>
      stays ? [0, 1, 2].map((index) => `of-${metadata.name}-${index}`) : [],
    )
    expect(await here.left()).toEqual(expected.toSorted())
    expect(expected).toHaveLength(60)
    const { graph } = here.collector.world
    expect(owners.filter(([{ metadata }]) => graph.find(metadata.uid) !== undefined)).toEqual([])
  }, 60_000)
})
