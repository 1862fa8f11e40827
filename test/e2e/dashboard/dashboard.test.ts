import { existsSync } from 'node:fs'
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { cleanupOptOut, type CleanupOptOut } from '../../../src/apis/cleanup-opt-out.ts'
import { pipeline as pipelineKind, type Pipeline } from '../../../src/apis/pipeline.ts'
import { configMaps, doorStateOf } from '../../../src/departures/door-state.ts'
import type { StoredObject } from '../../../src/kube/object.ts'
import { ignoring } from '../../../src/kube/status-error.ts'
import { dashboardObjects, startDashboardWorld, type DashboardWorld } from './dashboard-world.ts'

const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync)
if (!executablePath)
  console.warn('SKIPPED: the dashboard was NOT tested, for there is no Chromium here: apt-get install -y chromium')

describe.skipIf(!executablePath)('the dashboard in Chromium', () => {
  let world: DashboardWorld
  let browser: Browser
  let page: Page
  let signedIn: Page | undefined
  /** What the browser complained of. A refusal that a test provokes is taken out by the test. */
  let complaints: string[] = []

  beforeAll(async () => {
    world = await startDashboardWorld()
    for (const object of dashboardObjects()) await world.create(object)
    browser = await chromium.launch({
      executablePath: executablePath ?? '',
      args: [
        '--no-sandbox',
        '--headless=new',
        '--disable-gpu',
        '--disable-background-networking',
        '--disable-component-update',
        '--no-first-run',
      ],
    })
  })
  beforeEach(() => void (complaints = []))
  afterEach(() => expect(complaints).toEqual([]))
  afterAll(async () => {
    await browser?.close()
    await world?.[Symbol.asyncDispose]()
  })

  async function open(options: BrowserContextOptions = {}): Promise<void> {
    await page?.context().close()
    const context = await browser.newContext({ ignoreHTTPSErrors: true, ...options })
    context.setDefaultTimeout(15_000)
    page = await context.newPage()
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
    })
    page.on('pageerror', (error) => complaints.push(error.message))
    page.on('dialog', (dialog) => {
      complaints.push(`markup of the API ran: ${dialog.message()}`)
      void dialog.dismiss()
    })
    await page.goto(world.url)
  }

  async function signIn(user = 'system:admin'): Promise<void> {
    await page.getByLabel('Token').fill(world.tokens.get(user) ?? '')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('option', { name: /preview-142/ }).waitFor()
  }

  /** On the page that is open, if the administrator is there already. */
  async function asAdministrator(): Promise<void> {
    if (signedIn === page) return
    await open()
    await signIn()
    signedIn = page
  }

  const go = (view: string) => page.getByRole('link', { name: view, exact: true }).click()
  const inDialog = (button: string) => page.getByRole('dialog').getByRole('button', { name: button }).click()

  it('refuses a token that nobody has, and keeps none', async () => {
    await open()
    await page.getByLabel('Token').fill('wrong')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('The server does not know this token.').waitFor()
    expect(await page.evaluate('sessionStorage.length')).toBe(0)
    complaints = complaints.filter((text) => !text.includes('401'))
  })

  it('shows a Cleaner’s stay and tells more on Enter', async () => {
    await asAdministrator()
    await go('Stays')
    const row = page.getByRole('option', { name: /Cleaner preview-142, NotExpired, its time is up in 2 h/ })
    await row.waitFor()
    await page.getByLabel('Filter stays').fill('preview')
    await page.getByRole('listbox', { name: 'Stays' }).focus()
    await page.keyboard.press('Home')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'preview-142' }).getByText('Looked after by').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  })

  it('shows what changes by itself', async () => {
    await asAdministrator()
    await go('Stays')
    await page.getByLabel('Filter stays').fill('')
    const [, , , , given] = dashboardObjects()
    await world.create({ ...given!, metadata: { name: 'late-comer', namespace: 'team' } })
    await page.getByRole('option', { name: /late-comer/ }).waitFor()
  })

  it('spares what is marked, and only after a second click', async () => {
    await asAdministrator()
    await go('Marks')
    await page.getByText('onerror=alert').waitFor()
    await page.getByRole('button', { name: 'Opt out' }).click()
    expect((await world.client.list(cleanupOptOut.type)).items).toEqual([])
    await page.getByRole('dialog').getByRole('textbox').fill('audit until Friday')
    await inDialog('Opt out')
    await page.getByText('audit until Friday').waitFor()
    const { items } = await world.client.list<CleanupOptOut>(cleanupOptOut.type)
    expect(items.map(({ spec }) => spec)).toMatchObject([
      { resource: { kind: 'ConfigMap', namespace: 'team', name: 'old-report' }, reason: 'audit until Friday' },
    ])
  })

  it('brings back what left', async () => {
    await asAdministrator()
    await go('Departures')
    const place = { namespace: 'team', name: 'scratch' }
    const card = page.getByRole('article').filter({ hasText: 'ConfigMap · team' })
    await card.getByRole('button', { name: 'Restore' }).click()
    expect(await world.client.get(configMaps, place).catch(ignoring('NotFound'))).toBeUndefined()
    await inDialog('Restore')
    await card.getByText('Restored').waitFor()
    expect((await world.client.get<StoredObject>(configMaps, place)).data).toEqual({ note: 'keep me' })
  })

  it('records an approval in the name of the one who gave it', async () => {
    await asAdministrator()
    await go('Pipelines')
    await page.getByRole('button', { name: 'Approve' }).click()
    await inDialog('Approve')
    await page.getByText('v1.4.0 approved for prod').waitFor()
    const { status } = await world.client.get<Pipeline>(pipelineKind.type, { namespace: 'team', name: 'shop' })
    const { promotion, waitingApproval } = status?.environments?.prod ?? {}
    const approvers = promotion?.approvedBy ?? waitingApproval?.approvals?.map(({ approver }) => approver)
    expect(approvers).toEqual(['system:admin'])
  })

  it('previews what would leave with an object', async () => {
    await asAdministrator()
    await go('Cascade')
    expect(await page.locator('nav [aria-current=page]').allTextContents()).toEqual(['Cascade'])
    await page.getByLabel('Kind').fill('deployments.apps')
    await page.getByLabel('Namespace').fill('team')
    await page.getByLabel('Name', { exact: true }).fill('shop')
    await page.getByRole('button', { name: 'Preview' }).click()
    await page.getByText('1 object leaves').waitFor()
  })

  it('pauses departures with a confirmation, says so everywhere, and resumes', async () => {
    await open({ viewport: { width: 390, height: 800 }, colorScheme: 'dark' })
    await signIn()
    await go('Door')
    const read = async () => {
      const place = { namespace: 'sojourn-system', name: 'sojourn-door' }
      return doorStateOf(await world.client.get<StoredObject>(configMaps, place).catch(ignoring('NotFound')))
    }
    await page.getByRole('button', { name: 'Pause' }).click()
    await inDialog('Cancel')
    expect(await read()).toMatchObject({ paused: false })
    await page.getByRole('button', { name: 'Pause' }).click()
    await inDialog('Pause')
    await page.getByRole('alert').getByText('Nothing leaves for now.').waitFor()
    expect(await read()).toMatchObject({ paused: true })
    await page.getByRole('button', { name: 'Resume' }).click()
    await inDialog('Resume')
    await page.getByRole('button', { name: 'Pause' }).waitFor()
    expect(await read()).toMatchObject({ paused: false })
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
  })

  it('shows a viewer everything and says what the server refuses', async () => {
    await open()
    await signIn('sojourn:viewer')
    await go('Door')
    await page.getByRole('button', { name: 'Pause' }).click()
    await inDialog('Pause')
    await page.getByRole('dialog').getByText('forbidden').waitFor()
    complaints = complaints.filter((text) => !text.includes('403'))
  })

  it('makes only the rows in sight, of ten thousand', async () => {
    await open()
    const [, , , , , , mark] = dashboardObjects()
    const items = Array.from({ length: 10_000 }, (_, index) => {
      const name = `mark-${index}`
      const { resource } = mark!.spec as { resource: object }
      return { ...mark, metadata: { name }, spec: { policy: 'p', resource: { ...resource, name, uid: name } } }
    })
    const body = JSON.stringify({ items, metadata: { resourceVersion: '1' } })
    await page.route(/cleanupcandidates\?limit/, (route) => route.fulfill({ contentType: 'application/json', body }))
    await page.route(/cleanupcandidates\?watch/, (route) =>
      route.fulfill({ contentType: 'application/json', body: '' }),
    )
    await signIn()
    await page.getByText(/1000\d in our care/).waitFor()
    await page.getByRole('listbox', { name: 'Stays' }).focus()
    await page.keyboard.press('End')
    await page.getByRole('option', { selected: true }).waitFor()
    expect(await page.getByRole('option').count()).toBeLessThan(60)
  })

  it('serves its pages to anybody under a policy that runs no inline script, and no data', async () => {
    await open()
    const answer = await page.request.get(world.url, { ignoreHTTPSErrors: true })
    const policy = answer.headers()['content-security-policy']
    expect(policy).toContain("script-src 'self';")
    expect(policy).not.toContain('unsafe')
    const refused = await page.request.post(`${world.url}/sojourn/v1alpha1/departures/team/x/restore`, {
      ignoreHTTPSErrors: true,
    })
    expect(refused.status()).toBe(401)
  })
})
