import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { CandidateSpec, CandidateStatus } from '../../../src/apis/cleanup-candidate.ts'
import { chromiumPath } from './chromium.ts'
import { Visitor } from './dashboard-page.ts'
import { dashboardObjects, startDashboardWorld, type DashboardWorld } from './dashboard-world.ts'

describe.skipIf(!chromiumPath)('the dashboard with incomplete data', () => {
  let world: DashboardWorld
  let visitor: Visitor

  beforeAll(async () => {
    world = await startDashboardWorld()
    for (const object of dashboardObjects()) await world.create(object)
    visitor = await Visitor.arrive(world)
  })
  beforeEach(() => void (visitor.complaints = []))
  afterAll(async () => {
    await visitor?.[Symbol.asyncDispose]()
    await world?.[Symbol.asyncDispose]()
  })

  it('says that it is not live while the server is unreachable, and shows the last known state', async () => {
    await visitor.asAdministrator()
    const { page } = visitor
    await page.evaluate(`globalThis.told = []; new MutationObserver(() => told.push(document.querySelector('.live').title))
      .observe(document.querySelector('.live'), { attributes: true, attributeFilter: ['title'] })`)
    await page.context().setOffline(true)
    const lost = page.getByRole('alert').getByText('This page shows the state of')
    await lost.waitFor()
    await page.getByRole('option', { name: /preview-142/ }).waitFor()
    await page.getByRole('link', { name: 'Dependencies' }).click()
    await page.getByLabel('Kind').fill('ConfigMap')
    await page.getByLabel('Namespace').fill('team')
    await page.getByLabel('Name', { exact: true }).fill('scratch')
    await page.getByRole('button', { name: 'Preview' }).click()
    await page.getByRole('region').getByText('The server cannot be reached.').waitFor()
    await page.context().setOffline(false)
    await lost.waitFor({ state: 'hidden' })
    expect(await page.evaluate('told')).toEqual(['The API cannot be reached; retrying', 'Watching the API'])
  })

  it('says that it is not live when the network swallows its requests without an error', async () => {
    await visitor.asAdministrator()
    await visitor.go('Overview')
    const { page } = visitor
    await page.getByRole('option', { name: /preview-142/ }).waitFor()
    const held = new Set<() => void>()
    await page.route(/\/apis?\//, () => new Promise<void>((resolve) => held.add(resolve)))
    const lost = page.getByRole('alert').getByText('This page shows the state of')
    await lost.waitFor({ timeout: 30_000 })
    await page.unroute(/\/apis?\//)
    for (const resolve of held) resolve()
    await lost.waitFor({ state: 'hidden', timeout: 30_000 })
  })

  it('says who could not be notified of a mark, and that a held mark is not deleted', async () => {
    const given = dashboardObjects().find(({ kind }) => kind === 'CleanupCandidate')!
    const spec = given.spec as CandidateSpec
    const status = given.status as CandidateStatus
    const at = new Date(Date.now() + 7_200_000).toISOString()
    const mark = (name: string, more: object, said: object) =>
      world.create({
        ...given,
        metadata: { name: `candidate-${name}` },
        spec: { ...spec, resource: { ...spec.resource, name, uid: `u-${name}` }, ...more },
        status: { ...status, ...said },
      })
    const refused = [{ channel: 'mail', at, error: '550 no such mailbox' }]
    await mark('untold', {}, { phase: 'Marked', notices: refused, nextAttemptTime: at })
    await mark('on-hold', { hold: true }, {})
    await visitor.asAdministrator()
    await visitor.go('Cleanup')
    const card = (name: string) => visitor.page.getByRole('article', { name: `ConfigMap ${name}` })
    await card('untold').getByText('shop-team@example.test could not be notified: 550 no such mailbox').waitFor()
    await card('untold')
      .getByText(/^its owner is notified in 1 h/)
      .waitFor()
    await card('on-hold').getByText('on hold', { exact: true }).waitFor()
    await card('old-report')
      .getByText(/^deleted in/)
      .waitFor()
  })

  it('tells a user without read permission that the view is incomplete', async () => {
    const metadata = { namespace: 'team', name: 'stranger' }
    await world.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata })
    const path = '/api/v1/namespaces/team/serviceaccounts/stranger/token'
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} }
    const answer = await world.client.request({ method: 'POST', path, body })
    const { status } = answer.body as { readonly status: { readonly token: string } }
    await visitor.open()
    const { page } = visitor
    await page.getByLabel('Token').fill(status.token)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText(/You may not list environments.*verb list on environments\.sojourn\.dev/).waitFor()
    await visitor.go('Overview')
    await page.getByText(/Incomplete: Cleaner, .* cannot be read\. You may not list cleaners/).waitFor()
    await visitor.go('Safety')
    await page
      .getByText(/The deletion safeguards cannot be read\. You may not list configmaps in sojourn-system/)
      .waitFor()
    expect(await page.getByRole('button', { name: 'Pause' }).count()).toBe(0)
  })
})
