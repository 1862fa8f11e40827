// npm run pictures: makes the pictures of README.md and the guides in docs/pictures, all of them from real runs.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { chromiumPath, launchChromium } from '../../test/e2e/dashboard/chromium.ts'
import { commentPage, mailPage } from './pages.ts'
import { recordDemo } from './recording.ts'
import { pictureViews } from './views.ts'
import { startPictureWorld, type PictureWorld } from './world.ts'

const folder = join(import.meta.dirname, '../../docs/pictures')
const schemes = ['light', 'dark'] as const
mkdirSync(folder, { recursive: true })

if (process.argv.includes('--only-demo')) await demo()
else {
  if (!chromiumPath) throw new Error('pictures need Chromium: install it, or run with --only-demo')
  await screenshots()
  if (!process.argv.includes('--no-demo')) await demo()
}

// The mail server waits for connections that its client keeps.
process.exit(0)

async function screenshots(): Promise<void> {
  await using world = await startPictureWorld()
  const browser = await launchChromium()
  try {
    for (const scheme of schemes) {
      await dashboard(browser, world, scheme)
      await page(browser, { name: `comment-${scheme}`, html: commentPage(world.comment), scheme })
    }
    const chosen = /^(?:overview|savings)-\w+-wide$|^(?:overview|environments|pipelines)-\w+-phone$/
    await pictureViews(browser, folder, (name) => chosen.test(name))
    // The mail says itself that it is light, whatever the reader prefers.
    await page(browser, { name: 'mail', html: mailPage(world.mail), scheme: 'light' })
  } finally {
    await browser.close()
  }
}

type Scheme = (typeof schemes)[number]

async function dashboard(browser: Browser, { url, token }: PictureWorld, colorScheme: Scheme): Promise<void> {
  const context = await browser.newContext({
    ignoreHTTPSErrors: true,
    colorScheme,
    viewport: { width: 1100, height: 740 },
    locale: 'en-GB',
    reducedMotion: 'reduce',
  })
  const tab = await context.newPage()
  await tab.goto(url)
  await tab.getByLabel('Token').fill(token)
  await tab.getByRole('button', { name: 'Sign in' }).click()
  await tab.getByRole('link', { name: 'Environments', exact: true }).click()
  await tab.getByRole('article').first().waitFor()
  // The state of each pull request, which a busy machine reads later.
  await tab.getByText('(unknown)').first().waitFor({ state: 'hidden', timeout: 90_000 })
  await tab.screenshot({ path: join(folder, `dashboard-${colorScheme}.png`) })
  await context.close()
}

async function page(
  browser: Browser,
  { name, html, scheme }: { name: string; html: string; scheme: Scheme },
): Promise<void> {
  const context = await browser.newContext({ colorScheme: scheme, viewport: { width: 760, height: 200 } })
  const tab = await context.newPage()
  await tab.setContent(html)
  await tab.screenshot({ path: join(folder, `${name}.png`), fullPage: true })
  await context.close()
}

async function demo(): Promise<void> {
  const recording = await recordDemo()
  for (const scheme of schemes) writeFileSync(join(folder, `demo-${scheme}.svg`), recording(scheme))
}
