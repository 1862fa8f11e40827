import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startReferenceCluster, type ReferenceCluster } from '../../scripts/reference-cluster/reference-cluster.ts'
import { whyUnavailable } from '../../scripts/reference-cluster/tools.ts'
import { installManifests } from '../../src/app/install/install.ts'
import type { Run } from '../../src/app/cluster/run.ts'
import { accountOf, flagsAs, startAs } from './account.ts'
import { runCommand } from '../command.ts'
import { attempt, run as runTool } from './kubectl.ts'
import { SojournProcess } from './sojourn-process.ts'

const missing = await whyUnavailable('kube-controller-manager', 'kube-apiserver', 'etcd', 'kubectl')
if (missing) console.warn(`SKIPPED: taking Services over on a real cluster: ${missing}`)

const controllers = [
  'endpoints-controller',
  'endpointslice-controller',
  'endpointslice-mirroring-controller',
  'garbage-collector-controller',
]
const poll = { timeout: 40_000, interval: 200 }
// Nobody is there: only what is written counts here. Loopback is no legal endpoint.
const [pod, proxy] = ['10.1.2.3', '10.9.0.1']

interface Listed {
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> }
  readonly endpoints: readonly { readonly addresses: readonly string[] }[] | null
  readonly ports: readonly { readonly port: number }[] | null
}

