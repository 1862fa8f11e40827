import { configMaps } from '../../../src/kube/core-types.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ignoring } from '../../../src/kube/status-error.ts'
import { chromiumPath } from './chromium.ts'
import { Visitor, viewNames } from './dashboard-page.ts'
import { dashboardObjects, startDashboardWorld, type DashboardWorld } from './dashboard-world.ts'

describe.skipIf(!chromiumPath)('the dashboard’s browser security', { timeout: 120_000 }, () => {
  let world: DashboardWorld
  let visitor: Visitor

  beforeAll(async () => {
    world = await startDashboardWorld()
    for (const object of dashboardObjects()) await world.create(object)
    visitor = await Visitor.arrive(world)
  })
  afterAll(async () => {
    await visitor?.[Symbol.asyncDispose]()
    await world?.[Symbol.asyncDispose]()
  })

  it('sends only reads while the user only looks', async () => {
    await visitor.open()
    const asked = new Set<string>()
    visitor.page.on('request', (request) => {
      if (request.method() !== 'GET') asked.add(`${request.method()} ${new URL(request.url()).pathname}`)
    })
    await visitor.signIn()
    for (const view of viewNames) await visitor.see(view)
    // Sign-in, reviews of what the user may do, and forecast: none changes anything.
    expect([...asked]).toEqual([
      'POST /auth/token',
      'POST /apis/authentication.k8s.io/v1/selfsubjectreviews',
      'POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
      'POST /sojourn/v1alpha1/forecast',
    ])
  })

  it.each([
    '/sojourn/v1alpha1/departures/team/x/restore',
    '/sojourn/v1alpha1/cascade-preview',
    '/sojourn/v1alpha1/forecast',
  ])('refuses GET of %s', async (path) => {
    const answer = await visitor.page.request.get(`${world.url}${path}`, { ignoreHTTPSErrors: true })
    expect([answer.status(), answer.headers()['allow']]).toEqual([405, 'POST'])
  })

  it('cannot be used by another site in the browser of a signed-in user', async () => {
    await visitor.open()
    await visitor.signIn()
    const other = await visitor.page.context().newPage()
    await other.route('https://other.test/', (route) => route.fulfill({ contentType: 'text/html', body: '<p>hello' }))
    await other.goto('https://other.test/')
    const manifest = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'sojourn-door' },
      data: { paused: 'true' },
    }
    const path = `${world.url}/api/v1/namespaces/sojourn-system/configmaps`
    const send = `fetch(${JSON.stringify(path)}, {
      method: 'POST', credentials: 'include', mode: MODE, body: ${JSON.stringify(JSON.stringify(manifest))},
    }).then((answer) => answer.type, (error) => error.name)`
    expect(await other.evaluate(send.replace('MODE', "'cors'"))).toBe('TypeError')
    await other.evaluate(send.replace('MODE', "'no-cors'"))
    const form = `(() => {
      const form = Object.assign(document.createElement('form'), { action: ${JSON.stringify(path)}, method: 'POST' })
      document.body.append(form)
      form.submit()
    })()`
    await Promise.all([other.waitForURL(`${world.url}/**`), other.evaluate(form)])
    expect(await other.locator('body').textContent()).toContain('Unauthorized')
    const place = { namespace: 'sojourn-system', name: 'sojourn-door' }
    expect(await world.client.get(configMaps, place).catch(ignoring('NotFound'))).toBeUndefined()
    expect(
      (await visitor.page.context().cookies()).map(({ httpOnly, secure, sameSite }) => [httpOnly, secure, sameSite]),
    ).toEqual([[true, true, 'Strict']])
    await other.close()
  })

  it('stays signed in when a link of another site carries the session or code of nobody', async () => {
    await visitor.open()
    await visitor.signIn()
    const { page } = visitor
    for (const hash of [
      '#session=AAAAAAAAAAAAAAAAAAAAAAAA',
      '#once=AAAAAAAAAAAAAAAAAAAAAAAA',
      '#object/%E0%A4%A/x/-/y',
    ]) {
      await page.goto('about:blank')
      await page.goto(`${world.url}/${hash}`)
      await page.locator('.me .user').getByText('system:admin').waitFor()
      expect(await page.getByLabel('Token').count()).toBe(0)
    }
    visitor.forgive('401')
    visitor.forgive('404')
  })

  it('runs no injected script', async () => {
    await visitor.open()
    const headers = { accept: 'text/html' }
    const answer = await visitor.page.request.get(world.url, { ignoreHTTPSErrors: true, headers })
    const policy = answer.headers()['content-security-policy'] ?? ''
    expect(policy).toContain("script-src 'self';")
    expect(policy).not.toContain('unsafe')
    const ran = await visitor.page.evaluate(`(async () => {
      const script = Object.assign(document.createElement('script'), { textContent: 'window.ran = true' })
      const refused = new Promise((resolve) => addEventListener('securitypolicyviolation', resolve, { once: true }))
      document.body.append(script)
      await refused
      return window.ran
    })()`)
    expect(ran).toBeUndefined()
    visitor.forgive('Content Security Policy')
  })

  it('serves its static files, but no data, without a token', async () => {
    // A client other than a browser gets the API's list of paths at "/".
    const get = (path: string, accept = '*/*') =>
      visitor.page.request.get(`${world.url}${path}`, { ignoreHTTPSErrors: true, headers: { accept } })
    expect((await get('/', 'text/html')).status()).toBe(200)
    for (const path of ['/api/v1/services', '/apis/sojourn.dev/v1alpha1/departures'])
      expect([path, [401, 403].includes((await get(path)).status())]).toEqual([path, true])
    const restore = `${world.url}/sojourn/v1alpha1/departures/team/x/restore`
    expect((await visitor.page.request.post(restore, { ignoreHTTPSErrors: true })).status()).toBe(401)
  })
})
