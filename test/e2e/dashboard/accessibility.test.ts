import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { chromiumPath } from './chromium.ts'
import { Visitor, viewNames } from './dashboard-page.ts'
import { createFamily, dashboardObjects, startDashboardWorld, type DashboardWorld } from './dashboard-world.ts'
import { faintTexts } from './faint-texts.ts'

const phone = { viewport: { width: 390, height: 780 }, hasTouch: true, isMobile: true }

describe.skipIf(!chromiumPath)('the dashboard is accessible', { timeout: 120_000 }, () => {
  let world: DashboardWorld
  let visitor: Visitor

  beforeAll(async () => {
    world = await startDashboardWorld({ only: 'api,cleaner,collector,promoter,activator' })
    for (const object of dashboardObjects()) await world.create(object)
    visitor = await Visitor.arrive(world)
  })
  beforeEach(() => void (visitor.complaints = []))
  afterEach(() => expect(visitor.complaints).toEqual([]))
  afterAll(async () => {
    await visitor?.[Symbol.asyncDispose]()
    await world?.[Symbol.asyncDispose]()
  })

  it('fits a phone in every view', async () => {
    await visitor.open(phone)
    await visitor.signIn()
    for (const view of viewNames) {
      await visitor.see(view)
      expect([view, await visitor.page.evaluate(tooWide)]).toEqual([view, [0, 0]])
      expect([view, await visitor.page.evaluate(cutRows)]).toEqual([view, []])
    }
  })

  it.each([830, 980, 1190])('cuts nothing off a screen of %s pixels', async (width) => {
    await visitor.open({ viewport: { width, height: 800 } })
    await visitor.signIn()
    for (const view of ['Overview', 'Forecast']) {
      await visitor.see(view)
      expect([view, await visitor.page.evaluate(tooWide)]).toEqual([view, [0, 0]])
      expect([view, await visitor.page.evaluate(cutRows)]).toEqual([view, []])
    }
    expect(
      await visitor.page.evaluate(`[document.querySelector('nav')].map((nav) => nav.scrollWidth - nav.clientWidth)`),
    ).toEqual([0])
  })

  it('fits a phone with a cascade drawn on it', async () => {
    await createFamily(world)
    await visitor.open(phone)
    await visitor.signIn()
    await visitor.see('Dependencies')
    const { page } = visitor
    for (const [label, value] of [
      ['Kind', 'ConfigMap'],
      ['Namespace', 'team'],
      ['Name', 'family'],
    ] as const)
      await page.getByLabel(label, { exact: true }).fill(value)
    await page.getByRole('button', { name: 'Preview' }).click()
    await page.getByText('25 objects are deleted').waitFor()
    expect(await page.evaluate(tooWide)).toEqual([0, 0])
  })

  it('draws few days of a forecast no larger than many', async () => {
    await visitor.asAdministrator()
    await visitor.see('Forecast')
    const tall = async () => (await visitor.page.locator('.calendar svg').boundingBox())?.height ?? 0
    const many = await tall()
    const short = { ...forecastOfADay, wanted: '2026-12-01T00:00:00Z' }
    await visitor.page.route('**/forecast', (route) => route.fulfill({ json: short }))
    await visitor.page.getByRole('button', { name: 'Refresh' }).click()
    await visitor.page.getByText('The forecast ran out of time at').waitFor()
    expect(await tall()).toBeLessThan(2.5 * many)
    await visitor.page.unroute('**/forecast')
  })

  it.each(['light', 'dark'] as const)('has readable contrast in every view in %s mode', async (colorScheme) => {
    await visitor.open({ colorScheme })
    expect(await visitor.page.evaluate(faintTexts)).toEqual([])
    await visitor.signIn()
    for (const view of viewNames) {
      await visitor.see(view)
      expect([view, await visitor.page.evaluate(faintTexts)]).toEqual([view, []])
    }
    const ground = await visitor.page.evaluate('getComputedStyle(document.body).backgroundColor')
    expect(ground).toBe(colorScheme === 'dark' ? 'rgb(13, 20, 19)' : 'rgb(244, 246, 245)')
  })

  it('gives every control a name and every view a heading', async () => {
    await visitor.asAdministrator()
    const devtools = await visitor.page.context().newCDPSession(visitor.page)
    const acting = new Set([
      'button',
      'link',
      'textbox',
      'searchbox',
      'combobox',
      'listbox',
      'option',
      'slider',
      'dialog',
    ])
    for (const view of viewNames) {
      await visitor.see(view)
      await expect.poll(() => visitor.page.getByRole('heading', { level: 1 }).count()).toBe(1)
      const { nodes } = await devtools.send('Accessibility.getFullAXTree')
      const named = nodes.filter(({ ignored, role }) => !ignored && acting.has(String(role?.value)))
      expect(named.length).toBeGreaterThan(8)
      expect([view, named.filter(({ name }) => !name?.value).map(({ role }) => role?.value)]).toEqual([view, []])
    }
  })

  it('can be used from sign-in to a switch and back with the keyboard alone', async () => {
    await visitor.open()
    const { keyboard } = visitor.page
    await keyboard.type(world.tokens.get('system:admin') ?? '')
    await keyboard.press('Enter')
    await visitor.page.getByRole('heading', { name: 'Needs you' }).waitFor()
    await reach('Safety')
    await keyboard.press('Enter')
    await visitor.page.getByRole('button', { name: 'Pause', exact: true, disabled: false }).waitFor()
    await reach('Pause')
    await keyboard.press('Enter')
    await visitor.page.getByRole('dialog', { name: 'Pause all deletions?' }).waitFor()
    expect(await focused()).toBe('Pause')
    await keyboard.press('Escape')
    await visitor.page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await focused()).toBe('Pause')
    await keyboard.press('Enter')
    await keyboard.press('Enter')
    await visitor.page.getByRole('button', { name: 'Resume', exact: true }).waitFor()
    await reach('Resume')
    await keyboard.press('Enter')
    await visitor.page.getByRole('dialog', { name: 'Resume deletions?' }).waitFor()
    expect(await focused()).toBe('Cancel')
    await reach('Resume')
    await keyboard.press('Enter')
    await visitor.page.getByRole('button', { name: 'Pause', exact: true }).waitFor()
  })

  it('keeps the focus on a switch while its page is redrawn', async () => {
    await visitor.asAdministrator()
    await visitor.go('Safety')
    const { page } = visitor
    await page.getByRole('button', { name: 'Pause', exact: true }).focus()
    await page.evaluate('globalThis.old = document.activeElement')
    await expect.poll(() => page.evaluate('old.isConnected'), { timeout: 30_000 }).toBe(false)
    expect(await focused()).toBe('Pause')
  })

  it('keeps the focus on the same card when others appear before it', async () => {
    await visitor.asAdministrator()
    await visitor.go('Cleanup')
    await visitor.page.getByRole('button', { name: 'Opt out old-report' }).focus()
    const given = dashboardObjects().find(({ kind }) => kind === 'CleanupCandidate')!
    const spec = given.spec as { resource: object }
    await world.create({
      ...given,
      metadata: { name: 'candidate-newcomer' },
      spec: { ...spec, resource: { ...spec.resource, name: 'newcomer', uid: 'u-2' } },
      status: { ...(given.status as object), projectedDeletionTime: new Date(Date.now() + 60_000).toISOString() },
    })
    const { page } = visitor
    await page
      .locator('article')
      .first()
      .and(page.getByRole('article', { name: 'ConfigMap newcomer' }))
      .waitFor()
    expect(await page.evaluate('document.activeElement.ariaLabel')).toBe('Opt out old-report')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Opt out old-report?' }).waitFor()
    await page.keyboard.press('Escape')
  })

  it('keeps the focus on the same row when others appear before it', async () => {
    await visitor.asAdministrator()
    await visitor.go('Overview')
    const { page } = visitor
    const chosen = page.locator('[role=option][aria-selected=true]')
    await page.getByRole('listbox').focus()
    await page.keyboard.press('End')
    const name = await chosen.textContent()
    const given = dashboardObjects().find(({ kind }) => kind === 'Cleaner')!
    await world.create({
      ...given,
      metadata: { namespace: 'team', name: 'early' },
      spec: { ...(given.spec as object), ttl: '1h' },
    })
    await page.getByRole('option', { name: /early/ }).waitFor()
    expect(name).toBeTruthy()
    expect(await chosen.textContent()).toBe(name)
  })

  /** Presses Tab until the control of this name has the focus. */
  async function reach(name: string): Promise<void> {
    for (let step = 0; step < 60; step++) {
      if ((await focused()) === name) return
      await visitor.page.keyboard.press('Tab')
    }
    throw new Error(`Tab never reaches ${name}`)
  }

  function focused(): Promise<string> {
    return visitor.page.evaluate('document.activeElement.textContent.trim()')
  }
})

/** By how much the page and its scrollable parts are wider than the screen. */
const tooWide = `[document.documentElement, document.querySelector('main')].map((each) => each.scrollWidth - each.clientWidth)`

/** List rows whose content overflows. */
const cutRows = `[...document.querySelectorAll('[role=option]')].filter((row) => {
  const { top, bottom, right } = row.getBoundingClientRect()
  return [...row.querySelectorAll('*')].some((part) => {
    const box = part.getBoundingClientRect()
    return box.height > 0 && (box.top < top - 1 || box.bottom > bottom + 1 || box.right > right + 1)
  })
}).map((row) => row.getAttribute('aria-label'))`

const forecastOfADay = {
  from: '2026-11-01T00:00:00Z',
  until: '2026-11-01T03:00:00Z',
  objects: 1,
  events: [
    {
      at: '2026-11-01T01:00:00Z',
      what: 'leaves',
      system: 'janitor',
      object: { apiVersion: 'v1', kind: 'ConfigMap', name: 'old' },
      because: 'violates',
      why: 'nothing refers to it',
    },
  ],
  assumed: [],
  halts: [],
  unread: [],
}
