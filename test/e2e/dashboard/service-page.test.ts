import { deployments, services } from '../../../src/kube/core-types.ts'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { chromiumPath } from './chromium.ts'
import { Visitor } from './dashboard-page.ts'
import { dashboardObjects, servicesOfAllSorts, startDashboardWorld, type DashboardWorld } from './dashboard-world.ts'

describe.skipIf(!chromiumPath)('on-demand services in Chromium', { timeout: 120_000 }, () => {
  let world: DashboardWorld
  let visitor: Visitor

  beforeAll(async () => {
    world = await startDashboardWorld({ only: 'api,cleaner' })
    for (const object of [...dashboardObjects(), ...servicesOfAllSorts()]) await world.create(object)
    visitor = await Visitor.arrive(world)
  })
  afterEach(() => {
    expect(visitor.complaints).toEqual([])
  })
  afterAll(async () => {
    await visitor?.[Symbol.asyncDispose]()
    await world?.[Symbol.asyncDispose]()
  })

  it('show the route of requests, what they wait for and their faults', async () => {
    await visitor.asAdministrator()
    await visitor.see('Services')
    const card = (name: string) => visitor.page.getByRole('article', { name: `Service ${name}` })
    await card('till').getByText('through the proxy', { exact: true }).waitFor()
    await card('fast').getByText('straight to its pods', { exact: true }).waitFor()
    await card('fresh').getByText('not taken over', { exact: true }).waitFor()
    await card('ledger').getByText('Asleep', { exact: true }).waitFor()
    await card('mute')
      .getByText(/^proxless\/deployment: is missing/)
      .waitFor()
    expect(await card('shop').getByText('Callers').count()).toBe(0)
  })

  it('draw their last day from what the activator noted on the workload, wherever that runs', async () => {
    const step = Math.floor(Date.now() / 1_800_000)
    const annotations = { 'sojourn.dev/last-day': `${step - 3}:40/2/1800 ${step - 2}:0/0/600 "><b>x</b>` }
    await world.client.patch(
      deployments,
      { namespace: 'team', name: 'docs' },
      { type: 'merge', body: { metadata: { annotations } } },
    )
    await visitor.asAdministrator()
    await visitor.see('Services')
    const { page } = visitor
    const chart = () =>
      page.getByRole('img', { name: '40 requests and 2 cold starts in the last day, awake for 40 min' })
    await page.getByRole('article', { name: 'Service docs' }).and(page.locator(':has(figure)')).waitFor()
    await chart().waitFor()
    expect(await page.getByRole('article', { name: 'Service ledger' }).locator('figure').count()).toBe(0)
    await page.getByRole('article', { name: 'Service docs' }).getByRole('link', { name: 'docs' }).click()
    await page.getByRole('heading', { level: 1, name: 'docs' }).waitFor()
    await chart().waitFor()
  })

  it('leave a workload alone that was created anew under its name while the dialog was open', async () => {
    await visitor.asAdministrator()
    await visitor.see('Services')
    const { page } = visitor
    const place = { namespace: 'team', name: 'docs' }
    await page.getByRole('button', { name: 'Wake docs' }).click()
    await world.client.request({ method: 'DELETE', path: '/apis/apps/v1/namespaces/team/deployments/docs' })
    await vi.waitFor(
      async () => expect(await world.client.get(deployments, place).catch(() => 'gone')).toBe('gone'),
      10_000,
    )
    const manifest = dashboardObjects().find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'docs')!
    await world.create(manifest)
    await visitor.inDialog('Wake')
    await page
      .getByRole('dialog')
      .getByRole('alert')
      .filter({ hasText: /uid|UID/ })
      .waitFor()
    const { metadata } = await world.client.get(deployments, place)
    expect(metadata.annotations).not.toHaveProperty('sojourn.dev/awake-until')
    await visitor.inDialog('Cancel')
    visitor.forgive('422')
  })

  it('have a page each, with its own URL and their Events', async () => {
    await visitor.asAdministrator()
    const { page } = visitor
    const { metadata } = await world.client.get(services, { namespace: 'team', name: 'fast' })
    await world.create({
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { namespace: 'team', name: 'fast.1' },
      involvedObject: { apiVersion: 'v1', kind: 'Service', namespace: 'team', name: 'fast', uid: metadata.uid },
      type: 'Normal',
      reason: 'TakenOver',
      message: 'Its selector moved.',
    })
    await visitor.see('Services')
    await page.getByRole('article', { name: 'Service fast' }).getByRole('link', { name: 'fast' }).click()
    await page.getByRole('heading', { level: 1, name: 'fast' }).waitFor()
    await page.getByText('Its callers go straight to its pods.').waitFor()
    await page.getByText('Its selector moved.').waitFor()
    expect(new URL(page.url()).hash).toBe('#services/team/fast')
    await page.reload()
    await page.getByRole('heading', { level: 1, name: 'fast' }).waitFor()
    await page.goto(`${world.url}/#services/team/nobody`)
    await page.getByText('There is no Service nobody in team.').waitFor()
  })
})
