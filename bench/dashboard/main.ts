import type { Page } from 'playwright-core'
import { cleaner } from '../../src/apis/cleaner.ts'
import { chromiumPath, launchChromium } from '../../test/e2e/dashboard/chromium.ts'
import { startDashboardWorld, type DashboardWorld } from '../../test/e2e/dashboard/dashboard-world.ts'
import { fill } from './fill.ts'
import { latencies, observeInteractions, type Interaction } from './interactions.ts'

const stays = Number(process.env['STAYS'] ?? 10_000)
const rounds = Number(process.env['ROUNDS'] ?? 5)
const wantedMs = 100

if (!chromiumPath) {
  console.error('SKIPPED dashboard: there is no Chromium here: apt-get install -y chromium')
  process.exit(0)
}
await using world = await startDashboardWorld({ only: 'api,collector' })
console.error(`creating ${stays} objects in a stay`)
await fill(world, stays)
const browser = await launchChromium()
const page = await signedIn(world)
const churning = new AbortController()
const churn = changeNowAndThen(world, churning.signal)
for (let round = 0; round < rounds; round++) await visitAll(page)
churning.abort()
await churn
const found = await latencies(page)
await browser.close()
const isFast = report(found)
process.exitCode = isFast ? 0 : 1

async function signedIn({ url, tokens }: DashboardWorld): Promise<Page> {
  const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1280, height: 800 } })
  const opened = await context.newPage()
  await opened.goto(url)
  await opened.getByLabel('Token').fill(tokens.get('system:admin') ?? '')
  await opened.getByRole('button', { name: 'Sign in' }).click()
  await opened.getByText(`${stays} in our care`).waitFor({ timeout: 60_000 })
  await observeInteractions(opened)
  return opened
}

/** What somebody does who looks for something: opens each view, filters, scrolls, selects, opens, closes. */
async function visitAll(page: Page): Promise<void> {
  await visit(page, 'Stays', { filter: 'Filter stays', text: 'report-12' })
  await page.getByRole('listbox', { name: 'Stays' }).focus()
  for (const key of ['ArrowDown', 'PageDown', 'End', 'Home', 'Enter', 'Escape']) await page.keyboard.press(key)
  await page.getByRole('button', { name: 'janitor' }).click()
  await page.getByRole('button', { name: 'janitor' }).click()
  await visit(page, 'Pipelines', { filter: 'Filter pipelines', text: 'pipeline-7' })
  await visit(page, 'Services', { filter: 'Filter on-demand services', text: 'service-3' })
  await visit(page, 'Marks', { filter: 'Filter marks', text: 'report-4' })
  await page.getByRole('button', { name: 'Opt out report-4', exact: true }).click()
  await page.keyboard.press('Escape')
  await visit(page, 'Departures', { filter: 'Filter departures', text: 'gone-9' })
  await page.getByRole('button', { name: 'Restore gone-9', exact: true }).click()
  await page.keyboard.press('Escape')
}

async function visit(page: Page, view: string, { filter, text }: { filter: string; text: string }): Promise<void> {
  await page.getByRole('link', { name: view, exact: true }).click()
  await page.mouse.move(640, 500)
  for (const distance of [600, 4000, 40_000, -50_000]) {
    await page.mouse.wheel(0, distance)
    await page.evaluate('new Promise((resolve) => setTimeout(resolve, 80))')
  }
  await page.getByLabel(filter).pressSequentially(text)
  await page.getByLabel(filter).fill('')
  await page.getByLabel(filter).pressSequentially(text)
}

/** The world does not hold still while one looks at it. */
async function changeNowAndThen({ client }: DashboardWorld, signal: AbortSignal): Promise<void> {
  for (let index = 0; !signal.aborted; index++) {
    const place = { namespace: 'team', name: `cleaner-${index % 100}` }
    const body = { metadata: { annotations: { touched: String(index) } } }
    await client.patch(cleaner.type, place, { type: 'merge', body })
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

function report(interactions: readonly Interaction[]): boolean {
  console.log(
    `| interaction, ${stays} objects in a stay, ten changes a second | times | p50 | p95 | slowest | wanted p95 |`,
  )
  console.log('|---|--:|--:|--:|--:|--:|')
  const groups = Map.groupBy(interactions, ({ type }) => type)
  for (const [type, members] of [...groups, ['all', interactions] as const]) {
    const sorted = members.map(({ ms }) => ms).toSorted((left, right) => left - right)
    const at = (share: number) =>
      Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0)
    console.log(`| ${type} | ${sorted.length} | ${at(0.5)} ms | ${at(0.95)} ms | ${at(1)} ms | < ${wantedMs} ms |`)
    if (type === 'all') return at(0.95) < wantedMs
  }
  return false
}