/** Beside Kubernetes' own controllers for endpoints, with the rights that `sojourn install` grants and no others. */
describe.skipIf(missing)('a Service taken over on a real kube-apiserver', () => {
  let cluster: ReferenceCluster
  let run: Run
  const flags = { 'proxy-address': proxy!, 'takeover-ports': '23000-23009' }

  const kubectl = (...args: string[]) => runTool('kubectl', args, { kubeconfig: cluster.kubeconfig })
  const apply = (...manifests: readonly object[]) =>
    runTool('kubectl', ['apply', '-f', '-'], {
      kubeconfig: cluster.kubeconfig,
      input: { apiVersion: 'v1', kind: 'List', items: manifests },
    })
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'shop', namespace: 'default', annotations: { 'proxless/deployment': 'shop' } },
    spec: { selector: { app: 'shop' }, ports: [{ name: 'http', port: 80, targetPort: 'web' }] },
  }
  const asking = { ...service.metadata.annotations, 'sojourn.dev/takeover': 'true' }
  const slices = async (name = 'shop') => {
    const text = await kubectl('get', 'endpointslices', '-l', `kubernetes.io/service-name=${name}`, '-o', 'json')
    return (JSON.parse(text) as { items: Listed[] }).items
  }
  /** Where callers are led, by whoever leads them there. */
  const led = async (name = 'shop') =>
    Object.fromEntries(
      (await slices(name)).map(({ metadata, endpoints, ports }) => [
        metadata.labels['endpointslice.kubernetes.io/managed-by'],
        (endpoints ?? []).map(({ addresses }) => `${addresses[0]}:${ports?.[0]?.port}`),
      ]),
    )
  const field = (path: string) => kubectl('get', 'service', 'shop', '-o', `jsonpath={${path}}`)
  const condition = (what: string) => field(`.status.conditions[?(@.type=="sojourn.dev/TakenOver")].${what}`)
  const taken = { 'endpointslice-controller.k8s.io': [], sojourn: [expect.stringMatching(/^10\.9\.0\.1:2300\d$/)] }

  const sojourn = (...words: readonly string[]) => runCommand(cluster.kubeconfig, ...words)

  beforeAll(async () => {
    cluster = await startReferenceCluster({ durable: false, controllerManager: { controllers } })
    const manifests = installManifests({
      roles: ['activator'],
      image: 'none',
      replicas: 1,
      dryRun: false,
      separateRoles: true,
    })
    await apply(...manifests.filter(({ kind }) => kind !== 'Deployment'))
    run = await startAs(cluster, 'activator', flags)
    const container = { name: 'a', image: 'none', ports: [{ name: 'web', containerPort: 8080 }] }
    await apply(service, {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'shop', namespace: 'default' },
      spec: {
        selector: { matchLabels: { app: 'shop' } },
        template: { metadata: { labels: { app: 'shop' } }, spec: { containers: [container] } },
      },
    })
    await apply(
      // Pods of a node that does not exist are not listed.
      { apiVersion: 'v1', kind: 'Node', metadata: { name: 'here' } },
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace: 'default' } },
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'shop-1', namespace: 'default', labels: { app: 'shop' } },
        spec: { nodeName: 'here', automountServiceAccountToken: false, containers: [container] },
      },
    )
    const status = {
      phase: 'Running',
      podIP: pod,
      podIPs: [{ ip: pod }],
      conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }],
    }
    await kubectl('patch', 'pod', 'shop-1', '--subresource=status', '--type=merge', '-p', JSON.stringify({ status }))
  }, 900_000)
  afterAll(async () => {
    await run?.stop()
    await cluster?.stop()
  })

  it('keeps its address, leads to the proxy alone, and nothing is left of what Kubernetes listed', async () => {
    await expect.poll(() => led(), poll).toEqual({ 'endpointslice-controller.k8s.io': [`${pod}:8080`] })
    const address = await field('.spec.clusterIP')
    await kubectl('annotate', 'service', 'shop', 'sojourn.dev/takeover=true')
    await expect.poll(() => condition('status'), poll).toBe('True')
    await expect.poll(() => led(), poll).toEqual(taken)
    expect(await field('.spec.selector')).toBe('')
    expect(await field('.spec.clusterIP')).toBe(address)
    expect(await led('shop-sojourn-pods')).toEqual({ 'endpointslice-controller.k8s.io': [`${pod}:8080`] })
    expect(await kubectl('get', 'endpoints', 'shop', '-o', 'jsonpath={.subsets}')).toBe('')
    for (const words of [['status'], ['explain', 'service/shop']])
      // The server is still setting up the storage of our kinds.
      await expect
        .poll(async () => (await sojourn(...words, '-n', 'default')).out, poll)
        .toContain('Its callers come through the proxy.')
  })

  it('is left alone by the controllers of Kubernetes, which go on listing its pods', async () => {
    await kubectl('label', 'service', 'shop', 'touched=yes')
    const ready = (status: string) => ({
      status: { conditions: [{ type: 'Ready', status, lastTransitionTime: '2026-01-01T00:00:00Z' }] },
    })
    const set = (status: string) =>
      kubectl('patch', 'pod', 'shop-1', '--subresource=status', '--type=merge', '-p', JSON.stringify(ready(status)))
    const isReady = async () =>
      kubectl(
        'get',
        'endpointslices',
        '-l',
        'kubernetes.io/service-name=shop-sojourn-pods',
        '-o',
        'jsonpath={.items[*].endpoints[*].conditions.ready}',
      )
    await set('False')
    await expect.poll(isReady, poll).toBe('false')
    await set('True')
    await expect.poll(isReady, poll).toBe('true')
    expect(await led()).toEqual(taken)
  })

  it('says who put its selector back, stays as it is meanwhile, and takes it again', async () => {
    await apply(service)
    await expect.poll(() => condition('reason'), poll).toBe('SelectorReapplied')
    expect(await condition('message')).toContain('kubectl-client-side-apply')
    expect((await led())['sojourn']).toEqual(taken.sojourn)
    await expect.poll(() => condition('status'), poll).toBe('True')
    await expect.poll(() => led(), poll).toEqual(taken)
  }, 90_000)

  it('is given back as it was', async () => {
    await kubectl('annotate', 'service', 'shop', 'sojourn.dev/takeover-')
    await expect.poll(() => led(), poll).toEqual({ 'endpointslice-controller.k8s.io': [`${pod}:8080`] })
    expect(JSON.parse(await field('.spec.selector'))).toEqual({ app: 'shop' })
    await expect.poll(() => kubectl('get', 'service', '-o', 'name'), poll).not.toContain('sojourn-pods')
    expect(await kubectl('get', 'endpoints', 'shop', '-o', 'jsonpath={.subsets[*].addresses[*].ip}')).toBe(pod)
  })

  it('takes everything of ours along when it is deleted', async () => {
    await kubectl('annotate', 'service', 'shop', 'sojourn.dev/takeover=true')
    await expect.poll(() => led(), poll).toEqual(taken)
    await kubectl('delete', 'service', 'shop')
    const left = async () =>
      (await attempt('kubectl', ['get', 'services,endpointslices', '-o', 'name'], { kubeconfig: cluster.kubeconfig }))
        .stdout
    await expect.poll(left, poll).not.toMatch(/shop/)
  })

  it('is given back by a drain after all proxies were killed', async () => {
    await run.stop()
    const all = { ...flagsAs('activator', await accountOf(cluster, 'activator')), ...flags }
    const killed = await SojournProcess.start(Object.entries(all).map(([name, value]) => `--${name}=${value}`))
    try {
      await apply({ ...service, metadata: { ...service.metadata, annotations: asking } })
      await expect.poll(() => led(), poll).toEqual(taken)
      await expect.poll(() => condition('status'), poll).toBe('True')
    } finally {
      await killed.kill()
    }
    const versions = () =>
      kubectl('get', 'services,endpointslices', '-o', 'jsonpath={.items[*].metadata.resourceVersion}')
    const before = await versions()
    const { code, out } = await sojourn('drain', '--dry-run')
    expect({ code, out }).toEqual({
      code: 0,
      out: expect.stringMatching(/Service\/default\/shop +takeover +will be released/),
    })
    // Its Lease still says that it runs.
    expect(await sojourn('drain', '--yes')).toMatchObject({
      code: 1,
      err: expect.stringContaining('Sojourn is still running'),
    })
    expect(await versions()).toBe(before)

    await expect
      .poll(async () => (await sojourn('drain', '--dry-run')).err, poll)
      .not.toContain('Sojourn is still running')
    expect(await sojourn('drain', '--yes')).toMatchObject({
      code: 0,
      out: expect.stringMatching(/shop +takeover +released/),
    })
    expect(await led()).toEqual({ 'endpointslice-controller.k8s.io': [`${pod}:8080`] })
    expect(JSON.parse(await field('.spec.selector'))).toEqual({ app: 'shop' })
    expect(await condition('status')).toBe('')
    expect(await kubectl('get', 'service', '-o', 'name')).not.toContain('sojourn-pods')
    expect(await sojourn('drain', '--dry-run')).toMatchObject({ out: 'Nothing to drain: Sojourn holds no objects.\n' })
  }, 120_000)
})
