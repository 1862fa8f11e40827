import { createHmac } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import type { EnvironmentSpec, PipelineSpec } from '../../src/apis/pipeline.ts'
import type { RouteResponse } from '../../src/systems/promoter/http/routes.ts'
import { addLeaf, phase, useClusters, withRepository } from './clusters.ts'
import { manifest } from './stage.ts'

const on = useClusters()
const key = 'key-that-every-target-cluster-has'

/** One namespace for the application, whatever the cluster: what makes a message of one environment fit another. */
const environments: EnvironmentSpec[] = [
  { name: 'dev', targets: [{ namespace: 'apps' }] },
  { name: 'staging', targets: [{ namespace: 'apps', clusterRef: { kind: 'GitopsCluster', name: 'leaf' } }] },
  { name: 'prod', targets: [{ namespace: 'prod' }] },
]

let opened: Awaited<ReturnType<typeof withRepository>>
let message: { readonly body: Buffer; readonly headers: Record<string, string> }

/** What a Provider in a leaf cluster sends when an application got a revision there. */
function told(revision: string): typeof message {
  const involvedObject = {
    apiVersion: 'helm.toolkit.fluxcd.io/v2',
    kind: 'HelmRelease',
    name: 'app',
    namespace: 'apps',
  }
  const body = Buffer.from(JSON.stringify({ involvedObject, metadata: { revision } }))
  return { body, headers: { 'x-signature': `sha256=${createHmac('sha256', key).update(body).digest('hex')}` } }
}

async function send(path: string, sent = message): Promise<RouteResponse> {
  const route = on.test.promoter.routes.find((each) => each.method === 'POST' && each.path.test(path))!
  const response = await route.handle({ method: 'POST', path, remoteAddress: '10.0.0.1', ...sent })
  await on.test.promoter.controller.whenIdle()
  return response
}

/** dev has 1.1.0, the pull request for staging is open, and an attacker has captured dev's message. */
beforeEach(async () => {
  await addLeaf(on)
  opened = await withRepository(on, {}, ['dev', 'staging', 'prod'])
  await on.home.secret('team', 'hmac', { 'hmac-key': key })
  await on.home.release('apps', '1.1.0')
  await on.leaf.release('apps', '1.0.0')
  await on.home.release('prod', '1.0.0')
  const { promotion } = opened.spec
  const strategy = { ...promotion!.strategy, secretRef: { name: 'hmac' } }
  const spec: PipelineSpec = { ...opened.spec, environments, promotion: { strategy } }
  await on.test.pipeline('app', spec)
  await on.test.until('app', (pipeline) => phase(pipeline, 'staging') === 'Proposed')
  message = told('1.1.0')
  expect(await send('/promotion/team/app/dev')).toMatchObject({ status: 202 })
})

async function expectNothingMore(): Promise<void> {
  expect(opened.pulls()).toMatchObject([{ state: 'open', title: 'Promote team/app in staging to 1.1.0' }])
  const pipeline = await on.test.get('app')
  expect(phase(pipeline, 'prod')).toBeUndefined()
  expect(await opened.repository.file('main', 'prod/app.yaml')).toBe(manifest('prod', '1.0.0'))
}

describe('a promotion webhook', () => {
  it('sent again to the address of another environment, whose signature fits as well, promotes nothing past it', async () => {
    expect(await send('/promotion/team/app/staging')).toMatchObject({ status: 202 })
    await expectNothingMore()
  })

  it('forged by who has found the key in one of the clusters promotes nothing that does not run', async () => {
    expect(await send('/promotion/team/app/dev', told('6.6.6'))).toMatchObject({ status: 202 })
    expect(await send('/promotion/team/app/staging', told('6.6.6'))).toMatchObject({ status: 202 })
    await expectNothingMore()
    expect((await on.test.get('app')).status?.run?.revision).toBe('1.1.0')
  })

  it('is not needed: what it would have told is seen', async () => {
    await on.leaf.release('apps', '1.1.0')
    await on.test.until('app', (pipeline) => phase(pipeline, 'prod') === 'Proposed')
    expect(opened.pulls().map(({ title }) => title)).toContain('Promote team/app in prod to 1.1.0')
  })
})
