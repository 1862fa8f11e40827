import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { savingsReport } from '../../../src/apis/savings-report.ts'
import { formatTime } from '../../../src/kube/time.ts'
import { chromiumPath } from './chromium.ts'
import { Visitor } from './dashboard-page.ts'
import { dashboardObjects, startDashboardWorld, type DashboardWorld } from './dashboard-world.ts'

describe.skipIf(!chromiumPath)('the Savings page', { timeout: 120_000 }, () => {
  let world: DashboardWorld
  let visitor: Visitor

  beforeAll(async () => {
    world = await startDashboardWorld()
    for (const object of dashboardObjects()) await world.create(object)
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

  it('says what to do while nothing was saved', async () => {
    await visitor.see('Savings')
    await visitor.page.getByText('Nothing was saved in this time.').waitFor()
  })

  it('shows a bar a day and sums by the chosen field, and keeps the choice in the URL', async () => {
    const day = formatTime(Date.now() - 86_400_000).slice(0, 10)
    const common = { system: 'environments', currency: 'USD', class: 'preview' }
    const { apiVersion, kind } = savingsReport
    const rows = [
      { ...common, namespace: 'a', owner: '<b>ada</b>', state: 'Asleep', cpuSeconds: 7200, cost: 2 },
      { ...common, namespace: 'b', owner: '<b>ada</b>', state: 'Deleted', cpuSeconds: 3600, cost: 1.5 },
    ]
    const metadata = { name: `savings-${day}`, namespace: 'sojourn-system' }
    await world.create({ apiVersion, kind, metadata, spec: { day, accruedTo: formatTime(Date.now()), rows } })
    await visitor.page.reload()
    await visitor.page.getByRole('img', { name: /Cost a day from .*3.50 USD in all/ }).waitFor()
    await visitor.page.getByRole('button', { name: 'owner', exact: true }).click()
    const row = visitor.page.getByRole('row', { name: /<b>ada<\/b>/ })
    await row.waitFor()
    expect((await row.innerText()).split(/\s+/)).toEqual([
      '<b>ada</b>',
      '3.0',
      '0.0',
      '0.0',
      '2.00',
      '1.50',
      '3.50',
      'USD',
    ])
    expect(visitor.page.url()).toContain('#savings/30/owner/cost')
  })

  it('draws each currency by itself', async () => {
    const day = formatTime(Date.now() - 2 * 86_400_000).slice(0, 10)
    const { apiVersion, kind } = savingsReport
    const rows = [{ system: 'activator', state: 'Asleep', namespace: 'c', currency: 'EUR', cpuSeconds: 60, cost: 9 }]
    const metadata = { name: `savings-${day}`, namespace: 'sojourn-system' }
    await world.create({ apiVersion, kind, metadata, spec: { day, accruedTo: formatTime(Date.now()), rows } })
    await visitor.page.reload()
    await visitor.page.getByRole('img', { name: /Cost a day from .*3.50 USD in all/ }).waitFor()
    await visitor.page.getByRole('img', { name: /Cost a day from .*9.00 EUR in all/ }).waitFor()
  })
})
