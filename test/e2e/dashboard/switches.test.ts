import { configMaps } from '../../../src/kube/core-types.ts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { approval } from '../../../src/apis/approval.ts'
import type { CandidateSpec } from '../../../src/apis/cleanup-candidate.ts'
import { cleanupOptOut, type CleanupOptOut } from '../../../src/apis/cleanup-opt-out.ts'
import { departure, type Departure } from '../../../src/apis/departure.ts'
import { pipeline as pipelineKind, type Pipeline } from '../../../src/apis/pipeline.ts'
import { doorStateOf } from '../../../src/departures/door/door-state.ts'
import type { StoredObject } from '../../../src/kube/object.ts'
import { ignoring } from '../../../src/kube/status-error.ts'
import { chromiumPath } from './chromium.ts'
import { Visitor } from './dashboard-page.ts'
import { dashboardObjects, startDashboardWorld, type DashboardWorld } from './dashboard-world.ts'

interface Switch {
  readonly view: string
  /** The label of the button, and its accessible name. */
  readonly button: string
  readonly action: string
  /** The state before and after. */
  readonly read: () => Promise<unknown>
  readonly before: unknown
  readonly after: unknown
}

describe.skipIf(!chromiumPath)('every switch of the dashboard', () => {
  let world: DashboardWorld
  let visitor: Visitor

  beforeAll(async () => {
    world = await startDashboardWorld()
    for (const object of dashboardObjects()) await world.create(object)
    visitor = await Visitor.arrive(world)
  })
  beforeEach(() => void (visitor.complaints = []))
  afterEach(() => expect(visitor.complaints).toEqual([]))
  afterAll(async () => {
    await visitor?.[Symbol.asyncDispose]()
    await world?.[Symbol.asyncDispose]()
  })

  const door = async () => {
    const place = { namespace: 'sojourn-system', name: 'sojourn-door' }
    const { breaker, paused, dryRun } = doorStateOf(
      await world.client.get<StoredObject>(configMaps, place).catch(ignoring('NotFound')),
    )
    return { breaker, paused, dryRun }
  }
  const calm = { breaker: 'closed', paused: false, dryRun: false }
  const optOuts = async () => {
    const { items } = await world.client.list<CleanupOptOut>(cleanupOptOut.type)
    return items.map(({ spec }) => [spec.resource?.name, spec.expiresAt === undefined ? 'holds' : 'ended'])
  }
  const scratch = async () => {
    const place = { namespace: 'team', name: 'scratch' }
    return (await world.client.get<StoredObject>(configMaps, place).catch(ignoring('NotFound')))?.['data']
  }
  const approvers = async () => {
    const { status } = await world.client.get<Pipeline>(pipelineKind.type, { namespace: 'team', name: 'shop' })
    const { promotion, waitingApproval } = status?.environments?.['prod'] ?? {}
    return promotion?.approvedBy ?? waitingApproval?.approvals?.map(({ approver }) => approver) ?? []
  }

  const inOrder: readonly Switch[] = [
    {
      view: 'Safety',
      button: 'Open breaker',
      action: 'Open breaker',
      read: door,
      before: calm,
      after: { ...calm, breaker: 'open' },
    },
    {
      view: 'Safety',
      button: 'Close breaker',
      action: 'Close breaker',
      read: door,
      before: { ...calm, breaker: 'open' },
      after: calm,
    },
    { view: 'Safety', button: 'Pause', action: 'Pause', read: door, before: calm, after: { ...calm, paused: true } },
    { view: 'Safety', button: 'Resume', action: 'Resume', read: door, before: { ...calm, paused: true }, after: calm },
    {
      view: 'Safety',
      button: 'Turn on dry run',
      action: 'Turn on dry run',
      read: door,
      before: calm,
      after: { ...calm, dryRun: true },
    },
    {
      view: 'Safety',
      button: 'Turn off dry run',
      action: 'Turn off dry run',
      read: door,
      before: { ...calm, dryRun: true },
      after: calm,
    },
    {
      view: 'Cleanup',
      button: 'Opt out old-report',
      action: 'Opt out',
      read: optOuts,
      before: [],
      after: [['old-report', 'holds']],
    },
    {
      view: 'Cleanup',
      button: 'End opt-out of old-report',
      action: 'End opt-out',
      read: optOuts,
      before: [['old-report', 'holds']],
      after: [['old-report', 'ended']],
    },
    {
      view: 'Departures',
      button: 'Restore scratch',
      action: 'Restore',
      read: scratch,
      before: undefined,
      after: { note: 'keep me' },
    },
    {
      view: 'Pipelines',
      button: 'Approve v1.4.0 for prod',
      action: 'Approve',
      read: approvers,
      before: [],
      after: ['system:admin'],
    },
  ]

  it.each(inOrder.map((given) => [given.button, given] as const))(
    '“%s” asks first, does nothing when one thinks better of it, and then does it',
    async (_, { view, button, action, read, before, after }) => {
      const { page } = await openAt(view)
      const press = () => page.getByRole('button', { name: button, exact: true }).click()
      await press()
      expect(await read()).toEqual(before)
      await visitor.inDialog('Cancel')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      expect(await read()).toEqual(before)
      await press()
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      expect(await read()).toEqual(before)
      await press()
      await visitor.inDialog(action)
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      expect(await read()).toEqual(after)
    },
  )

  it('asks nothing of a pipeline that was created anew under its name while the dialog was open', async () => {
    const { page } = await openAt('Pipelines')
    await page.getByRole('button', { name: 'Suspend shop', exact: true }).click()
    await page.route(/pipelines\/shop$/, async (route) => {
      const answer = await route.fetch()
      const found = (await answer.json()) as StoredObject
      await route.fulfill({ json: { ...found, metadata: { ...found.metadata, uid: 'another' } } })
    })
    const before = (await world.client.list(approval.type, { namespace: 'team' })).items.length
    await visitor.inDialog('Suspend')
    await page.getByRole('dialog').getByText('shop was created anew meanwhile').waitFor()
    expect((await world.client.list(approval.type, { namespace: 'team' })).items).toHaveLength(before)
    await visitor.inDialog('Cancel')
    await page.unroute(/pipelines\/shop$/)
  })

  it('says that an object was restored before when it is restored again', async () => {
    const { items } = await world.client.list<Departure>(departure.type, { namespace: 'team' })
    const { name } = items.find(({ spec }) => spec.object.name === 'scratch')!.metadata
    const path = `/sojourn/v1alpha1/departures/team/${name}/restore`
    const again = world.client.request({ method: 'POST', path, body: {} })
    await expect(again).rejects.toMatchObject({
      code: 409,
      message: expect.stringMatching(/was restored before at .*ConfigMap\/team\/scratch \(uid [0-9a-f-]+\)/),
    })
  })

  it('opts out one of two objects with the same name in two clusters, and says by whom', async () => {
    const given = dashboardObjects().find(({ kind }) => kind === 'CleanupCandidate')!
    const spec = given.spec as CandidateSpec
    for (const cluster of ['edge-1', 'edge-2'])
      await world.create({
        ...given,
        metadata: { name: `candidate-namesake-${cluster}` },
        spec: { ...spec, resource: { ...spec.resource, name: 'namesake', cluster, uid: `u-${cluster}` } },
      })
    const { page } = await openAt('Cleanup')
    const card = (cluster: string) =>
      page.getByRole('article', { name: 'ConfigMap namesake' }).filter({ hasText: cluster })
    for (const cluster of ['edge-1', 'edge-2']) {
      await card(cluster).getByRole('button', { name: 'Opt out namesake' }).click()
      await visitor.inDialog('Opt out')
      await card(cluster).getByText('system:admin').waitFor()
      if (cluster === 'edge-1') await card('edge-2').getByText('deleted in').waitFor()
    }
    const { items } = await world.client.list<CleanupOptOut>(cleanupOptOut.type)
    const spared = items.filter((optOut) => optOut.spec.resource?.name === 'namesake')
    const told = spared.map((optOut) => `${optOut.spec.resource?.cluster} by ${optOut.spec.requestedBy}`)
    expect(told.toSorted()).toEqual(['edge-1 by system:admin', 'edge-2 by system:admin'])
  })

  it('rejects a promotion in the name of the signed-in user', async () => {
    const shop = dashboardObjects().find(({ kind }) => kind === 'Pipeline')!
    await world.create({ ...shop, metadata: { namespace: 'team', name: 'blog' } })
    const { page } = await openAt('Pipelines')
    const card = page.getByRole('article', { name: 'Pipeline blog' })
    // Pipelines that wait for approval come first.
    await page.locator('article').first().and(card).getByText('Awaiting approval').first().waitFor()
    await card.getByRole('button', { name: 'Reject v1.4.0 for prod' }).click()
    await page.getByRole('dialog').getByRole('textbox').fill('not on a Friday')
    await visitor.inDialog('Reject')
    await page.getByText('v1.4.0 rejected for prod').waitFor()
    await expect
      .poll(async () => {
        const { status } = await world.client.get<Pipeline>(pipelineKind.type, { namespace: 'team', name: 'blog' })
        return JSON.stringify(status?.environments?.['prod'])
      })
      .toMatch(/Reject/)
  })

  it('says in every view that nothing is deleted while deletions are stopped', async () => {
    const { page } = await openAt('Safety')
    await page.getByRole('button', { name: 'Pause', exact: true }).click()
    await visitor.inDialog('Pause')
    await visitor.go('Cleanup')
    await page.getByRole('alert').getByText('Nothing is deleted for now.').waitFor()
    await page.getByRole('link', { name: 'Open Safety' }).click()
    await page.getByRole('button', { name: 'Resume', exact: true }).click()
    await visitor.inDialog('Resume')
    await page.getByRole('alert').getByText('Nothing is deleted for now.').waitFor({ state: 'hidden' })
  })

  it('names the namespaces in which the circuit breaker holds deletions, and closes it there too', async () => {
    const { page } = await openAt('Safety')
    const place = { namespace: 'sojourn-system', name: 'sojourn-door' }
    const because = 'in namespace team, 20 objects were deleted within a minute'
    await world.client.patch(configMaps, place, { type: 'merge', body: { data: { 'circuit.team': because } } })
    await page.getByRole('alert').getByText('No deletions in team').waitFor()
    await page.getByText('open in 1 namespace').waitFor()
    await page.getByRole('article', { name: 'Circuit breaker' }).getByText(because).waitFor()
    await page.getByRole('button', { name: 'Close breaker', exact: true }).click()
    await visitor.inDialog('Close breaker')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    const { data = {} } = await world.client.get<StoredObject & { data?: Record<string, string> }>(configMaps, place)
    expect(data).not.toHaveProperty(['circuit.team'])
  })

  it('closes no breaker that opened while the dialog was open', async () => {
    const { page } = await openAt('Safety')
    const place = { namespace: 'sojourn-system', name: 'sojourn-door' }
    const set = (data: Record<string, string | null>) =>
      world.client.patch(configMaps, place, { type: 'merge', body: { data } })
    await set({ 'circuit.team': 'too many in team' })
    await page.getByText('open in 1 namespace').waitFor()
    await page.getByRole('button', { name: 'Close breaker', exact: true }).click()
    await set({ breaker: 'open', because: 'too many everywhere' })
    await visitor.inDialog('Close breaker')
    await page.getByRole('dialog').getByText('The safeguards were changed meanwhile').waitFor()
    expect(await door()).toEqual({ ...calm, breaker: 'open' })
    expect(visitor.complaints.splice(0)).toEqual([expect.stringContaining('status of 409')])
    await visitor.inDialog('Cancel')
    await page.getByText('too many everywhere').first().waitFor()
    await page.getByRole('button', { name: 'Close breaker', exact: true }).click()
    await visitor.inDialog('Close breaker')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await door()).toEqual(calm)
  })

  it('shows a viewer everything, and says of each button why it cannot be used', async () => {
    await visitor.open()
    await visitor.signIn('sojourn:viewer')
    const denied: readonly (readonly [view: string, button: string, why: string])[] = [
      ['Safety', 'Pause', 'You may not patch configmaps in sojourn-system.'],
      ['Safety', 'Open breaker', 'You may not patch configmaps in sojourn-system.'],
      ['Cleanup', 'Opt out old-report', 'You may not create cleanupoptouts.'],
      ['Pipelines', 'Suspend shop', 'You may not create approvals in team.'],
      ['Services', 'Sleep shop', 'You may not patch deployments in team.'],
    ]
    for (const [view, button, why] of denied) {
      await visitor.go(view)
      const found = visitor.page.getByRole('button', { name: button, exact: true })
      await expect.poll(() => found.getAttribute('title'), { timeout: 15_000 }).toContain(why)
      expect(await found.getAttribute('aria-disabled')).toBe('true')
      await found.press('Enter')
      await visitor.page.getByRole('alert').getByText(why).first().waitFor()
      expect(await visitor.page.getByRole('dialog').count()).toBe(0)
    }
    expect(await door()).toEqual(calm)
  })

  async function openAt(view: string): Promise<Visitor> {
    await visitor.asAdministrator()
    await visitor.go(view)
    return visitor
  }
})
