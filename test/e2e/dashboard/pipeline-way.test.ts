import { expect, it } from 'vitest'
import { startDashboardWorld } from './dashboard-world.ts'
import { approval } from '../../../src/apis/approval.ts'
import { chromiumPath, launchChromium } from './chromium.ts'
import type { KubeObject, StoredObject } from '../../../src/kube/object.ts'

const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString().replace(/\.\d+Z$/, 'Z')
const a = 'a1b2c3d4e5f60718293a4b5c6d7e8f9001122334'
const b = '9f8e7d6c5b4a39281706f5e4d3c2b1a099887766'
it.skipIf(!chromiumPath)(
  'shows the way of a revision, its history, and promotes one in the name of the user',
  { timeout: 120_000 },
  async () => {
    await using world = await startDashboardWorld({ only: 'api' })
    await world.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } })
    const promotion = (phase: string, revision: string, over = {}) => ({
      id: '0123456789abcdef',
      runSequence: 4,
      revision,
      strategyHash: 'x',
      phase,
      because: 'PullRequestOpen',
      phaseAt: ago(12),
      attempt: 0,
      ...over,
    })
    const target = (namespace: string) => ({
      namespace,
      kind: 'Kustomization',
      name: 'shop',
      ready: true,
      reason: 'Found',
    })
    await world.create({
      apiVersion: 'pipelines.weave.works/v1alpha1',
      kind: 'Pipeline',
      metadata: { name: 'shop', namespace: 'team' },
      spec: {
        appRef: { apiVersion: 'kustomize.toolkit.fluxcd.io/v1', kind: 'Kustomization', name: 'shop' },
        environments: [
          { name: 'dev', targets: [{ namespace: 'dev' }] },
          { name: 'staging', targets: [{ namespace: 'staging' }] },
          { name: 'load', dependsOn: ['dev'], targets: [{ namespace: 'load' }] },
          { name: 'soak', dependsOn: ['load'], targets: [{ namespace: 'soak' }] },
          { name: 'prod', dependsOn: ['staging', 'soak'], targets: [{ namespace: 'prod' }] },
        ],
        promotion: {
          strategy: {
            'pull-request': {
              type: 'gitea',
              url: 'https://git.test/acme/deploy',
              baseBranch: 'main',
              secretRef: { name: 'git' },
            },
          },
        },
      },
      status: {
        observedGeneration: 1,
        latestRevision: `main@sha1:${a}`,
        run: {
          sequence: 4,
          revision: `main@sha1:${a}`,
          phase: 'Running',
          direction: 'Forward',
          startedAt: ago(50),
          restarts: 0,
        },
        revisions: [
          { revision: `main@sha1:${a}`, seenAt: ago(55) },
          { revision: `main@sha1:${b}`, seenAt: ago(3000) },
        ],
        conditions: [
          {
            type: 'Ready',
            status: 'True',
            reason: 'ReconciliationSucceeded',
            message: 'run 4 of main@sha1:a1b2c3d is Running: prod Proposed',
            lastTransitionTime: ago(50),
          },
        ],
        requests: [
          {
            uid: '1',
            decision: 'Rollback',
            environment: 'prod',
            by: 'dora',
            at: ago(5),
            result: 'NothingToRollBackTo',
            comment: 'checkout fails',
          },
        ],
        environments: {
          dev: { targets: [target('dev')], readyOn: { revision: `main@sha1:${a}`, since: ago(55) } },
          staging: {
            targets: [target('staging')],
            readyOn: { revision: `main@sha1:${a}`, since: ago(30) },
            promotion: promotion('Succeeded', `main@sha1:${a}`, {
              leadSeconds: 1500,
              approvedBy: ['ann'],
              phaseAt: ago(30),
              pullRequest: { number: 17, url: 'https://git.test/acme/deploy/pulls/17', state: 'merged' },
            }),
          },
          load: {
            targets: [target('load')],
            readyOn: { revision: `main@sha1:${a}`, since: ago(20) },
            promotion: promotion('Succeeded', `main@sha1:${a}`, { leadSeconds: 2100, phaseAt: ago(20) }),
          },
          soak: {
            targets: [target('soak')],
            readyOn: { revision: `main@sha1:${b}`, since: ago(2800) },
            promotion: promotion('Failed', `main@sha1:${a}`, {
              because: 'MarkerNotFound',
              lastError: {
                class: 'Permanent',
                reason: 'MarkerNotFound',
                message: 'no file has the marker team:shop:soak',
              },
            }),
          },
          prod: {
            targets: [target('prod')],
            readyOn: { revision: `main@sha1:${b}`, since: ago(2800) },
            promotion: promotion('Proposed', `main@sha1:${a}`, {
              pullRequest: {
                number: 18,
                url: 'https://git.test/acme/deploy/pulls/18',
                state: 'open',
                checks: '3 of 4 checks passed, failed: scan',
              },
            }),
            gates: [{ name: 'window', state: 'Open', reason: 'WindowOpen' }],
            history: [
              {
                id: '1',
                revision: `main@sha1:${b}`,
                phase: 'Succeeded',
                because: 'Arrived',
                endedAt: ago(2800),
                approvedBy: ['ann', 'bob'],
                leadSeconds: 12000,
                pullRequest: 'https://git.test/acme/deploy/pulls/11',
              },
              {
                id: '0',
                revision: '1.0.0',
                phase: 'Rejected',
                because: 'PromotionRejected',
                endedAt: ago(4000),
                requestedBy: 'cy',
                pullRequest: 'https://git.test/acme/deploy/pulls/9',
              },
            ],
          },
        },
      },
    } as unknown as KubeObject)
    const browser = await launchChromium()
    const page = await (
      await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1300, height: 1100 } })
    ).newPage()
    const complaints: string[] = []
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
    page.on('pageerror', (error) => complaints.push(error.message))
    await page.goto(world.url)
    await page.getByLabel('Token').fill(world.tokens.get('system:admin') ?? '')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('link', { name: /Pipelines/ }).click()
    await page.locator('.graph .box').nth(4).waitFor()
    expect(await page.locator('.graph .box .name').allTextContents()).toEqual(
      expect.arrayContaining(['dev', 'staging', 'load', 'soak', 'prod']),
    )
    expect(await page.locator('.graph .edge').count()).toBe(5)
    const right = async (name: string) => (await page.locator('.graph .box', { hasText: name }).boundingBox())!.x
    expect(await right('prod')).toBeGreaterThan(await right('soak'))
    await page.getByText('History (4)').click()
    const [newest] = await page.locator('.history tbody tr').allTextContents()
    expect(newest).toContain('load')
    expect(await page.locator('.history tbody').first().textContent()).toContain('ann, bob')
    await page.getByText('Requests (1)').click()
    const asked = await page.getByRole('row', { name: /dora/ }).textContent()
    expect(asked).toContain('NothingToRollBackTo')
    expect(asked).toContain('checkout fails')
    await page.getByText('Revisions (2)').click()
    await page
      .getByRole('button', { name: /Promote to staging/ })
      .first()
      .click()
    await page.getByRole('button', { name: 'Promote', exact: true }).click()
    await page.getByText('of shop requested').waitFor()
    // Only the environment that failed can be retried by itself; the pipeline's own button retries all.
    const retries = page.locator('.environment').getByRole('button', { name: /^Retry/ })
    expect(await retries.evaluateAll((all) => all.map((each) => each.getAttribute('aria-label')))).toEqual([
      'Retry soak',
    ])
    if (process.env['SOJOURN_PICTURE']) await page.screenshot({ path: process.env['SOJOURN_PICTURE'] })
    await retries.click()
    await page.getByRole('button', { name: 'Retry', exact: true }).last().click()
    await page.getByText('Retry of shop requested').waitFor()
    const { items } = await world.client.list<KubeObject>(approval.type, { namespace: 'team' })
    // What the promoter, which does not run here, answers when it refuses.
    const refuse = async () => {
      const list = await world.client.list<StoredObject>(approval.type, { namespace: 'team' })
      const open = list.items.find(({ spec }) => (spec as { decision: string }).decision === 'Suspend')
      if (!open) return setTimeout(() => void refuse(), 100)
      const status = { state: 'Ignored', reason: 'NotAnApprover', message: 'the approver is not in the list' }
      await world.client.update(approval.type, { ...open, status } as StoredObject, { subresource: 'status' })
      return undefined
    }
    await page
      .getByRole('button', { name: /^Suspend/ })
      .first()
      .click()
    await page.getByRole('button', { name: 'Suspend', exact: true }).last().click()
    await refuse()
    await page.getByText('Suspend was refused: the approver is not in the list').waitFor()
    expect(items.map(({ spec }) => spec)).toEqual([
      {
        pipeline: 'shop',
        environment: 'staging',
        decision: 'Promote',
        approver: 'system:admin',
        revision: `main@sha1:${a}`,
      },
      { pipeline: 'shop', environment: 'soak', decision: 'Retry', approver: 'system:admin' },
    ])
    expect(complaints).toEqual([])
    const visitor = await (await browser.newContext({ ignoreHTTPSErrors: true })).newPage()
    await visitor.goto(world.url)
    await visitor.getByLabel('Token').fill(world.tokens.get('sojourn:viewer') ?? '')
    await visitor.getByRole('button', { name: 'Sign in' }).click()
    await visitor.getByRole('link', { name: /Pipelines/ }).click()
    const denied = visitor.getByRole('button', { name: 'Retry soak' })
    await expect.poll(() => denied.getAttribute('title')).toContain('You may not create approvals in team')
    expect(await denied.getAttribute('aria-disabled')).toBe('true')
    await browser.close()
  },
)
