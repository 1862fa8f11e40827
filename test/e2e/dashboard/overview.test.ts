import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { environment, type Environment } from '../../../src/apis/environment.ts'
import { pipeline, type Pipeline } from '../../../src/apis/pipeline.ts'
import { deployments } from '../../../src/kube/core-types.ts'
import type { KubeObject } from '../../../src/kube/object.ts'
import { chromiumPath } from './chromium.ts'
import { Visitor } from './dashboard-page.ts'
import {
  dashboardObjects,
  environmentObjects,
  servicesOfAllSorts,
  startDashboardWorld,
  type DashboardWorld,
} from './dashboard-world.ts'

describe.skipIf(!chromiumPath)('the Overview, filters and pages of objects', { timeout: 120_000 }, () => {
  let world: DashboardWorld
  let visitor: Visitor

  beforeAll(async () => {
    world = await startDashboardWorld({ only: 'api,cleaner,collector,promoter,activator' })
    for (const object of [...dashboardObjects(), ...environmentObjects(), ...servicesOfAllSorts()])
      await world.create(object)
    visitor = await Visitor.arrive(world)
    await visitor.open()
    await visitor.signIn()
  })
  beforeEach(() => void (visitor.complaints = []))
  afterEach(() => expect(visitor.complaints).toEqual([]))
  afterAll(async () => {
    await visitor?.[Symbol.asyncDispose]()
    await world?.[Symbol.asyncDispose]()
  })
  const hash = () => visitor.page.evaluate<string>('location.hash')
  const needed = () => visitor.page.getByRole('region', { name: 'Needs you' }).getByRole('listitem')

  it('shows first what fails, then what waits for a person, then what is deleted within a day', async () => {
    await visitor.see('Overview')
    await expect
      .poll(async () => (await needed().allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' ').slice(0, 90)))
      .toEqual([
        expect.stringMatching(/failing mute Service · team proxless\/deployment: is missing/),
        expect.stringMatching(/waits for you shop Pipeline · team v1\.4\.0 waits for approval/),
        expect.stringMatching(/due preview-142 Cleaner · team/),
        expect.stringMatching(/due shop-pr-17 Environment Deleted in 21 h/),
      ])
    const row = needed().filter({ hasText: 'shop-pr-17' })
    await row.getByRole('button', { name: 'Keep 3 days shop-pr-17' }).click()
    await visitor.page.getByRole('dialog').getByText('instead of').waitFor()
    await visitor.inDialog('Keep 3 days')
    const place = { namespace: 'shop-pr-17', name: 'shop-pr-17' }
    await expect
      .poll(async () => (await world.client.get<Environment>(environment.type, place)).spec.keepUntil)
      .toMatch(/^\d{4}-/)
  })

  it('lists environments among what is managed, each with its buttons on its page', async () => {
    await visitor.see('Overview')
    const row = visitor.page.getByRole('option', { name: /shop-pr-42 Environment/ })
    await row.click()
    await visitor.page.getByRole('dialog').getByRole('link', { name: 'Events, history and YAML' }).click()
    const state = visitor.page.getByRole('article', { name: 'State' })
    await state.getByText(/falls asleep in/).waitFor()
    await state.getByRole('button', { name: 'Sleep shop-pr-42' }).waitFor()
  })

  it('offers the decision where the person is', async () => {
    await visitor.see('Overview')
    const row = needed().filter({ hasText: 'waits for approval' })
    await row.getByRole('button', { name: 'Approve v1.4.0 for prod' }).click()
    await visitor.page.getByRole('dialog').getByText('promotes v1.4.0 to prod').waitFor()
    await visitor.inDialog('Cancel')
  })

  it('offers the decision about the environment that the line names, and no other', async () => {
    const shop = dashboardObjects().find(({ kind }) => kind === 'Pipeline') as KubeObject & Pick<Pipeline, 'spec'>
    const environments = shop.spec.environments.flatMap((each, index) =>
      index === 0 ? [each] : ['eu', 'us'].map((name) => ({ ...each, name, dependsOn: ['dev'] })),
    )
    const metadata = { ...shop.metadata, name: 'fan' }
    await world.create({ ...shop, metadata, spec: { ...shop.spec, environments } })
    await visitor.see('Overview')
    for (const name of ['eu', 'us']) {
      const buttons = needed()
        .filter({ hasText: `waits for approval for ${name}` })
        .getByRole('button')
      await expect.poll(() => buttons.allInnerTexts()).toEqual(['Reject', 'Approve'])
      const labels = await buttons.evaluateAll((each) => each.map(({ ariaLabel }) => ariaLabel))
      expect(labels).toEqual([`Reject v1.4.0 for ${name}`, `Approve v1.4.0 for ${name}`])
    }
    await world.client.deleteObject(pipeline.type, { namespace: 'team', name: 'fan' })
  })

  it('keeps the filters in the URL, over a reload and on the way to other pages', async () => {
    const { page } = visitor
    await visitor.see('Environments')
    await page.getByLabel('Owner').selectOption('bob@example.org')
    await page.getByRole('article', { name: 'Environment shop-pr-42' }).waitFor({ state: 'detached' })
    await page.getByLabel('Filter environments').fill('pr-1')
    expect(await hash()).toBe('#environments?owner=bob%40example.org&q=pr-1')
    await page.reload()
    await page.getByRole('article', { name: 'Environment shop-pr-17' }).waitFor()
    expect(await page.getByRole('article').count()).toBe(1)
    expect(await page.getByLabel('Filter environments').inputValue()).toBe('pr-1')
    await visitor.go('Pipelines')
    expect(await hash()).toBe('#pipelines?owner=bob%40example.org')
    await page.getByText('The filters hide all 1 objects.').waitFor()
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await page.getByRole('article', { name: 'Pipeline shop' }).waitFor()
    expect(await hash()).toBe('#pipelines')
    await page.getByLabel('Namespace').selectOption('team')
    await visitor.go('Overview')
    expect(await page.getByLabel('Namespace').inputValue()).toBe('team')
    await page.getByLabel('Namespace').selectOption('')
  })

  it('shows what is mine', async () => {
    const { page } = visitor
    await world.client.patch<Environment>(
      environment.type,
      { namespace: 'shop-pr-42', name: 'shop-pr-42' },
      { type: 'merge', body: { status: { owner: 'system:admin' } } },
      { subresource: 'status' },
    )
    await visitor.see('Environments')
    await page.getByLabel('Owner').selectOption('me')
    await page.getByRole('article', { name: 'Environment shop-pr-42' }).waitFor()
    await expect.poll(() => page.getByRole('article').count()).toBe(1)
    await page.getByLabel('Owner').selectOption('')
  })

  it('says the exact instant of a relative time, in the zone of the viewer and in UTC', async () => {
    await visitor.see('Environments')
    const time = visitor.page.getByRole('article', { name: 'Environment shop-pr-42' }).locator('time').first()
    const [title, instant] = [await time.getAttribute('title'), await time.getAttribute('datetime')]
    expect(title).toMatch(/\d{4}.*\d:\d\d:\d\d.*· \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    expect(title).toContain(instant)
  })

  it('shows YAML, Events and history of an object', async () => {
    const { page } = visitor
    await visitor.see('Environments')
    await page.getByRole('link', { name: 'shop-pr-17', exact: true }).click()
    const yaml = page.getByRole('region', { name: 'YAML' })
    await yaml.getByText('className: preview').waitFor()
    expect(await yaml.innerText()).not.toContain('managedFields')
    await page.getByText('system:admin changed it on the dashboard: spec.keepUntil=').waitFor()
    await page.getByRole('heading', { name: 'History' }).waitFor()
    expect(await hash()).toContain('#object/sojourn.dev%2Fv1alpha1/Environment/shop-pr-17/shop-pr-17')
    await page.getByRole('link', { name: '← Back' }).click()
    await page.getByRole('heading', { name: 'Environments' }).waitFor()
  })

  it('never shows the values of a Secret', async () => {
    const stringData = { password: 'hunter2' }
    await world.create({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'key', namespace: 'team' }, stringData })
    await visitor.page.goto(`${world.url}/#object/v1/Secret/team/key`)
    await visitor.page.getByRole('region', { name: 'YAML' }).getByText('kind: Secret').waitFor()
    expect(await visitor.page.content()).not.toMatch(/hunter2|aHVudGVyMg/)
  })

  it('forecasts what follows a change before it is made', async () => {
    const { page } = visitor
    await visitor.see('Cleanup')
    await page.getByRole('button', { name: 'Opt out old-report', exact: true }).click()
    await page.getByRole('dialog').getByText('Without it, it is deleted at').waitFor()
    await visitor.inDialog('Cancel')
    await visitor.see('Services')
    await page.getByRole('button', { name: 'Wake docs', exact: true }).click()
    await page.getByRole('dialog').getByText('Forecast: what follows in the next 7 days').click()
    await page
      .getByRole('dialog')
      .getByText(/Nothing else happens|Deployment|Cleaner/)
      .first()
      .waitFor({ timeout: 60_000 })
    await visitor.inDialog('Wake')
    await page.getByText('docs wakes').waitFor()
    const { metadata } = await world.client.get(deployments, { namespace: 'team', name: 'docs' })
    expect(metadata.annotations?.['sojourn.dev/awake-until']).toMatch(/^\d{4}-/)
  })

  it('shows what a restore would create before it is made', async () => {
    const { page } = visitor
    await visitor.see('Departures')
    await page.getByRole('button', { name: 'Restore scratch', exact: true }).click()
    await page.getByRole('list', { name: 'Dry run' }).getByText('ConfigMap/team/scratch is created').waitFor()
    await visitor.inDialog('Cancel')
  })
})
