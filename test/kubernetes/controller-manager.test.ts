import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Daemon } from '../../scripts/reference-cluster/daemon.ts'
import { answersOk, freePorts } from '../../scripts/reference-cluster/loopback.ts'
import { ensureTool, whyUnavailable } from '../../scripts/reference-cluster/tools.ts'
import { startTestServer, type TestServer } from '../apiserver/test-server.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { systemClock } from '../../src/runtime/time/clock.ts'

const missing = await whyUnavailable('kube-controller-manager')
if (missing) console.warn(`SKIPPED: kube-controller-manager against the embedded server: ${missing}`)

const controllers = [
  'garbage-collector-controller',
  'namespace-controller',
  'deployment-controller',
  'replicaset-controller',
  'serviceaccount-controller',
  'root-ca-certificate-publisher-controller',
  'clusterrole-aggregation-controller',
]

describe.skipIf(missing)('kube-controller-manager on the embedded API server', () => {
  let server: TestServer
  let manager: Daemon
  let directory: string
  beforeAll(async () => {
    server = await startTestServer({ clock: systemClock, controllers: false, nodeName: 'local' })
    const { url } = await server.listen({ port: 0 })
    directory = mkdtempSync(join(tmpdir(), 'sojourn-kcm-'))
    const file = (name: string, content: string) => {
      writeFileSync(join(directory, name), content, { mode: 0o600 })
      return join(directory, name)
    }
    const [port = 0] = await freePorts(1)
    const { serviceAccountKey, authority, tokens } = server.credentials
    manager = new Daemon(
      await ensureTool('kube-controller-manager'),
      [
        `--kubeconfig=${file('kubeconfig', server.kubeconfig(url))}`,
        `--controllers=${controllers.join(',')}`,
        `--service-account-private-key-file=${file('sa.key', serviceAccountKey)}`,
        `--root-ca-file=${file('ca.crt', authority)}`,
        `--cert-dir=${directory}`,
        '--bind-address=127.0.0.1',
        `--secure-port=${port}`,
        '--leader-elect=false',
      ],
      join(directory, 'log'),
    )
    await manager.ready(() => answersOk(`https://127.0.0.1:${port}/healthz`, tokens.tokenOf('system:admin')))
  }, 900_000)
  afterAll(async () => {
    await manager?.stop()
    await server?.close()
    if (directory) rmSync(directory, { recursive: true, force: true })
  })

  const names = async (path: string) => {
    const { body } = await server.transport({ method: 'GET', path })
    return (body as { items?: KubeObject[] }).items?.map(({ metadata }) => metadata.name) ?? []
  }
  const create = (path: string, body: object) => server.transport({ method: 'POST', path, body })

  it('furnishes a namespace, runs a Deployment, collects what it owned, and empties the namespace', async () => {
    await create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } })
    await expect
      .poll(() => names('/api/v1/namespaces/shop/configmaps'), { timeout: 20_000 })
      .toEqual(['kube-root-ca.crt'])
    await expect.poll(() => names('/api/v1/namespaces/shop/serviceaccounts'), { timeout: 20_000 }).toEqual(['default'])
    await create('/apis/apps/v1/namespaces/shop/deployments', {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web' },
      spec: {
        replicas: 3,
        selector: { matchLabels: { app: 'web' } },
        template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
      },
    })
    await expect.poll(async () => (await names('/api/v1/namespaces/shop/pods')).length, { timeout: 20_000 }).toBe(3)
    await server.transport({ method: 'DELETE', path: '/apis/apps/v1/namespaces/shop/deployments/web' })
    await expect.poll(() => names('/apis/apps/v1/namespaces/shop/replicasets'), { timeout: 20_000 }).toEqual([])
    await expect.poll(() => names('/api/v1/namespaces/shop/pods'), { timeout: 20_000 }).toEqual([])
    await server.transport({ method: 'DELETE', path: '/api/v1/namespaces/shop' })
    const gone = async () => (await server.transport({ method: 'GET', path: '/api/v1/namespaces/shop' })).status
    await expect.poll(gone, { timeout: 30_000 }).toBe(404)
  })

  it('has nothing to complain about', () => {
    const complaints = readFileSync(join(directory, 'log'), 'utf8')
      .split('\n')
      .filter((line) => /^E\d/.test(line) && !isItsOwnAffair(line))
    expect(complaints).toEqual([])
  })
})

/**
 * Lines it also writes beside a kube-apiserver: an absent manifest file, its own cache that has not caught up with its own write yet, and a ReplicaSet that
 * its own garbage collector has deleted while another of its controllers looked after it.
 */
function isItsOwnAffair(line: string): boolean {
  return (
    line.includes('The manifest file is empty') ||
    line.includes('is not as new as written version') ||
    /replica_set\.go.* failed with replicasets\.apps .* not found/.test(line)
  )
}
