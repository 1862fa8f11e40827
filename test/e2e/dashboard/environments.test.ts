import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { environment, type Environment } from '../../../src/apis/environment.ts'
import { namespaces } from '../../../src/kube/core-types.ts'
import type { KubeObject } from '../../../src/kube/object.ts'
import { ignoring } from '../../../src/kube/status-error.ts'
import { chromiumPath } from './chromium.ts'
import { Visitor } from './dashboard-page.ts'
import { dashboardObjects, environmentObjects, startDashboardWorld, type DashboardWorld } from './dashboard-world.ts'

describe.skipIf(!chromiumPath)('the Environments page', { timeout: 120_000 }, () => {
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

  const read = (namespace: string) => world.client.get<Environment>(environment.type, { namespace, name: namespace })
  const card = (name: string) => visitor.page.getByRole('article', { name: `Environment ${name}` })
  const press = async (name: string, button: string) => {
    await card(name)
      .getByRole('button', { name: `${button} ${name}` })
      .click()
  }

  it('says how to make an environment when there is none', async () => {
    await visitor.open()
    await visitor.page.goto('about:blank')
    await visitor.page.goto(world.link())
    await visitor.page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    await visitor.go('Environments')
    await visitor.page.getByRole('heading', { level: 1, name: /Environments/ }).waitFor()
    await visitor.page.getByText('kubectl label namespace NAME').waitFor()
    const offered = visitor.page.getByRole('combobox', { name: 'Namespace' }).getByRole('option')
    expect(await offered.allInnerTexts()).toEqual(['all namespaces'])
  })

  it('shows those to be deleted first, with address, owner and pull request', async () => {
    for (const object of environmentObjects()) await world.create(object)
    // The first page, now that there are environments.
    await visitor.page.goto('about:blank')
    await visitor.page.goto(world.link())
    await visitor.page.getByRole('heading', { level: 1, name: /Environments/ }).waitFor()
    const names = visitor.page.getByRole('article')
    await expect
      .poll(() => names.evaluateAll((cards) => cards.map((each) => each.getAttribute('aria-label'))))
      .toEqual(['shop-pr-17', 'shop-pr-42', 'shop-pr-7'].map((name) => `Environment ${name}`))
    const text = await card('shop-pr-42').innerText()
    for (const part of ['Awake', 'pr-42.shop.test', 'ada@example.org', '#42 (open)', 'in 26 min'])
      expect(text).toContain(part)
    const address = card('shop-pr-42').getByRole('link', { name: 'pr-42.shop.test' })
    expect(await address.getAttribute('href')).toBe('https://pr-42.shop.test')
    // An address that is no web address is text.
    const links = card('shop-pr-7').getByRole('link')
    expect(await links.evaluateAll((all) => all.map((each) => each.textContent))).toEqual(['shop-pr-7'])
  })

  it('shows when an environment was awake and asleep in the last seven days', async () => {
    const week = card('shop-pr-42').getByRole('img')
    expect(await week.getAttribute('aria-label')).toBe('Awake for 15 h in the last 7 days')
    const spans = await week.locator('rect').evaluateAll((all) => all.map((each) => each.getAttribute('class')))
    expect(spans).toEqual(['asleep', 'awake', 'asleep', 'awake'])
    expect(await week.locator('rect').last().locator('title').textContent()).toMatch(/^Awake from .* to now$/)
    // Without a record of switches there is no picture.
    expect(await card('shop-pr-7').getByRole('img').count()).toBe(0)
  })

  it('wakes, puts to sleep and keeps', async () => {
    await press('shop-pr-42', 'Sleep')
    await visitor.inDialog('Sleep')
    await expect.poll(async () => (await read('shop-pr-42')).spec.power).toBe('Asleep')
    await press('shop-pr-7', 'Wake')
    await visitor.inDialog('Wake')
    await expect.poll(async () => (await read('shop-pr-7')).spec.power).toBe('Awake')
    expect((await read('shop-pr-7')).spec.powerUntil).toBeDefined()
    const { deletesAt = '' } = (await read('shop-pr-17')).status ?? {}
    await press('shop-pr-17', 'Keep 3 days')
    await visitor.inDialog('Keep 3 days')
    const kept = Date.parse(deletesAt) + 3 * 86_400_000
    await expect.poll(async () => Date.parse((await read('shop-pr-17')).spec.keepUntil ?? '')).toBe(kept)
  })

  it('changes and deletes no namesake that was created while the dialog was open', async () => {
    const path = '/apis/sojourn.dev/v1alpha1/namespaces/shop-pr-7/environments/shop-pr-7'
    const replaceBy = async (owner: string) => {
      const { metadata: _, ...former } = await read('shop-pr-7')
      await world.client.request({ method: 'DELETE', path })
      const metadata = { name: 'shop-pr-7', namespace: 'shop-pr-7' }
      await world.create({ ...former, metadata, status: { ...former.status, owner } } as KubeObject)
    }
    await press('shop-pr-7', 'Delete')
    await visitor.page.getByLabel('Name of the Namespace').fill('shop-pr-7')
    await replaceBy('bea@example.org')
    await visitor.inDialog('Delete')
    await visitor.page.getByText('shop-pr-7 was created anew meanwhile').waitFor()
    await visitor.inDialog('Cancel')
    expect((await world.client.get(namespaces, { name: 'shop-pr-7' })).metadata.deletionTimestamp).toBeUndefined()
    await card('shop-pr-7').getByText('bea@example.org').waitFor()
    await press('shop-pr-7', 'Keep 3 days')
    await replaceBy('cleo@example.org')
    await visitor.inDialog('Keep 3 days')
    await visitor.page.getByRole('dialog').getByText('uid').waitFor()
    expect((await read('shop-pr-7')).spec.keepUntil).toBeUndefined()
    expect(visitor.complaints.splice(0)).toEqual([expect.stringContaining('status of 422')])
    await visitor.inDialog('Cancel')
    await card('shop-pr-7').getByText('cleo@example.org').waitFor()
  })

  it('deletes only after the name was typed', async () => {
    const find = () => world.client.get(namespaces, { name: 'shop-pr-7' }).catch(ignoring('NotFound'))
    await press('shop-pr-7', 'Delete')
    await visitor.inDialog('Delete')
    await visitor.page.getByText('Type shop-pr-7 to delete it.').waitFor()
    expect((await find())?.metadata.deletionTimestamp).toBeUndefined()
    await visitor.page.getByLabel('Name of the Namespace').fill('shop-pr-7')
    await visitor.inDialog('Delete')
    await visitor.page.getByText('shop-pr-7 is being deleted').waitFor()
    const isLeaving = async () => {
      const found = await find()
      return found === undefined || found.metadata.deletionTimestamp !== undefined
    }
    await expect.poll(isLeaving).toBe(true)
  })

  it('disables the actions of a user without the right, and says why', async () => {
    await visitor.open()
    await visitor.signIn('sojourn:viewer')
    await visitor.go('Environments')
    await card('shop-pr-42').waitFor()
    const buttons = visitor.page.getByRole('article').getByRole('button')
    const others = () =>
      buttons.evaluateAll((all) =>
        all
          .filter((each) => each.ariaDisabled !== 'true' || !each.title.startsWith('You may not'))
          .map((each) => each.ariaLabel),
      )
    await expect.poll(others, { timeout: 15_000 }).toEqual([])
    const sleep = visitor.page.getByRole('button', { name: 'Sleep shop-pr-42' })
    expect(await sleep.getAttribute('title')).toContain('You may not patch environments in shop-pr-42')
    await sleep.click({ force: true })
    await visitor.page.getByRole('alert').getByText('You may not patch environments in shop-pr-42').waitFor()
    expect(await visitor.page.getByRole('dialog').count()).toBe(0)
  })

  it.each([
    ['light', 1440],
    ['dark', 1440],
    ['light', 390],
    ['dark', 390],
  ] as const)('fits a %s page of %i pixels', async (colorScheme, width) => {
    await visitor.open({ colorScheme, viewport: { width, height: 900 } })
    await visitor.page.goto('about:blank')
    await visitor.page.goto(world.link())
    await visitor.go('Environments')
    await card('shop-pr-42')
      .getByRole('button', { name: /Keep 3 days/ })
      .waitFor()
    const folder = process.env['SCREENSHOTS']
    if (folder) await visitor.page.screenshot({ path: `${folder}/environments-${colorScheme}-${width}.png` })
    expect(await visitor.page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
  })
})
