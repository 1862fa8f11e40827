import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ownedBy } from '../../cascades.ts'
import { departure, type Departure } from '../../../src/apis/departure.ts'
import { restore } from '../../../src/departures/restore/restore.ts'
import type { StoredObject } from '../../../src/kube/object.ts'
import { lanes, LiveCascades } from './live-cascades.ts'

const absentOwner = { apiVersion: 'v1', kind: 'Secret', name: 'absent', uid: '11111111-1111-4111-8111-111111111111' }

describe.each(lanes)('owners as the collector of Kubernetes sees them, %s', (_, options) => {
  let here: LiveCascades
  beforeAll(async () => {
    here = await LiveCascades.start(options)
  })
  afterAll(() => here[Symbol.asyncDispose]())
  const begin = () => here.begin()
  const { isInServer } = options
  /** How often a collector asked for this. */
  const asked = (request: string) => here.requests.filter((made) => made === request).length
  const failures = () =>
    here.world.metrics.render().match(/sojourn_reconcile_total\{[^}]*result="(failed|terminal)"\}.*/g)
  const refs = async (object: StoredObject) =>
    ((await here.now(object))?.metadata.ownerReferences ?? []).map(({ name }) => name)

  it('23: what names an owner that is not there costs one question and one delete', async () => {
    await begin()
    await here.configMap('child', { ownerReferences: [absentOwner] })
    await here.rest()
    expect(await here.left()).toEqual([])
    if (!isInServer)
      expect(here.requests.filter((made) => / (child|absent)$/.test(made))).toEqual([
        'GET absent',
        'GET child',
        'DELETE child',
      ])
  })

  it('24: an object that another client deletes first is done', async () => {
    await begin()
    const child = await here.configMap('child')
    here.meddle = ({ method, path }) => {
      if (method === 'DELETE' && path.endsWith('/child'))
        return here.ask(child).then(() => void (here.meddle = () => {}))
    }
    await here.change(child, { ownerReferences: [absentOwner] })
    await here.rest()
    expect(await here.left()).toEqual([])
    expect(failures()).toBeNull()
  })

  it('25: so it is when its owner waits for it in the foreground', async () => {
    await begin()
    const owner = await here.configMap('owner')
    const child = await here.configMap('child', { ownerReferences: [ownedBy(owner, { blockOwnerDeletion: true })] })
    await here.rest()
    here.meddle = ({ method, path }) => {
      if (method === 'DELETE' && path.endsWith('/child'))
        return here.ask(child).then(() => void (here.meddle = () => {}))
    }
    await here.remove(owner, 'Foreground')
    expect(await here.left()).toEqual([])
    expect(failures()).toBeNull()
  })

  it('27: dependents that come and go while their owner is orphaning are neither lost nor taken', async () => {
    await begin()
    const owner = await here.configMap('owner')
    const child = (name: string) => here.configMap(name, { ownerReferences: [ownedBy(owner)] })
    for (let index = 0; index < 10; index++) await child(`early-${index}`)
    await here.rest()
    let endedAt = Infinity
    const stop = here.world.server.store.subscribe((events) => {
      for (const { type, uid, document } of events)
        if (type === 'delete' && uid === owner.metadata.uid) endedAt = document.revision
    })
    const coming = Array.from({ length: 40 }, (_, index) => child(`late-${index}`))
    const going = child('gone').then((object) => here.ask(object))
    await here.ask(owner, { propagationPolicy: 'Orphan' })
    const made = await Promise.all(coming)
    await going
    await expect.poll(() => here.left(), { timeout: 10_000 }).not.toContain('owner')
    await here.rest()
    stop()
    const inTime = made.filter(({ metadata }) => Number(metadata.resourceVersion) < endedAt)
    const left = await here.left()
    expect(left.filter((name) => name.startsWith('early'))).toHaveLength(10)
    expect(left.filter((name) => name.startsWith('late')).toSorted()).toEqual(
      inTime.map(({ metadata }) => metadata.name).toSorted(),
    )
    for (const object of inTime) expect(await refs(object)).toEqual([])
  })

  it('28: an owner that is known to be absent is not asked for again', async () => {
    await begin()
    const absent = { ...absentOwner, uid: crypto.randomUUID() }
    for (const name of ['first', 'second']) {
      await here.configMap(name, { ownerReferences: [absent] })
      await here.rest()
    }
    expect(await here.left()).toEqual([])
    expect(asked('GET absent')).toBe(isInServer ? 0 : 1)
  })

  it('29: of three references those to the two that are gone are taken out', async () => {
    await begin()
    const [one, two, three] = await Promise.all(['one', 'two', 'three'].map((name) => here.configMap(name)))
    const child = await here.configMap('child', {
      ownerReferences: [one!, two!, three!].map((owner) => ownedBy(owner)),
    })
    await here.rest()
    await Promise.all([here.ask(two!), here.ask(three!)])
    await here.rest()
    expect(await refs(child)).toEqual(['one'])
  })

  it('31: an orphan that changes in the very moment is freed at the next try, and its owner waits for that', async () => {
    await begin()
    const owner = await here.configMap('owner')
    const child = await here.configMap('child', { ownerReferences: [ownedBy(owner)] })
    await here.rest()
    let conflicts = 0
    here.meddle = async ({ method, path }) => {
      if (method !== 'PATCH' || !path.endsWith('/child') || conflicts++ > 0) return
      await here.change(child, { labels: { changed: 'yes' } })
    }
    await here.ask(owner, { propagationPolicy: 'Orphan' })
    await expect.poll(() => here.left(), { timeout: 10_000 }).toEqual(['child'])
    expect(await refs(child)).toEqual([])
    expect(conflicts).toBeGreaterThan(1)
  })

  it('34: an owner without a namespace that is seen late keeps what names it', async () => {
    await begin()
    const hear = here.hush('clusterroles')
    const owner = await here.make('rbac.authorization.k8s.io/v1', 'ClusterRole', here.namespace)
    const child = await here.configMap('child', { ownerReferences: [ownedBy(owner)] })
    await expect.poll(() => here.collector.world.graph.find(child.metadata.uid)).toBeDefined()
    await expect.poll(() => here.collector.controller.idle).toBe(true)
    expect(await here.now(child)).toBeDefined()
    hear()
    await here.rest()
    expect(await here.left()).toEqual(['child'])
    await here.remove(owner)
    expect(await here.left()).toEqual([])
  })

  it.each([
    ['35', false],
    ['36', true],
  ])(
    '%s: what names an owner in another namespace goes, that owner’s own stay; owner seen late: %s',
    async (_, isLate) => {
      await begin()
      const far = await here.make('v1', 'Secret', 'far', { metadata: { namespace: 'team' } })
      const near = await here.configMap('near', { namespace: 'team', ownerReferences: [ownedBy(far)] })
      await here.rest()
      const hear = isLate ? here.hush('secrets') : () => {}
      const owner = isLate ? await here.make('v1', 'Secret', 'late', { metadata: { namespace: 'team' } }) : far
      await here.configMap('child', { ownerReferences: [ownedBy(owner)] })
      await expect.poll(() => here.left()).toEqual([])
      hear()
      await here.rest()
      expect([await here.now(owner), await here.now(near)]).toEqual([expect.anything(), expect.anything()])
      if (!isLate) expect(await told(here, 'OwnerRefInvalidNamespace', 'child')).toHaveLength(1)
      await here.ask(owner)
      await here.ask(far).catch(() => {})
      await here.rest()
      expect(await here.now(near)).toBeUndefined()
    },
  )

  it.each([
    ['37', false],
    ['38', true],
  ])(
    '%s: what has no namespace and names an owner in one is kept and told of; owner seen late: %s',
    async (_, isLate) => {
      await begin()
      const hear = isLate ? here.hush('secrets') : () => {}
      const owner = await here.make('v1', 'Secret', 'owner')
      if (!isLate) await here.rest()
      const child = await here.make('rbac.authorization.k8s.io/v1', 'ClusterRole', here.namespace, {
        metadata: { ownerReferences: [ownedBy(owner)] },
      })
      await expect.poll(() => here.collector.world.graph.find(child.metadata.uid)).toBeDefined()
      hear()
      await here.rest()
      await here.remove(owner)
      expect(await here.now(child)).toBeDefined()
      if (!isLate) expect(await told(here, 'OwnerRefInvalidNamespace', child.metadata.name)).toHaveLength(1)
      expect(asked('GET owner')).toBe(0)
    },
  )

  const scaler = (name: string) =>
    here.make('autoscaling/v2', 'HorizontalPodAutoscaler', name, {
      spec: { maxReplicas: 2, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' } },
    })

  it('39: what names another served version of its owner is kept without asking, and goes with it', async () => {
    await begin()
    const owner = await scaler('owner')
    await here.configMap('child', { ownerReferences: [ownedBy(owner, { apiVersion: 'autoscaling/v1' })] })
    await here.rest()
    expect([await here.left(), asked('GET owner')]).toEqual([['child'], 0])
    await here.remove(owner)
    expect(await here.left()).toEqual([])
  })

  it.each([
    ['40', false],
    ['41', true],
  ])(
    '%s: what names a version of its owner that is not served is kept while that lives; child made first: %s',
    async (_, isFirst) => {
      await begin()
      const hear = isFirst ? here.hush('horizontalpodautoscalers') : () => {}
      const owner = await scaler('owner')
      if (!isFirst) await here.rest()
      await here.configMap('child', { ownerReferences: [ownedBy(owner, { apiVersion: 'autoscaling/v9' })] })
      await expect.poll(() => here.collector.controller.idle).toBe(true)
      hear()
      await here.rest()
      expect(await here.left()).toEqual(['child'])
      await here.remove(owner)
      // A uid that was seen to go does not come back, whatever else is said of it: there is nothing to ask.
      expect(await here.left()).toEqual([])
    },
  )

  it.each([
    ['42', ['bad', 'good']],
    ['43', ['good', 'bad']],
  ])('%s: of %j, whose owner is missing, the one that names a served version goes', async (_, order) => {
    await begin()
    const uid = crypto.randomUUID()
    const apiVersions: Record<string, string> = { bad: 'autoscaling/v9', good: 'autoscaling/v2' }
    for (const name of order) {
      const apiVersion = apiVersions[name] ?? ''
      await here.configMap(name, { ownerReferences: [{ apiVersion, kind: 'HorizontalPodAutoscaler', name: 'x', uid }] })
    }
    await here.rest()
    expect(await here.left()).toEqual(isInServer ? [] : ['bad'])
  })

  it.each([
    ['47', 'missing', ['bad', 'good']],
    ['48', 'missing', ['good', 'bad']],
    ['49', 'late', ['bad', 'good']],
  ])(
    '%s: beside a child without a namespace the good one of an owner that is %s is judged rightly (%j)',
    async (_, state, order) => {
      await begin()
      const hear = here.hush('secrets')
      const owner = await here.make('v1', 'Secret', 'owner')
      if (state === 'missing') await here.ask(owner)
      const ownerReferences = [ownedBy(owner)]
      let bad: StoredObject | undefined
      for (const name of order)
        if (name === 'good') await here.configMap('good', { ownerReferences })
        else
          bad = await here.make('rbac.authorization.k8s.io/v1', 'ClusterRole', here.namespace, {
            metadata: { ownerReferences },
          })
      await expect.poll(() => here.left()).toEqual(state === 'missing' ? [] : ['good'])
      hear()
      await here.rest()
      expect(await here.left()).toEqual(state === 'missing' ? [] : ['good'])
      expect(await here.now(bad!)).toBeDefined()
    },
  )

  it('50: what changes in the very moment of its deletion goes all the same', async () => {
    await begin()
    const owner = await here.configMap('owner')
    const child = await here.configMap('child', { ownerReferences: [ownedBy(owner)] })
    await here.rest()
    let changes = 0
    here.meddle = async ({ method, path }) => {
      if (method === 'DELETE' && path.endsWith('/child') && changes++ === 0)
        await here.change(child, { labels: { busy: 'yes' } })
    }
    await here.remove(owner)
    expect([await here.left(), changes]).toEqual([[], 2])
  })

  /** One that has a generation, and one that has none. */
  const changing: readonly (readonly [string, () => Promise<StoredObject>])[] = [
    ['a ConfigMap', async () => here.configMap('child', { ownerReferences: [ownedBy(await owner())] })],
    [
      'a PodDisruptionBudget',
      async () => {
        const metadata = { ownerReferences: [ownedBy(await owner())] }
        return here.make('policy/v1', 'PodDisruptionBudget', 'child', { metadata, spec: { minAvailable: 1 } })
      },
    ],
  ]
  const owner = () => here.configMap('owner')
  const ownerOf = async () =>
    await here.client.get<StoredObject>(await here.type('v1', 'ConfigMap'), {
      namespace: here.namespace,
      name: 'owner',
    })

  it.each(changing)('50: what is given another owner in that moment is judged by that: %s', async (_, makeChild) => {
    await begin()
    const other = await here.configMap('other')
    const child = await makeChild()
    await here.rest()
    here.meddle = async ({ method, path }) => {
      if (method === 'DELETE' && path.endsWith('/child'))
        await here.change(child, { ownerReferences: [ownedBy(other)] })
    }
    await here.remove(await ownerOf())
    expect([await refs(child), await here.left()]).toEqual([['other'], expect.arrayContaining(['other'])])
  })

  it('50: what lives by one that is given another owner in that moment stays with it', async () => {
    await begin()
    const owner = await here.configMap('owner')
    const other = await here.configMap('other')
    const child = await here.configMap('child', { ownerReferences: [ownedBy(owner)] })
    await here.configMap('grandchild', { ownerReferences: [ownedBy(child)] })
    await here.rest()
    here.meddle = async ({ method, path }) => {
      if (method === 'DELETE' && path.endsWith('/child'))
        await here.change(child, { ownerReferences: [ownedBy(other)] })
    }
    await here.remove(owner)
    expect(await here.left()).toEqual(['child', 'grandchild', 'other'])
  })

  it.each(
    changing.flatMap(([what, makeChild]) =>
      ['labels', 'annotations'].map((place) => [what, place, makeChild] as const),
    ),
  )('50: what is marked to be kept in that moment stays: %s, by %s', async (_, place, makeChild) => {
    await begin()
    const child = await makeChild()
    await here.rest()
    let isMarked = false
    here.meddle = async ({ method, path }) => {
      if (method !== 'DELETE' || !path.endsWith('/child') || isMarked) return
      isMarked = true
      await here.change(child, { [place]: { 'sojourn.dev/keep': 'true' } })
    }
    await here.remove(await ownerOf())
    expect([(await here.now(child))?.metadata.uid, isMarked]).toEqual([child.metadata.uid, true])
  })

  it('50: what is written to in that moment is recorded as it was when it went', async () => {
    await begin()
    const owner = await here.configMap('owner')
    const child = await here.configMap('child', { ownerReferences: [ownedBy(owner)] })
    await here.rest()
    let isWritten = false
    here.meddle = async ({ method, path }) => {
      if (method !== 'DELETE' || !path.endsWith('/child') || isWritten) return
      isWritten = true
      const type = await here.type('v1', 'ConfigMap')
      const { name, namespace = '' } = child.metadata
      await here.client.patch(type, { name, namespace }, { type: 'merge', body: { data: { last: 'words' } } })
    }
    await here.remove(owner)
    expect(await here.left()).toEqual([])
    const { items } = await here.client.list<Departure>(departure.type, { namespace: here.namespace })
    const [record] = items.filter(({ spec }) => spec.object.name === 'owner' && !spec.page)
    const { objects } = await restore(here.client, record!, { now: here.world.clock.now() })
    expect(objects.find(({ metadata }) => metadata.name === 'child')).toMatchObject({ data: { last: 'words' } })
  })

  it('50: what is made anew under its name in that moment is another one, and stays', async () => {
    await begin()
    const owner = await here.configMap('owner')
    const child = await here.configMap('child', { ownerReferences: [ownedBy(owner)] })
    await here.rest()
    let isNew = false
    here.meddle = async ({ method, path }) => {
      if (method !== 'DELETE' || !path.endsWith('/child') || isNew) return
      isNew = true
      await here.ask(child)
      await here.configMap('child')
    }
    await here.remove(owner)
    expect([await here.left(), isNew]).toEqual([['child'], true])
  })

  it('51: a wrong name for an owner that is seen late does not condemn those who name it rightly', async () => {
    await begin()
    const hear = here.hush('secrets')
    const owner = await here.make('v1', 'Secret', 'owner')
    const wrong = { ownerReferences: [ownedBy(owner, { kind: 'ConfigMap' })] }
    await here.configMap('wrong', wrong)
    await expect.poll(() => here.left()).toEqual([])
    await here.configMap('right', { ownerReferences: [ownedBy(owner)] })
    await here.configMap('wrong-again', wrong)
    await expect.poll(() => here.left()).not.toContain('wrong-again')
    hear()
    await here.rest()
    expect(await here.left()).toEqual(['right'])
  })

  it('51: whatever else is said of a uid, in whatever order, only what names its owner rightly is kept', async () => {
    await begin()
    const owner = await here.configMap('owner')
    const said = [
      {},
      { kind: 'Secret' },
      { name: 'other' },
      { apiVersion: 'apps/v1', kind: 'Deployment' },
      { kind: 'Secret', name: 'other' },
      { controller: true },
      { kind: 'Service' },
      { blockOwnerDeletion: true },
    ]
    for (let turn = 0; turn < said.length; turn++)
      for (const [index, given] of [...said.slice(turn), ...said.slice(0, turn)].entries())
        await here.configMap(`c-${turn}-${index}-${'kind' in given || 'name' in given ? 'wrong' : 'right'}`, {
          ownerReferences: [ownedBy(owner, given)],
        })
    await here.rest()
    const left = await here.left()
    expect(left.filter((name) => name.endsWith('wrong'))).toEqual([])
    expect(left.filter((name) => name.endsWith('right'))).toHaveLength(3 * said.length)
  }, 60_000)
})

async function told(here: LiveCascades, reason: string, name: string): Promise<readonly unknown[]> {
  await here.world.events.flush()
  const { items } = await here.client.list<StoredObject & { reason?: string; involvedObject?: { name?: string } }>(
    await here.type('v1', 'Event'),
  )
  return items.filter((event) => event.reason === reason && event.involvedObject?.name === name)
}
