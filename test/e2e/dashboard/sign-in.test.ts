import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request as send } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { main } from '../../../src/cli/program.ts'
import { chromiumPath } from './chromium.ts'
import { Visitor } from './dashboard-page.ts'
import { dashboardObjects, startDashboardWorld, type DashboardWorld } from './dashboard-world.ts'

describe('sign-in of `sojourn up`', { timeout: 120_000 }, () => {
  let world: DashboardWorld

  beforeAll(async () => {
    world = await startDashboardWorld()
    for (const object of dashboardObjects()) await world.create(object)
  })
  afterAll(() => world?.[Symbol.asyncDispose]())

  const runDashboard = async (words: readonly string[], env: Record<string, string> = {}) => {
    let out = ''
    const code = await main(['dashboard', '--kubeconfig', world.kubeconfig, ...words], {
      out: (text) => void (out += text),
      err: (text) => void (out += text),
      env,
      now: () => Date.now(),
      isTerminal: false,
      isErrTerminal: false,
      colours: false,
      width: 120,
      height: 50,
      signal: new AbortController().signal,
    })
    return { code, out }
  }

  it('prints the link where no browser can be opened', async () => {
    for (const [words, env] of [
      [[], {}],
      [['--print'], { BROWSER: 'never-started' }],
      [[], { BROWSER: '/does/not/exist' }],
    ] as const) {
      const { code, out } = await runDashboard(words, env)
      expect([code, out.replace(/once=.*/, 'once=')]).toEqual([0, `${world.url}/#once=\n`])
    }
  })

  it('opens the link with the browser of the user, and prints it nowhere', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'browser-'))
    const browser = join(folder, 'browser')
    writeFileSync(browser, `#!/bin/sh\necho "$1" > ${folder}/opened\n`, { mode: 0o755 })
    expect(await runDashboard([], { BROWSER: browser })).toEqual({
      code: 0,
      out: 'opened the dashboard in the browser\n',
    })
    expect(readFileSync(join(folder, 'opened'), 'utf8')).toContain(`${world.url}/#once=`)
    rmSync(folder, { recursive: true })
  })

  it('makes links only for callers with a valid token, never for a session', async () => {
    const token = world.tokens.get('sojourn:viewer') ?? ''
    const { cookie, secret } = await signIn(token)
    const session = { cookie, 'x-sojourn-session': secret, 'sec-fetch-site': 'same-origin' }
    expect((await call('/auth/link', {})).status).toBe(401)
    expect((await call('/auth/link', { authorization: 'Bearer wrong' })).status).toBe(401)
    expect((await call('/auth/link', session)).status).toBe(401)
    expect((await call('/auth/link', { authorization: `Bearer ${token}` })).status).toBe(200)
  })

  it('gives a session the rights of its token and no more', async () => {
    const { cookie, secret } = await signIn(world.tokens.get('sojourn:viewer') ?? '')
    const headers = { cookie, 'x-sojourn-session': secret, 'sec-fetch-site': 'same-origin' }
    const path = '/api/v1/namespaces/team/configmaps'
    expect((await call(path, headers, { method: 'GET' })).status).toBe(200)
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'by-viewer' } }
    expect((await call(path, headers, { body })).status).toBe(403)
  })

  it('lets no session in without its secret or from another origin', async () => {
    const { cookie, secret } = await signIn(world.tokens.get('system:admin') ?? '')
    const path = '/api/v1/namespaces/team/configmaps'
    const own = { cookie, 'x-sojourn-session': secret, 'sec-fetch-site': 'same-origin' }
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'by-cookie' } }
    expect((await call(path, { cookie }, { method: 'GET' })).status).toBe(401)
    expect((await call(path, { ...own, 'x-sojourn-session': '' }, { body })).status).toBe(401)
    expect((await call(path, { ...own, 'sec-fetch-site': 'same-site' }, { body })).status).toBe(401)
    expect((await call(path, own, { body })).status).toBe(201)
  })

  it('refuses sign-in that another site sends', async () => {
    const token = world.tokens.get('system:admin') ?? ''
    for (const headers of [{}, { 'sec-fetch-site': 'cross-site' }, { origin: 'https://other.test' }])
      expect((await call('/auth/token', headers, { body: { token } })).status).toBe(403)
  })

  async function signIn(token: string): Promise<{ cookie: string; secret: string }> {
    const { cookies, body } = await call('/auth/token', { 'sec-fetch-site': 'same-origin' }, { body: { token } })
    const cookie = cookies
      .map((each) => each.split(';')[0] ?? '')
      .filter((each) => !each.endsWith('='))
      .join('; ')
    return { cookie, secret: (JSON.parse(body) as { secret: string }).secret }
  }

  function call(
    path: string,
    headers: Record<string, string>,
    { method = 'POST', body }: { readonly method?: string; readonly body?: unknown } = {},
  ): Promise<{ status: number; cookies: readonly string[]; body: string }> {
    return new Promise((resolve, reject) => {
      const type = { 'content-type': 'application/json' }
      const options = { method, headers: { ...type, ...headers }, rejectUnauthorized: false }
      const sent = send(`${world.url}${path}`, options, (answer) => {
        let text = ''
        answer.setEncoding('utf8').on('data', (part: string) => void (text += part))
        answer.on('end', () =>
          resolve({ status: answer.statusCode ?? 0, cookies: answer.headers['set-cookie'] ?? [], body: text }),
        )
      })
      sent.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body))
    })
  }

  describe.skipIf(!chromiumPath)('in Chromium', () => {
    let visitor: Visitor
    beforeAll(async () => void (visitor = await Visitor.arrive(world)))
    beforeEach(() => void (visitor.complaints = []))
    afterEach(() => expect(visitor.complaints).toEqual([]))
    afterAll(() => visitor?.[Symbol.asyncDispose]())

    it('signs in by a link, once', async () => {
      await visitor.open()
      const { page } = visitor
      const link = world.link()
      await page.goto('about:blank')
      await page.goto(link)
      await page.getByText('system:admin').waitFor()
      expect(page.url()).not.toContain('once')
      // A reload and a new tab are signed in; scripts see neither the cookie nor a token.
      await page.reload()
      await page.getByText('system:admin').waitFor()
      expect(await page.evaluate('document.cookie')).toBe('')
      await visitor.open()
      await visitor.page.goto('about:blank')
      await visitor.page.goto(link)
      await visitor.page.getByText('This link was used or has expired.').waitFor()
      expect(await visitor.page.context().cookies()).toEqual([])
      visitor.forgive('401')
    })

    it('shows nothing of one user in a tab that became another user’s', async () => {
      await visitor.open()
      await visitor.signIn()
      const { page } = visitor
      const link = await call('/auth/link', { authorization: `Bearer ${world.tokens.get('sojourn:viewer')}` })
      const second = await page.context().newPage()
      await second.goto(`${world.url}${(JSON.parse(link.body) as { path: string }).path}`)
      await second.getByText('sojourn:viewer').waitFor()
      await page.getByText('sojourn:viewer').waitFor()
      expect(await page.getByText('system:admin').count()).toBe(0)
      visitor.complaints = []
    })

    it('signs out in all tabs', async () => {
      await visitor.open()
      await visitor.signIn()
      const second = await visitor.page.context().newPage()
      await second.goto(world.url)
      await second.getByText('system:admin').waitFor()
      await visitor.page.getByRole('button', { name: 'Sign out' }).click()
      await visitor.page.getByLabel('Token').waitFor()
      await second.getByText('You signed out in another tab.').waitFor()
      await expect.poll(() => visitor.page.context().cookies()).toEqual([])
    })
  })
})
