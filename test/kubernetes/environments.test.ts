import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { startReferenceCluster } from '../../scripts/reference-cluster/reference-cluster.ts'
import { whyUnavailable } from '../../scripts/reference-cluster/tools.ts'
import { allKinds } from '../../src/apis/all-kinds.ts'
import { readConfig } from '../../src/app/config/config.ts'
import { startRun } from '../../src/app/cluster/run.ts'
import { startUp } from '../../src/app/embedded/up.ts'
import { loadKubeconfig } from '../../src/client/kubeconfig.ts'
import { systemClock } from '../../src/runtime/time/clock.ts'
import { silentLogger } from '../../src/runtime/observability/log.ts'
import { runCommand } from '../command.ts'
import { ForgeServer, forgeToken } from '../forge/forge-server.ts'
import { attempt, run } from './kubectl.ts'

const missing = await whyUnavailable('etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl')
if (missing) console.warn(`SKIPPED: the life of an environment with kubectl: ${missing}`)

interface Place {
  readonly kubeconfig: string
  stop(): Promise<void>
}

async function up(): Promise<Place> {
  const data = mkdtempSync(join(tmpdir(), 'environments-'))
  const config = readConfig({ flags: { data, port: '0', 'proxy-port': '0' }, env: {} })
  const running = await startUp(config, silentLogger)
  return {
    kubeconfig: running.kubeconfig,
    async stop() {
      await running.stop()
      rmSync(data, { recursive: true, force: true })
    },
  }
}

async function cluster(): Promise<Place> {
  const controllers = ['namespace-controller', 'deployment-controller', 'replicaset-controller']
  const real = await startReferenceCluster({ durable: false, controllerManager: { controllers } })
  const { kubeconfig } = real
  const items = [
    ...allKinds.map(({ crd }) => crd),
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'sojourn-system' } },
  ]
  const input = { apiVersion: 'v1', kind: 'List', items }
  await run('kubectl', ['apply', '--server-side', '-f', '-'], { kubeconfig, input })
  const reached = loadKubeconfig([kubeconfig], { now: () => systemClock.now(), env: {} })
  const flags = { port: '0', 'proxy-port': '0', only: 'environments', 'allow-outgoing': '127.0.0.1/32' }
  const running = await startRun(readConfig({ flags, env: {} }), reached, { log: silentLogger })
  return {
    kubeconfig,
    async stop() {
      await running.stop()
      await real.stop()
    },
  }
}

describe.skipIf(missing).each([
  ['sojourn up', up],
  ['kube-apiserver', cluster],
])('an environment on %s, with kubectl and a forge', { timeout: 400_000 }, (_, start) => {
  let place: Place
  let forge: ForgeServer
  const kubectl = (...words: string[]) => run('kubectl', words, place)
  const apply = (input: unknown) => run('kubectl', ['apply', '-f', '-'], { ...place, input: input as object })
  const field = async (path: string) =>
    (await attempt('kubectl', ['get', 'env', '-n', 'shop-pr-1', 'shop-pr-1', '-o', `jsonpath={${path}}`], place)).stdout
  const until = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 150_000, interval: 1000 })

  beforeAll(async () => {
    forge = await ForgeServer.start()
    const repository = await forge.createRepository('shop')
    await repository.commit('main', { 'a.yaml': 'a: 1\n' })
    await repository.git('update-ref', 'refs/heads/change', 'refs/heads/main')
    await repository.commit('change', { 'b.yaml': 'b: 1\n' })
    await forge.pulls.create({ repository: 'shop', head: 'change', base: 'main', title: 'Change', body: '' })
    place = await start()
  }, 900_000)
  afterAll(async () => {
    await place?.stop()
    await forge?.close()
  })

  it('lives from the label on its Namespace to the deletion after its pull request, and comes back', async () => {
    const host = new URL(forge.origin).host
    await apply({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'forge', namespace: 'sojourn-system' },
      stringData: { token: forgeToken, caFile: forge.ca },
    })
    await apply({
      apiVersion: 'sojourn.dev/v1alpha1',
      kind: 'EnvironmentClass',
      metadata: { name: 'preview' },
      spec: {
        namespaceSelector: { matchLabels: { env: 'preview' } },
        delete: { after: '7d', maxAge: '60d' },
        pullRequest: {
          graceAfterClose: '5s',
          forges: [{ host, type: 'gitea', secretRef: { name: 'forge' }, repositories: ['acme/*'] }],
        },
        owner: { default: 'platform@example.org' },
      },
    })
    const labels = { app: 'shop' }
    await apply({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: {
        name: 'shop-pr-1',
        labels: { env: 'preview' },
        annotations: { 'sojourn.dev/pull-request': `${forge.origin}/acme/shop/pulls/1` },
      },
    })
    await apply({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'shop', namespace: 'shop-pr-1' },
      spec: {
        replicas: 2,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'shop', image: 'shop' }] } },
      },
    })
    await until(async () => expect(await field('.status.pullRequest.state')).toBe('open'))
    await until(async () => expect(forge.pulls.all[0]?.comments).toHaveLength(1))
    await until(async () => expect(forge.pulls.statuses.at(-1)).toMatchObject({ name: 'sojourn/shop-pr-1' }))
    expect(await kubectl('get', 'env', '-A')).toMatch(
      /PHASE +OWNER +URL +USED +SLEEPS +DELETES +PR +AGE\nshop-pr-1 +shop-pr-1 +Awake +platform@example.org/,
    )
    expect((await runCommand(place.kubeconfig, 'keep', 'shop-pr-1', '--for', '1d')).out).toMatch(
      /^shop-pr-1 stays until .*Class preview allows at most/,
    )
    expect((await runCommand(place.kubeconfig, 'env')).out).toContain('shop-pr-1')
    await kubectl('patch', 'env', '-n', 'shop-pr-1', 'shop-pr-1', '--type=merge', '-p', '{"spec":{"keepUntil":null}}')

    forge.pulls.close(forge.pulls.all[0]!)
    await until(async () => expect((await attempt('kubectl', ['get', 'ns', 'shop-pr-1'], place)).code).not.toBe(0))
    expect(forge.pulls.all[0]?.comments).toHaveLength(1)
    const [comment = ''] = forge.pulls.all[0]?.comments ?? []
    const [, record = ''] = /sojourn restore (\S+?)`/.exec(comment) ?? []
    expect(record).not.toBe('')
    const restored = await runCommand(place.kubeconfig, 'restore', record)
    expect(restored).toMatchObject({ code: 0 })
    const replicas = await kubectl(
      'get',
      'deploy',
      '-n',
      'shop-pr-1',
      'shop',
      '-o',
      'jsonpath={.spec.replicas} {.metadata.annotations.sojourn\\.dev/former-replicas}',
    )
    expect(replicas).toBe('0 2')
    await until(async () => expect(await field('.status.phase')).toBe('Asleep'))
  })
})
