import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { whyUnavailable } from '../../../scripts/reference-cluster/tools.ts'
import { attempt } from '../../kubernetes/kubectl.ts'
import { chromiumPath, launchChromium } from './chromium.ts'
import { startOidcWorld, users } from './oidc-world.ts'

const missing =
  (await whyUnavailable('etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl')) ||
  (chromiumPath ? '' : 'Chromium is not installed')
if (missing) console.warn(`SKIPPED: sign-in by OpenID Connect: ${missing}`)

/** What the pages list, with the resource as kubectl names it. */
const lists: readonly (readonly [string, string])[] = [
  ['/apis/sojourn.dev/v1alpha1/*environments', 'environments.sojourn.dev'],
  ['/apis/sojourn.dev/v1alpha1/*cleaners', 'cleaners.sojourn.dev'],
  ['/apis/sojourn.dev/v1alpha1/*bonds', 'bonds.sojourn.dev'],
  ['/apis/sojourn.dev/v1alpha1/*departures', 'departures.sojourn.dev'],
  ['/apis/pipelines.weave.works/v1alpha1/*pipelines', 'pipelines.pipelines.weave.works'],
  ['/api/v1/*services', 'services'],
  ['/api/v1/*configmaps', 'configmaps'],
  ['/apis/apps/v1/*deployments', 'deployments.apps'],
]

