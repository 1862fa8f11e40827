import { cpus, loadavg } from 'node:os'
import type { Page } from 'playwright-core'
import { cleaner } from '../../src/apis/cleaner.ts'
import { chromiumPath, launchChromium } from '../../test/e2e/dashboard/chromium.ts'
import { startDashboardWorld, type DashboardWorld } from '../../test/e2e/dashboard/dashboard-world.ts'
import { fill } from './fill.ts'
import { Hand, type Interaction } from './interactions.ts'

const stays = Number(process.env['STAYS'] ?? 10_000)
const rounds = Number(process.env['ROUNDS'] ?? 5)
const wantedMs = 100

if (!chromiumPath) {
  console.error('SKIPPED dashboard: there is no Chromium here: apt-get install -y chromium')
  process.exit(0)
}
const world = await startDashboardWorld({ only: 'api,collector' })
console.error(`creating ${stays} objects in a stay`)
await fill(world, stays)
const browser = await launchChromium()
const page = await signedIn(world)
const churning = new AbortController()
const churn = changeNowAndThen(world, churning.signal)
const hand = await Hand.on(page)
for (let round = 0; round < rounds; round++) await visitAll(hand, page)
churning.abort()
await churn
await browser.close()
await world[Symbol.asyncDispose]()
// The pipes of a browser that is closed keep the process alive.
process.exit(report(hand.done) ? 0 : 1)

async function signedIn({ url, tokens }: DashboardWorld): Promise<Page> {
  const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1280, height: 800 } })
  const opened = await context.newPage()
  await opened.goto(url)
  await opened.getByLabel('Token').fill(tokens.get('system:admin') ?? '')
  await opened.getByRole('button', { name: 'Sign in' }).click()
  await opened.getByText(`${stays.toLocaleString('en-US')} managed`).waitFor({ timeout: 60_000 })
  return opened
}

/** A user's search: opens each view, scrolls, filters, selects, opens, closes. */
async function visitAll(hand: Hand, page: Page): Promise<void> {
  await visit(hand, page, { view: 'Overview', filter: 'Filter managed objects', text: 'report-12' })
  await page.getByRole('listbox', { name: 'Managed objects' }).focus()
  for (const key of ['ArrowDown', 'PageDown', 'End', 'Home']) await hand.does('select', () => page.keyboard.press(key))
  await hand.does('open', () => page.keyboard.press('Enter'))
  await hand.does('close', () => page.keyboard.press('Escape'))
  for (let times = 0; times < 2; times++)
    await hand.does('choose a system', () => page.getByRole('button', { name: 'janitor' }).click())
  await visit(hand, page, { view: 'Pipelines', filter: 'Filter pipelines', text: 'pipeline-7' })
  await visit(hand, page, { view: 'Services', filter: 'Filter on-demand services', text: 'service-3' })
  await visit(hand, page, { view: 'Cleanup', filter: 'Filter cleanup', text: 'report-4' })
  await ask(hand, page, 'Opt out report-4')
  await visit(hand, page, { view: 'Departures', filter: 'Filter departures', text: 'gone-9' })
  await ask(hand, page, 'Restore gone-9')
}

async function visit(hand: Hand, page: Page, where: { view: string; filter: string; text: string }): Promise<void> {
  await hand.does('open a view', () => page.getByRole('link', { name: where.view, exact: true }).click())
  await page.mouse.move(640, 500)
  for (const distance of [600, 4000, 40_000, -50_000]) await hand.does('scroll', () => page.mouse.wheel(0, distance))
  const filter = page.getByLabel(where.filter)
  await filter.focus()
  for (const key of where.text) await hand.does('filter', () => page.keyboard.press(key))
  await hand.does('filter', () => filter.fill(''))
  for (const key of where.text) await hand.does('filter', () => page.keyboard.press(key))
}

/** Opens the confirmation dialog of every switch and cancels it. */
async function ask(hand: Hand, page: Page, name: string): Promise<void> {
  const button = page.getByRole('button', { name, exact: true })
  await button.waitFor()
  await hand.does('open', () => button.click())
  await hand.does('close', () => page.keyboard.press('Escape'))
}

/** Changes objects while the page is open. */
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
    `Dashboard with ${stays} objects in a stay, ten changes a second; load ${loadavg()[0]?.toFixed(1)} of ${cpus().length} cores\n`,
  )
  console.log(
    '| interaction | times | p50 | p95 | slowest | processor time p95 | wanted p95 |\n|---|--:|--:|--:|--:|--:|--:|',
  )
  const groups = [...Map.groupBy(interactions, ({ what }) => what), ['all', interactions] as const]
  for (const [what, members] of groups) {
    const wall = at(members.map(({ ms }) => ms))
    const cpu = at(members.map(({ cpuMs }) => cpuMs))
    const cells = [members.length, `${wall(0.5)} ms`, `${wall(0.95)} ms`, `${wall(1)} ms`, `${cpu(0.95)} ms`]
    console.log(`| ${what} | ${cells.join(' | ')} | < ${wantedMs} ms |`)
  }
  return at(interactions.map(({ ms }) => ms))(0.95) < wantedMs
}

/** The value below which this share of them is. */
function at(values: readonly number[]): (share: number) => number {
  const sorted = values.toSorted((left, right) => left - right)
  return (share) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0)
}
