import { createHmac } from 'node:crypto'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { gitopsCluster } from '../../src/apis/gitops-cluster.ts'
import { pipeline as pipelineKind } from '../../src/apis/pipeline.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { systemClock } from '../../src/runtime/time/clock.ts'
import { silentLogger } from '../../src/runtime/observability/log.ts'
import { Metrics } from '../../src/runtime/observability/metrics.ts'
import type { RouteResponse } from '../../src/systems/promoter/http/routes.ts'
import { signRequest } from '../../src/systems/promoter/http/signature.ts'
import { ForgeServer, forgePassword, forgeToken, forgeUser } from '../forge/forge-server.ts'
import { condition, conditionOf, TestCluster, TestPromoter } from './cluster.ts'
import { phase, target } from './clusters.ts'
import { manifest } from './stage.ts'

const helmRelease = {
  group: 'helm.toolkit.fluxcd.io',
  version: 'v2beta1',
  kind: 'HelmRelease',
  plural: 'helmreleases',
  namespaced: true,
}
const key = 'shared-hmac-key'

let forge: ForgeServer
let home: TestCluster
let leaf: TestCluster
let test: TestPromoter
let skewMs = 0

beforeEach(async () => {
  forge = await ForgeServer.start()
  home = await TestCluster.start({ types: [helmRelease] })
  leaf = await TestCluster.start({ types: [helmRelease] })
  const clock = { ...systemClock, now: () => systemClock.now() + skewMs }
  test = new TestPromoter(home, { leaf }, { ports: { clock, log: silentLogger, metrics: new Metrics() } })
})
afterEach(async () => {
  await test.stop()
  await Promise.all([home.close(), leaf.close(), forge.close()])
})

/** What a team that runs pipeline-controller has in its management cluster; nothing in it is ours. */
const manifests = (url: string) => `
apiVersion: pipelines.weave.works/v1alpha1
kind: Pipeline
metadata: { name: app, namespace: team }
spec:
  appRef: { apiVersion: helm.toolkit.fluxcd.io/v2beta1, kind: HelmRelease, name: app }
  environments:
    - name: dev
      targets: [{ namespace: dev }]
    - name: prod
      targets:
        - namespace: apps
          clusterRef: { apiVersion: gitops.weave.works/v1alpha1, kind: GitopsCluster, name: leaf, namespace: clusters }
  promotion:
    manual: true
    strategy:
      secretRef: { name: promotion-hmac }
      pull-request:
        type: github
        url: ${url}
        baseBranch: main
        secretRef: { name: promotion-credentials }
---
apiVersion: gitops.weave.works/v1alpha1
kind: GitopsCluster
metadata: { name: leaf, namespace: clusters }
spec: { capiClusterRef: { name: leaf } }
`

async function send(path: string, body: string, headers: Record<string, string>): Promise<RouteResponse> {
  const route = test.promoter.routes.find((each) => each.method === 'POST' && each.path.test(path))
  if (!route) throw new Error(`no route for ${path}`)
  return route.handle({ method: 'POST', path, headers, body: Buffer.from(body), remoteAddress: '10.0.0.1' })
}

/** What a Provider of Flux's notification controller posts from a leaf cluster. */
function webhook(environment: string, namespace: string, revision: string): Promise<RouteResponse> {
  const involvedObject = { apiVersion: 'helm.toolkit.fluxcd.io/v2beta1', kind: 'HelmRelease', name: 'app', namespace }
  const body = JSON.stringify({ involvedObject, severity: 'info', reason: 'info', metadata: { revision } })
  const signature = createHmac('sha256', key).update(body).digest('hex')
  return send(`/promotion/team/app/${environment}`, body, { 'x-signature': `sha256=${signature}` })
}

const runs = (cluster: TestCluster, namespace: string, revision: string) =>
  cluster.app(
    helmRelease,
    { namespace, name: 'app' },
    { observedGeneration: 1, conditions: [condition('Ready', true)], lastAppliedRevision: revision },
  )

it('everything that pipeline-controller was given goes on working as it is, but for a signature that approves anything', async () => {
  const repository = await forge.createRepository('deploy')
  await repository.commit('main', { 'prod/app.yaml': manifest('prod', '1.0.0') })
  const credentials = { username: forgeUser, password: forgePassword, token: forgeToken, caFile: forge.ca }
  await home.secret('team', 'promotion-credentials', credentials)
  await home.secret('team', 'promotion-hmac', { 'hmac-key': key })
  await home.secret('clusters', 'leaf-kubeconfig', { value: 'leaf' })
  await runs(home, 'dev', '1.0.0')
  await runs(leaf, 'apps', '1.0.0')
  const [pipeline, cluster] = parseAllDocuments(manifests(forge.url('github', 'deploy'))).map(
    (document) => document.toJS() as KubeObject,
  )
  const known = await home.client.create(gitopsCluster.type, cluster!)
  const status = { conditions: [condition('Ready', true)] }
  await home.client.update(gitopsCluster.type, { ...known, status }, { subresource: 'status' })
  await home.client.create(pipelineKind.type, pipeline!)

  const first = await test.until('app', (seen) => target(seen, 'prod')?.revision === '1.0.0')
  expect(conditionOf(first, 'Ready')).toMatchObject({ status: 'True', reason: 'ReconciliationSucceeded' })
  expect(target(first, 'prod')?.clusterAppRef).toMatchObject({
    kind: 'HelmRelease',
    name: 'app',
    clusterRef: { kind: 'GitopsCluster', name: 'leaf', namespace: 'clusters' },
  })

  await runs(home, 'dev', '1.1.0')
  await test.until('app', (seen) => seen.status?.candidate?.revision === '1.1.0')
  // A minute later an existing Flux Alert calls the webhook: it triggers a reconcile.
  skewMs += 61_000
  expect(await webhook('dev', 'dev', '1.1.0')).toMatchObject({ status: 202 })
  const waiting = await test.until('app', (seen) => seen.status?.environments?.['prod']?.waitingApproval)
  expect(waiting.status?.environments?.['prod']?.waitingApproval?.revision).toBe('1.1.0')
  expect(forge.pulls.all).toEqual([])

  const path = '/approval/team/app/prod/1.1.0'
  const old = `sha256=${createHmac('sha256', key).update('').digest('hex')}`
  expect(await send(path, '', { 'x-signature': old })).toMatchObject({ status: 401 })
  const now = systemClock.now() + skewMs
  const signed = signRequest(
    { method: 'POST', path, body: Buffer.alloc(0) },
    { key, keyId: 'current', nonce: 'n1', now },
  )
  expect(await send(path, '', { 'sojourn-signature': signed })).toMatchObject({ status: 202 })
  await test.until('app', (seen) => phase(seen, 'prod') === 'Proposed')
  const [pull] = forge.pulls.all
  expect(pull).toMatchObject({ base: 'main', title: 'Promote team/app in prod to 1.1.0' })
  expect(pull?.body).toContain('team/app/prod')

  await forge.pulls.merge(pull!)
  await runs(leaf, 'apps', '1.1.0')
  const done = await test.until('app', (seen) => seen.status?.run?.phase === 'Complete')
  expect(done.status?.environments?.['prod']?.waitingApproval).toBeUndefined()
  expect(await repository.file('main', 'prod/app.yaml')).toBe(manifest('prod', '1.1.0'))
  // The Alert of the last environment has no effect.
  expect(await webhook('prod', 'apps', '1.1.0')).toMatchObject({ status: 422 })
})