describe.skipIf(missing)('sign-in by OpenID Connect', { timeout: 180_000 }, () => {
  let world: Awaited<ReturnType<typeof startOidcWorld>>
  let browser: Browser

  beforeAll(async () => {
    world = await startOidcWorld()
    browser = await launchChromium()
  }, 180_000)
  afterAll(async () => {
    await browser?.close()
    await world?.[Symbol.asyncDispose]()
  })

  const signIn = async (url: string, user: string, place = ''): Promise<Page> => {
    const context = await browser.newContext({ ignoreHTTPSErrors: true })
    context.setDefaultTimeout(20_000)
    const page = await context.newPage()
    await page.goto(`${url}/${place}`)
    await page.getByRole('link', { name: /^Sign in with/ }).click()
    await page.locator('[name=login]').fill(user)
    await page.locator('[name=password]').fill('any')
    await page.getByRole('button', { name: 'Sign-in' }).click()
    await page.getByRole('button', { name: 'Continue' }).click()
    return page
  }

  /** Sends a request as the page does. */
  const call = (page: Page, path: string, init: { method?: string; body?: unknown; type?: string } = {}) =>
    page.evaluate(
      async ([to, { method = 'GET', body, type = 'application/json' }]) => {
        const headers = {
          'x-sojourn-session': localStorage.getItem('sojourn-session') ?? '',
          ...(body ? { 'content-type': type } : {}),
        }
        const sent = body ? { body: JSON.stringify(body) } : {}
        const answer = await fetch(to, { method, headers, ...sent })
        return { status: answer.status, text: await answer.text() }
      },
      [path, init] as const,
    )

  /** What kubectl says of the same user. */
  const canI = async (user: string, verb: string, resource: string, namespace?: string) => {
    const as = ['--as', user, ...(users[user] ?? []).flatMap((group) => ['--as-group', group])]
    const where = namespace === undefined ? ['-A'] : ['-n', namespace]
    const said = await attempt('kubectl', ['auth', 'can-i', verb, resource, ...where, ...as], world)
    return said.stdout.trim() === 'yes'
  }

  const modes: readonly (readonly [string, Record<string, boolean>])[] = [
    ['passing the ID token on', {}],
    ['impersonating', { impersonate: true }],
  ]
  describe.each(modes)('%s', (_, flags) => {
    let dashboard: Awaited<ReturnType<typeof world.start>>
    const pages = new Map<string, Page>()

    beforeAll(async () => {
      dashboard = await world.start(flags)
      for (const user of ['ada@example.org', 'bob@example.org'])
        pages.set(user, await signIn(dashboard.publicUrl, user, '#environments'))
    }, 120_000)
    afterAll(async () => {
      for (const page of pages.values()) await page.context().close()
      await dashboard?.stop()
    })
    const pageOf = (user: string) => pages.get(user) ?? expect.fail(`${user} did not sign in`)

    it('shows each user the environments of their own namespace, and no other', async () => {
      for (const [user, own, other] of [
        ['ada@example.org', 'a', 'b'],
        ['bob@example.org', 'b', 'a'],
      ] as const) {
        const page = pageOf(user)
        await page.getByRole('article', { name: `Environment ${own}` }).waitFor()
        expect(await page.getByRole('article', { name: `Environment ${other}` }).count()).toBe(0)
        expect(await page.locator('.me .user').textContent()).toBe(user)
        expect(page.url()).toBe(`${dashboard.publicUrl}/#environments`)
      }
    })

    it.each(['ada@example.org', 'bob@example.org'])(
      'lists for %s what kubectl would list, and nothing else',
      async (user) => {
        const page = pageOf(user)
        for (const [path, resource] of lists)
          for (const namespace of [undefined, 'a', 'b', 'sojourn-system']) {
            const { status } = await call(page, path.replace('*', namespace ? `namespaces/${namespace}/` : ''))
            const expected = (await canI(user, 'list', resource, namespace)) ? 200 : 403
            expect([resource, namespace, status]).toEqual([resource, namespace, expected])
          }
        const secrets = await call(page, '/api/v1/namespaces/a/secrets')
        expect([secrets.status, secrets.text]).toEqual([403, '{"message":"The dashboard does not pass this on."}'])
      },
    )

    it.each(['ada@example.org', 'bob@example.org'])(
      'does for %s what kubectl would do, and nothing else',
      async (user) => {
        const page = pageOf(user)
        for (const namespace of ['a', 'b']) {
          const { status } = await call(
            page,
            `/act/apis/sojourn.dev/v1alpha1/namespaces/${namespace}/environments/environment`,
            {
              method: 'PATCH',
              type: 'application/merge-patch+json',
              body: { spec: { keepUntil: '2030-01-01T00:00:00Z' } },
            },
          )
          const expected = (await canI(user, 'patch', 'environments.sojourn.dev', namespace)) ? 200 : 403
          expect([namespace, status]).toEqual([namespace, expected])
        }
        const removed = await call(page, '/act/api/v1/namespaces/b', {
          method: 'DELETE',
          body: { kind: 'DeleteOptions', apiVersion: 'v1' },
        })
        expect([removed.status, await canI(user, 'delete', 'namespaces/b')]).toEqual([403, false])
        const paused = await call(page, '/act/api/v1/namespaces/sojourn-system/configmaps', {
          method: 'POST',
          body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'sojourn-door' }, data: { paused: 'true' } },
        })
        expect(paused.status).toBe(403)
      },
    )

    it('leaves an Event with the name of the user', async () => {
      await vi.waitFor(async () => {
        const events = await world.kubectl(['get', 'events', '-n', 'a', '-o', 'jsonpath={.items[*].message}'])
        expect(events).toContain('ada@example.org changed it on the dashboard: spec.keepUntil=2030-01-01T00:00:00Z')
      }, 20_000)
    })

    it('offers what the user may do, and says why the rest is not offered', async () => {
      const [ada, bob] = [pageOf('ada@example.org'), pageOf('bob@example.org')]
      await ada.getByRole('button', { name: 'Sleep a' }).and(ada.locator(':enabled')).waitFor()
      const denied = bob.getByRole('button', { name: 'Sleep b' })
      await denied.waitFor()
      expect(await denied.getAttribute('aria-disabled')).toBe('true')
      expect(await denied.getAttribute('title')).toContain('You may not patch environments in b')
      await ada.getByRole('button', { name: 'Sleep a' }).click()
      await ada.getByRole('dialog').getByRole('button', { name: 'Sleep', exact: true }).click()
      await ada.getByText('a goes to sleep').waitFor()
      const power = await world.kubectl([
        'get',
        'environment',
        'environment',
        '-n',
        'a',
        '-o',
        'jsonpath={.spec.power}',
      ])
      expect(power).toBe('Asleep')
    })

    it('previews a deletion from what the user may read, and of no other namespace', async () => {
      const [ada, bob] = [pageOf('ada@example.org'), pageOf('bob@example.org')]
      const preview = async (page: Page, namespace: string, kind = 'ConfigMap', name = 'root') => {
        const object = { apiVersion: 'v1', kind, namespace, name }
        const { status, text } = await call(page, '/sojourn/v1alpha1/cascade-preview', {
          method: 'POST',
          body: { object },
        })
        const { nodes = [] } = JSON.parse(text) as { nodes?: { ref: { name: string } }[] }
        return { status, names: nodes.map(({ ref }) => ref.name) }
      }
      for (const namespace of ['a', 'b']) {
        const place = ['-n', namespace]
        if ((await attempt('kubectl', ['get', 'configmap', 'root', ...place], world)).code === 0) continue
        await world.kubectl(['create', 'configmap', 'root', ...place])
        const uid = await world.kubectl(['get', 'configmap', 'root', ...place, '-o', 'jsonpath={.metadata.uid}'])
        const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'root', uid }]
        const metadata = { name: 'leaf', namespace, ownerReferences }
        await world.kubectl(['create', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata }))
      }
      expect(await preview(ada, 'a')).toEqual({ status: 200, names: ['root', 'leaf'] })
      expect(await preview(bob, 'b')).toEqual({ status: 200, names: ['root', 'leaf'] })
      expect(await preview(ada, 'b')).toEqual({ status: 403, names: [] })
      expect(await preview(bob, 'a', 'ConfigMap', 'none')).toEqual({ status: 403, names: [] })
    })

    it('draws the last day of the Services that the user may read', async () => {
      const page = pageOf('bob@example.org')
      await page.goto(`${dashboard.publicUrl}/#services`)
      const card = page.getByRole('article', { name: 'Service shop' })
      await card.getByRole('img', { name: /^40 requests and 2 cold starts in the last day/ }).waitFor()
      expect(await card.count()).toBe(1)
      await page.goto(`${dashboard.publicUrl}/#environments`)
    })

    it('refuses changes without the session’s secret, and from other sites', async () => {
      const page = pageOf('ada@example.org')
      const without = await page.evaluate(async () => {
        const headers = { 'content-type': 'application/merge-patch+json' }
        const path = '/act/apis/sojourn.dev/v1alpha1/namespaces/a/environments/environment'
        return (await fetch(path, { method: 'PATCH', headers, body: '{"spec":{}}' })).status
      })
      expect(without).toBe(401)
    })

    it('signs out here and at the provider', async () => {
      const page = await signIn(dashboard.publicUrl, 'bob@example.org')
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByRole('button', { name: 'Yes, sign me out' }).click()
      await page.getByRole('link', { name: /^Sign in with/ }).waitFor()
      expect((await call(page, '/api/v1/namespaces/b/services')).status).toBe(401)
      await page.context().close()
    })
  })

  it('never impersonates a group that Kubernetes reserves', async () => {
    const dashboard = await world.start({ impersonate: true })
    const page = await signIn(dashboard.publicUrl, 'mallory@example.org')
    await page.getByText('"system:masters" is a name that Kubernetes reserves').waitFor()
    await page.goto(dashboard.publicUrl)
    expect((await call(page, '/api/v1/namespaces/a/services')).status).toBe(401)
    await page.context().close()
    await dashboard.stop()
  })
})
