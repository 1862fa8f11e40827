import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openTestObjects, someone, type TestObjects } from '../../../../test/apiserver/test-objects.ts'

const budgets = 'policy/v1/poddisruptionbudgets'

describe('evict', () => {
  let world: TestObjects
  beforeEach(async () => {
    world = await openTestObjects()
  })
  afterEach(() => world.close())

  const pod = async (name: string, { ready = 'True', phase = 'Running', node = '' } = {}) => {
    await world.create('v1/pods', {
      metadata: { name, labels: { app: 'a' } },
      spec: { containers: [{ name: 'c', image: 'i' }], ...(node ? { nodeName: node } : {}) },
    })
    await world.merge(
      'v1/pods',
      name,
      { status: { phase, conditions: [{ type: 'Ready', status: ready }] } },
      { subresource: 'status' },
    )
  }
  const budget = async (status: Record<string, unknown>, spec: Record<string, unknown> = {}) => {
    await world.create(budgets, {
      metadata: { name: 'b' },
      spec: { minAvailable: 1, selector: { matchLabels: { app: 'a' } }, ...spec },
    })
    await world.merge(budgets, 'b', { status: { observedGeneration: 1, ...status } }, { subresource: 'status' })
  }
  const evict = (name: string, options: { deleteOptions?: unknown; dryRun?: readonly string[] } = {}) =>
    world.objects.create({
      type: world.type('v1/pods'),
      user: someone,
      namespace: 'default',
      name,
      subresource: 'eviction',
      body: { metadata: { name }, ...(options.deleteOptions ? { deleteOptions: options.deleteOptions } : {}) },
      ...(options.dryRun ? { dryRun: options.dryRun } : {}),
    })
  const names = async () => (await world.list('v1/pods')).names

  it('lets a pod without a budget go', async () => {
    await pod('p')
    await evict('p')
    expect(await names()).toEqual([])
  })

  it('keeps a pod whose budget is spent, and says so as the API does', async () => {
    await pod('p')
    await budget({ disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1 })
    await expect(evict('p')).rejects.toMatchObject({
      code: 429,
      message: "Cannot evict pod as it would violate the pod's disruption budget.",
      details: { causes: [{ message: 'The disruption budget b needs 1 healthy pods and has 1 currently' }] },
    })
    expect(await names()).toEqual(['p'])
  })

  it('keeps a pod while its budget has not been computed', async () => {
    await pod('p')
    await budget({ observedGeneration: 0, disruptionsAllowed: 5 })
    await expect(evict('p')).rejects.toMatchObject({ code: 429, details: { retryAfterSeconds: 10 } })
    expect(await names()).toEqual(['p'])
  })

  it('spends the budget once, even for two at the same moment', async () => {
    await pod('p')
    await pod('q')
    await budget({ disruptionsAllowed: 1, currentHealthy: 2, desiredHealthy: 1 })
    const outcomes = await Promise.allSettled([evict('p'), evict('q')])
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
    expect(await names()).toEqual(['q'])
    expect((await world.get(budgets, 'b')).status).toMatchObject({
      disruptionsAllowed: 0,
      disruptedPods: { p: expect.any(String) },
      conditions: [{ type: 'DisruptionAllowed', status: 'False', reason: 'InsufficientPods' }],
    })
  })

  it('spends nothing on a dry run, nor on an eviction that is refused', async () => {
    await pod('p')
    await budget({ disruptionsAllowed: 1, currentHealthy: 2, desiredHealthy: 1 })
    await evict('p', { dryRun: ['All'] })
    await expect(evict('p', { deleteOptions: { preconditions: { uid: 'other' } } })).rejects.toMatchObject({
      code: 409,
    })
    expect((await world.get(budgets, 'b')).status).toMatchObject({ disruptionsAllowed: 1 })
    expect(await names()).toEqual(['p'])
  })

  it('lets pods go that do not serve while enough others do', async () => {
    await pod('sick', { ready: 'False' })
    await budget({ disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1 })
    await evict('sick')
    expect(await names()).toEqual([])
  })

  it('lets pods go that do not serve under AlwaysAllow', async () => {
    await pod('sick', { ready: 'False' })
    await budget(
      { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 1 },
      { unhealthyPodEvictionPolicy: 'AlwaysAllow' },
    )
    await evict('sick')
    expect(await names()).toEqual([])
  })

  it('lets finished and waiting pods go whatever the budget', async () => {
    await pod('done', { phase: 'Succeeded' })
    await pod('waiting', { phase: 'Pending' })
    await budget({ disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 1 })
    await evict('done')
    await evict('waiting')
    expect(await names()).toEqual([])
  })

  it('refuses an eviction of another name', async () => {
    await pod('p')
    const request = { type: world.type('v1/pods'), user: someone, namespace: 'default', name: 'p' }
    await expect(
      world.objects.create({ ...request, subresource: 'eviction', body: { metadata: { name: 'q' } } }),
    ).rejects.toMatchObject({ code: 400 })
  })

  it('tells watchers of a pod with time to stop why it leaves', async () => {
    await pod('p', { node: 'n' })
    await evict('p', { deleteOptions: { gracePeriodSeconds: 30 } })
    const { metadata, status } = await world.get('v1/pods', 'p')
    expect(metadata.deletionTimestamp).toBeDefined()
    expect(status).toMatchObject({ conditions: [{}, { type: 'DisruptionTarget', reason: 'EvictionByEvictionAPI' }] })
  })
})
