import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startReferenceCluster, type ReferenceCluster } from '../../scripts/reference-cluster/reference-cluster.ts'
import { whyUnavailable } from '../../scripts/reference-cluster/tools.ts'
import { installManifests } from '../../src/app/install/install.ts'
import type { Run } from '../../src/app/cluster/run.ts'
import { startAs } from './account.ts'
import { run as runTool } from './kubectl.ts'

const missing = await whyUnavailable('kube-controller-manager', 'kube-apiserver', 'etcd', 'kubectl')
if (missing) console.warn(`SKIPPED: companion Services on a real cluster: ${missing}`)

/** Everything in Kubernetes that makes or removes EndpointSlices. */
const controllers = [
  'endpoints-controller',
  'endpointslice-controller',
  'endpointslice-mirroring-controller',
  'garbage-collector-controller',
]
const poll = { timeout: 40_000, interval: 200 }
// Nobody is there: only what is written counts here. Loopback is no legal endpoint.
const proxy = '10.9.0.1'

interface Listed {
  readonly metadata: {
    readonly name: string
    readonly uid: string
    readonly resourceVersion: string
    readonly labels: Readonly<Record<string, string>>
  }
  readonly endpoints: readonly { readonly addresses: readonly string[] }[] | null
  readonly ports: readonly { readonly name: string; readonly port: number }[] | null
}

describe.skipIf(missing)('a companion Service on a real kube-apiserver', () => {
  let cluster: ReferenceCluster
  let run: Run

  const kubectl = (...args: string[]) => runTool('kubectl', args, { kubeconfig: cluster.kubeconfig })
  const apply = (...items: readonly object[]) =>
    runTool('kubectl', ['apply', '-f', '-'], {
      kubeconfig: cluster.kubeconfig,
      input: { apiVersion: 'v1', kind: 'List', items },
    })
  const service = (name: string, annotations: Record<string, string> = {}) => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: 'default', annotations },
    spec: {
      selector: { app: name },
      ports: [
        { name: 'http', port: 80, targetPort: 8080 },
        { name: 'more', port: 81 },
      ],
    },
  })
  const slicesOf = async (name: string) => {
    const text = await kubectl('get', 'endpointslices', '-l', `kubernetes.io/service-name=${name}`, '-o', 'json')
    return (JSON.parse(text) as { items: Listed[] }).items
  }
  const services = async () => (await kubectl('get', 'services', '-o', 'name')).split('\n')
  /** Once they have made a slice for a Service that came after, Kubernetes' controllers have seen all that was before. */
  const controllersHaveSeen = async (marker: string) => {
    await apply(service(marker))
    await expect.poll(async () => (await slicesOf(marker)).length, poll).toBe(1)
  }

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
    run = await startAs(cluster, 'activator', { 'proxy-address': proxy })
    await apply(service('shop', { 'proxless/deployment': 'shop', 'proxless/domains': 'shop.example.io' }))
  }, 900_000)
  afterAll(async () => {
    await run?.stop()
    await cluster?.stop()
  })

  it('leads to the proxies by a slice that Kubernetes’ own controllers leave alone', async () => {
    await expect.poll(async () => (await slicesOf('shop-proxless')).length, poll).toBe(1)
    const [ours] = await slicesOf('shop-proxless')
    expect(ours?.endpoints?.map(({ addresses }) => addresses)).toEqual([[proxy]])
    expect(ours?.ports?.map(({ name }) => name)).toEqual(['http', 'more'])
    // Every reason for which those controllers would look at it again.
    await kubectl('label', 'service', 'shop-proxless', 'touched=yes')
    await kubectl('annotate', 'service', 'shop', 'touched=yes')
    await controllersHaveSeen('marker')
    const after = await slicesOf('shop-proxless')
    expect(after.map(({ metadata }) => metadata.uid)).toEqual([ours?.metadata.uid])
    expect(after[0]?.endpoints?.map(({ addresses }) => addresses)).toEqual([[proxy]])
    // The Service's own slices stay Kubernetes' business.
    const managers = (await slicesOf('shop')).map(
      ({ metadata }) => metadata.labels['endpointslice.kubernetes.io/managed-by'],
    )
    expect(managers).toEqual(['endpointslice-controller.k8s.io'])
  })

  it('is made again when it is deleted, and goes when nobody asks for it any more', async () => {
    await kubectl('delete', 'service', 'shop-proxless')
    await expect.poll(services, poll).toContain('service/shop-proxless')
    await expect.poll(async () => (await slicesOf('shop-proxless')).length, poll).toBe(1)
    await kubectl('annotate', 'service', 'shop', 'proxless/deployment-')
    await expect.poll(services, poll).not.toContain('service/shop-proxless')
    await expect.poll(async () => (await slicesOf('shop-proxless')).length, poll).toBe(0)
    expect(await services()).toContain('service/shop')
  })
})
