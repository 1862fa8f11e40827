import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { environmentObjects, dashboardObjects, startDashboardWorld } from '../../test/e2e/dashboard/dashboard-world.ts'
import type { SavingsRow } from '../../src/apis/savings-report.ts'
import type { KubeObject } from '../../src/kube/object.ts'

const widths = { wide: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } } as const
const views = [
  'Overview',
  'Environments',
  'Pipelines',
  'Services',
  'Cleanup',
  'Forecast',
  'Departures',
  'Savings',
  'Safety',
]

/** Takes pictures of all views, light and dark, wide and on a phone: `overview-light-wide.png`. Those that a guide shows are chosen by name. */
export async function pictureViews(
  browser: Browser,
  folder: string,
  isChosen: (name: string) => boolean,
): Promise<void> {
  await using world = await startDashboardWorld({ only: 'api,cleaner,collector,promoter,activator' })
  // The hostile texts of the tests are for the tests.
  const tame = JSON.stringify([...dashboardObjects(), ...environmentObjects(), ...savingsReports(Date.now())])
    .replaceAll(' <img src=x onerror=alert(1)>', '')
    .replaceAll('<img src=x onerror=alert(1)>', 'cleo@example.org')
    .replaceAll('javascript:alert(1)', 'https://pr-7.shop.test')
  for (const object of JSON.parse(tame) as readonly KubeObject[]) await world.create(object)
  for (const colorScheme of ['light', 'dark'] as const)
    for (const [width, viewport] of Object.entries(widths)) {
      const names = views.map((view) => ({ view, name: `${view.toLowerCase()}-${colorScheme}-${width}` }))
      const wanted = names.filter(({ name }) => isChosen(name))
      if (wanted.length === 0) continue
      const context = await browser.newContext({
        ignoreHTTPSErrors: true,
        colorScheme,
        viewport,
        locale: 'en-GB',
        reducedMotion: 'reduce',
      })
      const tab = await context.newPage()
      await tab.goto(new URL(world.link(), world.url).href)
      for (const { view, name } of wanted) {
        await settled(tab, view)
        await tab.screenshot({ path: join(folder, `${name}.png`) })
      }
      await context.close()
    }
}

/** Opens a view and waits until it shows what it has. */
async function settled(tab: Page, view: string): Promise<void> {
  await tab.getByRole('link', { name: view, exact: true }).click()
  await tab.getByText('Forecasting…').waitFor({ state: 'detached', timeout: 60_000 })
  await tab.getByText('Loading…').waitFor({ state: 'detached', timeout: 60_000 })
  if (view === 'Overview') await tab.getByText('Needs you').waitFor()
  await tab.evaluate('new Promise((resolve) => requestIdleCallback(resolve))')
}

/** Reports of a month: two workloads sleep at night and at weekends, and previews are deleted. */
function savingsReports(now: number): readonly KubeObject[] {
  return Array.from({ length: 30 }, (_, ago) => {
    const at = new Date(now - ago * 86_400_000)
    const day = at.toISOString().slice(0, 10)
    const hours = [0, 6].includes(at.getUTCDay()) ? 24 : 14
    const row = (given: Partial<SavingsRow>, cores: number): SavingsRow => ({
      system: 'environments',
      state: 'Asleep',
      currency: 'USD',
      cpuSeconds: cores * hours * 3600,
      memoryGiBSeconds: cores * 2 * hours * 3600,
      cost: cores * hours * (0.031611 + 2 * 0.004237),
      ...given,
    })
    const rows = [
      row({ namespace: 'shop-pr-42', owner: 'ada@example.org', class: 'preview' }, 2),
      row({ namespace: 'shop-pr-7', owner: 'bob@example.org', class: 'preview' }, 1.5),
      row({ namespace: 'shop-pr-17', owner: 'bob@example.org', class: 'preview', state: 'Deleted' }, ago % 4),
    ]
    const accruedTo = `${day}T23:59:59Z`
    return {
      apiVersion: 'sojourn.dev/v1alpha1',
      kind: 'SavingsReport',
      metadata: { name: `savings-${day}`, namespace: 'sojourn-system' },
      spec: { day, accruedTo, rows: rows.filter(({ cost = 0 }) => cost > 0) },
    }
  })
}
