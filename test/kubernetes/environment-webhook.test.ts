import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { freePorts } from '../../scripts/reference-cluster/loopback.ts'
import { startReferenceCluster, type ReferenceCluster } from '../../scripts/reference-cluster/reference-cluster.ts'
import { whyUnavailable } from '../../scripts/reference-cluster/tools.ts'
import { validatePath } from '../../src/admission/webhook.ts'
import { installManifests } from '../../src/app/install/install.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { accountOf } from './account.ts'
import { attempt, run, whenEstablished } from './kubectl.ts'
import { SojournProcess } from './sojourn-process.ts'

const missing = await whyUnavailable('etcd', 'kube-apiserver', 'kubectl')
if (missing) console.warn(`*** SKIPPED: limits and exec of environments in a real cluster: ${missing}`)

describe.skipIf(missing)('the webhook of environments in a real cluster', () => {
  let cluster: ReferenceCluster
  const processes: SojournProcess[] = []
  const kubectl = (...args: readonly string[]) => run('kubectl', args, cluster)
  const apply = (input: unknown) => attempt('kubectl', ['apply', '-f', '-'], { ...cluster, input })
  const until = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 60_000, interval: 500 })
  const namespace = (name: string, labels: object = { env: 'preview' }) => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, labels },
  })
  const field = async (name: string, path: string) =>
    (await attempt('kubectl', ['get', 'env', '-n', name, name, '-o', `jsonpath={${path}}`], cluster)).stdout

  beforeAll(async () => {
    cluster = await startReferenceCluster({ durable: false })
    const [port = 0, other = 0] = await freePorts(2)
    const roles = ['cleaner', 'environments'] as const
    const options = { image: 'sojourn', replicas: 1, dryRun: false, separateRoles: true }
    const manifests = installManifests({ ...options, roles: [...roles] })
    const isKind = ({ kind }: KubeObject) => kind === 'Namespace' || kind === 'CustomResourceDefinition'
    for (const items of [manifests.filter(isKind), manifests.filter((manifest) => !isKind(manifest))])
      await run('kubectl', ['apply', '--server-side', '-f', '-'], {
        ...cluster,
        input: { apiVersion: 'v1', kind: 'List', items },
      })
    await whenEstablished(cluster)
    // Nothing routes Services here.
    const value = { url: `https://127.0.0.1:${port}${validatePath}` }
    const changes = [0, 1].map((index) => ({ op: 'replace', path: `/webhooks/${index}/clientConfig`, value }))
    await kubectl('patch', 'validatingwebhookconfiguration', 'sojourn', '--type=json', '-p', JSON.stringify(changes))
    // Each with the rights of its own account.
    for (const [role, at] of [
      ['cleaner', port],
      ['environments', other],
    ] as const) {
      const kubeconfig = await accountOf(cluster, role)
      processes.push(await SojournProcess.start([`--kubeconfig=${kubeconfig}`, `--only=${role}`, `--port=${at}`]))
    }
    const spec = {
      namespaceSelector: { matchLabels: { env: 'preview' } },
      use: ['Deploy', 'Exec'],
      delete: { after: '7d' },
      limits: { max: 2 },
    }
    const manifest = {
      apiVersion: 'sojourn.dev/v1alpha1',
      kind: 'EnvironmentClass',
      metadata: { name: 'preview' },
      spec,
    }
    expect(await apply(manifest)).toMatchObject({ code: 0 })
    // The server follows its configuration a moment later: until then it does not ask.
    const wrong = { ...manifest, metadata: { name: 'wrong' }, spec: { ...spec, delete: { after: 'soon' } } }
    await until(async () => expect((await apply(wrong)).code).toBe(1))
  }, 900_000)
  afterAll(async () => {
    for (const each of processes) await each.stop()
    await cluster?.stop()
  })

  it('refuses the Namespace beyond the limit, and names the least recently used environments', async () => {
    for (const name of ['pr-1', 'pr-2']) expect(await apply(namespace(name))).toMatchObject({ code: 0 })
    for (const name of ['pr-1', 'pr-2'])
      await until(async () => expect(await field(name, '.status.phase')).toBe('Awake'))
    const sentence = '2 of 2 environments of class preview exist; least recently used: pr-1'
    const { code, stderr } = await apply(namespace('pr-3'))
    expect([code, stderr]).toEqual([1, expect.stringContaining(sentence)])
    expect(stderr).toContain('Delete one: kubectl delete namespace pr-1')
    // Neither by a label that comes later.
    expect(await apply(namespace('pr-3', {}))).toMatchObject({ code: 0 })
    const labelled = await attempt('kubectl', ['label', 'namespace', 'pr-3', 'env=preview'], cluster)
    expect([labelled.code, labelled.stderr]).toEqual([1, expect.stringContaining(sentence)])
    expect(await apply(namespace('unrelated', {}))).toMatchObject({ code: 0 })
  })

  it('counts kubectl exec as use, where the class says so', async () => {
    expect(await field('pr-1', '.status.lastUsedBy')).toBe('Created')
    await kubectl('create', 'serviceaccount', 'default', '-n', 'pr-1')
    const containers = [{ name: 'shop', image: 'shop' }]
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'shop', namespace: 'pr-1' }, spec: { containers } }
    expect(await apply(pod)).toMatchObject({ code: 0 })
    // No node runs the Pod: the server asks the webhook before it finds that out.
    const { stderr } = await attempt('kubectl', ['exec', '-n', 'pr-1', 'shop', '--', 'true'], cluster)
    expect(stderr).toContain('does not have a host assigned')
    await until(async () => expect(await field('pr-1', '.status.lastUsedBy')).toBe('Exec'))
  })

  it('refuses nothing and cuts no connection while it does not answer', async () => {
    for (const each of processes.splice(0)) await each.stop()
    expect(await apply(namespace('pr-4'))).toMatchObject({ code: 0 })
    const { stderr } = await attempt('kubectl', ['exec', '-n', 'pr-1', 'shop', '--', 'true'], cluster)
    expect(stderr).toContain('does not have a host assigned')
  })
})
