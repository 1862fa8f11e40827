import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { deployments } from '../../../src/kube/core-types.ts'
import { bond, type Bond } from '../../../src/apis/bond.ts'
import type { KubeObject } from '../../../src/kube/object.ts'
import { chromiumPath } from './chromium.ts'
import { Visitor } from './dashboard-page.ts'
import { createFamily, dashboardObjects, startDashboardWorld, type DashboardWorld } from './dashboard-world.ts'

if (!chromiumPath)
  console.warn('SKIPPED: the dashboard was NOT tested, for there is no Chromium here: apt-get install -y chromium')

describe.skipIf(!chromiumPath)('the dashboard in Chromium', { timeout: 120_000 }, () => {
  let world: DashboardWorld
  let visitor: Visitor

  beforeAll(async () => {
    world = await startDashboardWorld({ only: 'api,cleaner,collector,promoter,activator' })
    for (const object of dashboardObjects()) await world.create(object)
    await createFamily(world)
    visitor = await Visitor.arrive(world)
  })
  beforeEach(() => void (visitor.complaints = []))
  afterEach(() => expect(visitor.complaints).toEqual([]))
  afterAll(async () => {
    await visitor?.[Symbol.asyncDispose]()
    await world?.[Symbol.asyncDispose]()
  })

  it('refuses an unknown token and does not store it', async () => {
    await visitor.open()
    const { page } = visitor
    await page.getByLabel('Token').fill('wrong')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('The cluster does not accept this token.').waitFor()
    expect(await page.evaluate('localStorage.length + sessionStorage.length')).toBe(0)
    expect(await page.context().cookies()).toEqual([])
    visitor.forgive('401')
  })

  it('lists a Cleaner and opens its details with Enter', async () => {
    const page = await at('Overview')
    await page.getByRole('option', { name: /preview-142 Cleaner.*Not expired.*expires in 2 h/ }).waitFor()
    await page.getByLabel('Filter managed objects').fill('preview')
    await page.getByRole('listbox', { name: 'Managed objects' }).focus()
    await page.keyboard.press('Home')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'preview-142' }).getByText('Managed by').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  })

  it('shows changes without a reload', async () => {
    const page = await at('Overview')
    await page.getByLabel('Filter managed objects').fill('')
    const given = dashboardObjects().find(({ kind }) => kind === 'Cleaner')!
    await world.create({ ...given, metadata: { name: 'late-comer', namespace: 'team' } })
    await page.getByRole('option', { name: /late-comer/ }).waitFor()
  })

  it('shows names and messages of the API as text, never as HTML', async () => {
    const page = await at('Cleanup')
    await page.getByText('onerror=alert').waitFor()
  })

  it('turns no text around that comes behind a direction mark of the API', async () => {
    const page = await at('Cleanup')
    const given = dashboardObjects().find(({ kind }) => kind === 'CleanupCandidate')! as KubeObject & { status: object }
    const status = { ...given.status, owner: { address: 'a\u202egro.live@b', source: 'annotation' } }
    await world.create({ ...given, metadata: { name: 'candidate-turned' }, status })
    await page.getByRole('article').getByText('a\ufffdgro.live@b', { exact: true }).waitFor()
  })

  it('shows the last day of each on-demand service', async () => {
    const annotations = { 'sojourn.dev/last-day': `${Math.floor(Date.now() / 1_800_000) - 1}:0/0/1800` }
    await world.client.merge(deployments, { namespace: 'team', name: 'shop' }, { metadata: { annotations } })
    const page = await at('Services')
    const card = page.getByRole('article', { name: 'Service shop' })
    await card.getByText('Awake', { exact: true }).waitFor()
    await card.getByRole('img', { name: /^0 requests and 0 cold starts in the last day, awake for/ }).waitFor()
  })

  it('draws the days of a forecast, and lists the events of the selected day', async () => {
    const page = await at('Forecast')
    await page.getByText(/× deleted.*objects/).waitFor()
    const list = page.getByRole('listbox', { name: 'Forecast events' })
    await list.getByRole('option', { name: /preview-142 Cleaner.*deleted/ }).waitFor()
    const days = page.getByRole('slider', { name: 'Day' })
    await days.focus()
    await page.keyboard.press('End')
    expect(await days.getAttribute('aria-valuetext')).toMatch(/: 0 events$/)
    await page.getByText('Nothing happens on this day.').waitFor()
    await page.keyboard.press('Escape')
    expect(await days.getAttribute('aria-valuetext')).toBe('all days')
    await list.getByRole('option', { name: /preview-142/ }).waitFor()
  })

  it('saves a forecast as a calendar', async () => {
    const page = await at('Forecast')
    const download = page.waitForEvent('download', { timeout: 60_000 })
    await page.getByRole('button', { name: 'Save as calendar' }).click()
    const chunks: Buffer[] = []
    for await (const chunk of await (await download).createReadStream()) chunks.push(chunk as Buffer)
    expect(Buffer.concat(chunks).toString()).toMatch(/^BEGIN:VCALENDAR[^]*preview-142[^]*END:VCALENDAR/)
  })

  it('draws what would be deleted with an object and what would be kept, and says why', async () => {
    const page = await at('Dependencies')
    await page.getByLabel('Kind').fill('configmaps')
    await page.getByLabel('Namespace').fill('team')
    await page.getByLabel('Name', { exact: true }).fill('family')
    await page.getByRole('button', { name: 'Preview' }).click()
    await page.getByText('25 objects are deleted, 2 related objects are kept.').waitFor()
    const node = (name: RegExp) => page.getByRole('button', { name })
    await node(/web-kept: kept, protected/).waitFor()
    await node(/and 10 more: deleted/).waitFor()
    await node(/web-shared: kept, has another owner/).press('Enter')
    await page.getByRole('article', { name: 'ConfigMap web-shared' }).getByText('another owner is kept').waitFor()
    await page.getByLabel('Propagation policy').selectOption('Orphan')
    await page.getByText('1 object is deleted, 3 related objects are kept.').waitFor()
  })

  it.each(['ConfigMap', 'configmap', 'cm'])('accepts every name that kubectl accepts for a kind: %s', async (word) => {
    const page = await at('Dependencies')
    await page.getByLabel('Kind').fill(word)
    await page.getByLabel('Namespace').fill('team')
    await page.getByLabel('Name', { exact: true }).fill('family')
    await page.getByRole('button', { name: 'Preview' }).click()
    await page.getByText('25 objects are deleted, 2 related objects are kept.').waitFor()
  })

  it('says at once why the object itself would be kept', async () => {
    for (const name of ['denied', 'denier'])
      await world.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'team', name } })
    const reference = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', name })
    await world.create({
      apiVersion: 'sojourn.dev/v1alpha1',
      kind: 'Bond',
      metadata: { namespace: 'team', name: 'no' },
      spec: { dependent: reference('denier'), dependency: reference('denied'), onDelete: 'Deny' },
    })
    const phase = async () => (await world.client.get<Bond>(bond.type, { namespace: 'team', name: 'no' })).status?.phase
    await expect.poll(phase, { timeout: 15_000 }).toBe('Active')
    const page = await at('Dependencies')
    await page.getByLabel('Kind').fill('ConfigMap')
    await page.getByLabel('Namespace').fill('team')
    await page.getByLabel('Name', { exact: true }).fill('denied')
    await page.getByRole('button', { name: 'Preview' }).click()
    await page.getByText('denied kept, deletion is refused. Nothing is deleted.').waitFor()
    await page.getByRole('article', { name: 'ConfigMap denied' }).getByText('team/no').waitFor()
  })

  it('says what is missing when an object cannot be found', async () => {
    const page = await at('Dependencies')
    await page.getByLabel('Kind').fill('butlers')
    await page.getByLabel('Name', { exact: true }).fill('x')
    await page.getByRole('button', { name: 'Preview' }).click()
    await page.getByText('There is no kind “butlers”').waitFor()
  })

  it('renders only the visible rows of ten thousand', async () => {
    await visitor.open()
    const { page } = visitor
    const mark = dashboardObjects().find(({ kind }) => kind === 'CleanupCandidate')!
    const items = Array.from({ length: 10_000 }, (_, index) => {
      const name = `mark-${index}`
      const { resource } = mark.spec as { resource: object }
      return { ...mark, metadata: { name }, spec: { policy: 'p', resource: { ...resource, name, uid: name } } }
    })
    const contentType = 'application/json'
    const body = JSON.stringify({ items, metadata: { resourceVersion: '1' } })
    await page.route(/cleanupcandidates\?limit/, (route) => route.fulfill({ contentType, body }))
    await page.route(/cleanupcandidates\?watch/, (route) => route.fulfill({ contentType, body: '' }))
    await visitor.signIn()
    await page.getByText(/10,00\d managed/).waitFor()
    const list = page.getByRole('listbox', { name: 'Managed objects' })
    await list.focus()
    await page.keyboard.press('End')
    await list.getByRole('option', { selected: true }).waitFor()
    expect(await list.getByRole('option').count()).toBeLessThan(60)
    await visitor.go('Cleanup')
    await page.getByRole('article', { name: 'ConfigMap mark-0' }).waitFor()
    expect(await page.getByRole('article').count()).toBeLessThan(40)
    await page.evaluate("document.getElementById('main').scrollTo(0, 1e9)")
    await page.getByRole('article', { name: 'ConfigMap mark-9999' }).waitFor()
    expect(await page.getByRole('article').count()).toBeLessThan(40)
  })

  async function at(view: string) {
    await visitor.asAdministrator()
    await visitor.see(view)
    return visitor.page
  }
})
