import { configMaps } from '../../src/kube/core-types.ts'
import { writeFileSync } from 'node:fs'
import { join, dirname } from 'node:path'
import { stringify } from 'yaml'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { startReferenceCluster, type ReferenceCluster } from '../../scripts/reference-cluster/reference-cluster.ts'
import { whyUnavailable } from '../../scripts/reference-cluster/tools.ts'
import { installManifests } from '../../src/app/install/install.ts'
import { bond, type Bond } from '../../src/apis/bond.ts'
import { shippedPolicies } from '../../src/admission/policies/policy.ts'
import type { Run } from '../../src/app/cluster/run.ts'
import { Client } from '../../src/client/client.ts'
import { loadKubeconfig } from '../../src/client/kubeconfig.ts'
import { networkTransport } from '../../src/client/network-transport.ts'
import { bondController } from '../../src/systems/collector/bonds/bond-controller.ts'
import { startRealWorld } from '../world.ts'
import { startAs, targets } from './account.ts'
import { run as runTool } from './kubectl.ts'

const missing = await whyUnavailable('kube-controller-manager', 'kube-apiserver', 'etcd', 'kubectl')
if (missing) console.warn(`SKIPPED: Bonds on a real cluster: ${missing}`)

const wait = { timeout: 20_000, interval: 100 }
/** What another cluster shows is asked for every 30 seconds. */
const farWait = { timeout: 60_000, interval: 100 }

describe.skipIf(missing)('Bonds on a real kube-apiserver', () => {
  let cluster: ReferenceCluster
  let run: Run
  let at = 0

  beforeAll(async () => {
    const controllers = ['garbage-collector-controller', 'namespace-controller', 'clusterrole-aggregation-controller']
    cluster = await startReferenceCluster({ durable: false, controllerManager: { controllers } })
    const manifests = installManifests({
      roles: ['collector'],
      image: 'none',
      replicas: 1,
      dryRun: false,
      separateRoles: true,
    })
    await apply(...manifests.filter(({ kind }) => kind !== 'Deployment'))
    await apply(targets(['', 'configmaps', 'get list watch patch delete']))
    await vi.waitFor(() => kubectl('get', 'bonds', '-A'), wait)
    run = await startAs(cluster, 'collector')
  }, 900_000)
  afterAll(async () => {
    await run?.stop()
    await cluster?.stop()
  })

  const kubectl = (...args: readonly string[]) => runTool('kubectl', args, cluster)

  async function apply(...manifests: readonly object[]): Promise<void> {
    const file = join(dirname(cluster.kubeconfig), `apply-${at++}.yaml`)
    writeFileSync(file, manifests.map((manifest) => `---\n${stringify(manifest)}`).join(''))
    await kubectl('apply', '--server-side', '-f', file)
  }

  const configMap = (namespace: string, name: string, metadata: object = {}) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { namespace, name, ...metadata },
  })
  const space = (name: string, metadata: object = {}) => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, ...metadata },
  })
  const bondOf = (namespace: string, onDelete: string, dependency: object = {}) => ({
    apiVersion: 'sojourn.dev/v1alpha1',
    kind: 'Bond',
    metadata: { namespace, name: 'b' },
    spec: {
      dependent: { apiVersion: 'v1', kind: 'ConfigMap', name: 'app' },
      dependency: { apiVersion: 'v1', kind: 'ConfigMap', name: 'database', ...dependency },
      onDelete,
      reason: 'orders',
    },
  })
  const phase = (namespace: string) => kubectl('get', 'bond', 'b', '-n', namespace, '-o', 'jsonpath={.status.phase}')
  const active = (namespace: string) => vi.waitFor(async () => expect(await phase(namespace)).toBe('Active'), wait)
  const names = async (namespace: string) =>
    (await kubectl('get', 'configmaps', '-n', namespace, '-o', 'name'))
      .split('\n')
      .filter((name) => name && !name.includes('kube-root-ca'))

  it('refuses the deletion of what a Bond denies, and of its namespace, until the last user is gone', async () => {
    await apply(space('deny'))
    await apply(configMap('deny', 'app'), configMap('deny', 'database'), bondOf('deny', 'Deny'))
    const refused = /in use by Bond deny\/b \(orders\)/
    await vi.waitFor(
      () => expect(kubectl('delete', '--dry-run=server', 'cm', 'database', '-n', 'deny')).rejects.toThrow(refused),
      wait,
    )
    await expect(kubectl('delete', 'cm', 'database', '-n', 'deny')).rejects.toThrow(refused)
    await vi.waitFor(
      () => expect(kubectl('delete', '--dry-run=server', 'namespace', 'deny')).rejects.toThrow(refused),
      wait,
    )
    await kubectl('delete', 'cm', 'app', '-n', 'deny')
    await vi.waitFor(() => kubectl('delete', 'cm', 'database', '-n', 'deny'), wait)
    await vi.waitFor(() => kubectl('delete', '--dry-run=server', 'namespace', 'deny'), wait)
  })

  it('116: refuses up front the deletion of a namespace in which something is held, and not what is held', async () => {
    await apply(space('hold'))
    await apply(configMap('hold', 'app'), configMap('hold', 'database'), bondOf('hold', 'Hold'))
    await vi.waitFor(
      () =>
        expect(kubectl('delete', '--dry-run=server', 'namespace', 'hold')).rejects.toThrow(
          /in use by Bond hold\/b \(orders\)/,
        ),
      wait,
    )
    await kubectl('delete', 'cm', 'database', '-n', 'hold', '--wait=false')
    await expect(kubectl('delete', 'namespace', 'hold')).rejects.toThrow('in use by Bond hold/b')
    expect(await names('hold')).toEqual(['configmap/app', 'configmap/database'])
    await kubectl('delete', 'cm', 'app', '-n', 'hold')
    await vi.waitFor(async () => expect(await names('hold')).toEqual([]), wait)
    await vi.waitFor(() => kubectl('delete', '--dry-run=server', 'namespace', 'hold'), wait)
  })

  it('cascades across namespaces with their leave, dependents first', async () => {
    await apply(space('team'), space('platform', { annotations: { 'sojourn.dev/allow-bonds-from': 'team' } }))
    await apply(configMap('team', 'app'), configMap('platform', 'database'))
    await apply(bondOf('team', 'Cascade', { namespace: 'platform' }))
    await active('team')
    await vi.waitFor(
      async () =>
        expect(
          await kubectl('get', 'cm', 'database', '-n', 'platform', '-o', 'jsonpath={.metadata.finalizers}'),
        ).toContain('sojourn.dev/cascade-deletion'),
      wait,
    )
    await kubectl('delete', 'cm', 'database', '-n', 'platform', '--timeout=30s')
    expect(await names('team')).toEqual([])
  })

  it('holds and refuses for Bonds of another cluster, too, next to its own', { timeout: 300_000 }, async () => {
    await using hub = await startRealWorld()
    const network = networkTransport(loadKubeconfig([cluster.kubeconfig], { now: () => Date.now(), env: {} }), {
      userAgent: 'sojourn',
    })
    const there = new Client(network.transport, { cluster: 'far' })
    hub.run(bondController({ ...hub, clusterClient: () => there }))
    const system = await hub.get({ apiVersion: 'v1', kind: 'Namespace', name: 'kube-system' })
    const id = system?.metadata.uid ?? ''
    const annotations = { 'sojourn.dev/allow-bonds-from': `${id}/team` }
    await apply(space('far', { annotations }))
    await apply(configMap('far', 'app'), configMap('far', 'database'), bondOf('far', 'Deny'))
    await hub.create(configMap('team', 'app'))
    await hub.create(bondOf('team', 'Deny', { cluster: 'far', namespace: 'far' }))
    const attempt = (what: string, ...name: readonly string[]) => kubectl('delete', '--dry-run=server', what, ...name)
    const refused = new RegExp(`in use by Bond far/b \\(orders\\), team/b of cluster ${id} \\(orders\\)`)
    for (const what of [
      ['cm', 'database', '-n', 'far'],
      ['namespace', 'far'],
    ])
      await vi.waitFor(() => expect(attempt(...(what as [string]))).rejects.toThrow(refused), farWait)
    // Its own Bond lets go, ours does not.
    await kubectl('delete', 'cm', 'app', '-n', 'far')
    const alone = new RegExp(`in use by Bond team/b of cluster ${id}`)
    await vi.waitFor(() => expect(attempt('cm', 'database', '-n', 'far')).rejects.toThrow(alone), farWait)

    // Without the policy nothing is refused, and both clusters say so.
    const policies = shippedPolicies('bond-policies').filter(({ metadata }) => metadata.name === 'sojourn-in-use')
    await apply(configMap('far', 'app'))
    const readyOf = (found: Bond | undefined) => found?.status?.conditions?.[0]?.reason
    const reasons = async () => [
      readyOf(await hub.get<Bond>({ apiVersion: bond.apiVersion, kind: 'Bond', namespace: 'team', name: 'b' })),
      await kubectl('get', 'bond', 'b', '-n', 'far', '-o', 'jsonpath={.status.conditions[0].reason}'),
    ]
    await vi.waitFor(async () => expect(await reasons()).toEqual(['Bound', 'Bound']), farWait)
    await kubectl('delete', 'validatingadmissionpolicybinding', 'sojourn-in-use')
    for (const namespace of ['far', 'team']) await touch(namespace)
    await vi.waitFor(async () => expect(await reasons()).toEqual(['NotEnforced', 'NotEnforced']), farWait)
    await apply(...policies)
    await vi.waitFor(async () => expect(await reasons()).toEqual(['Bound', 'Bound']), farWait)

    await kubectl('delete', 'cm', 'app', '-n', 'far')
    await hub.client.deleteObject(configMaps, { namespace: 'team', name: 'app' })
    await vi.waitFor(() => kubectl('delete', 'cm', 'database', '-n', 'far'), farWait)
    await vi.waitFor(() => kubectl('delete', 'namespace', 'far', '--timeout=15s'), farWait)
    network.close()

    async function touch(namespace: string): Promise<void> {
      const body = { metadata: { labels: { look: 'again' } } }
      const place = { namespace, name: 'b' }
      await (namespace === 'team' ? hub.client : there).patch(bond.type, place, { type: 'merge', body })
    }
  })

  it('leaves owner references to Kubernetes, but asks again for what Kubernetes was refused', async () => {
    await apply(space('owned'))
    await apply(configMap('owned', 'root'), configMap('owned', 'app'))
    const uid = await kubectl('get', 'cm', 'root', '-n', 'owned', '-o', 'jsonpath={.metadata.uid}')
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'root', uid }]
    await apply(configMap('owned', 'database', { ownerReferences }), bondOf('owned', 'Deny'))
    await vi.waitFor(
      () => expect(kubectl('delete', '--dry-run=server', 'cm', 'database', '-n', 'owned')).rejects.toThrow('in use'),
      wait,
    )
    // Refused again and again, the garbage collector waits for up to a quarter of an hour: here for ever.
    const manager = cluster.pids['kube-controller-manager'] ?? 0
    process.kill(manager, 'SIGSTOP')
    try {
      await kubectl('delete', 'cm', 'root', '-n', 'owned')
      expect(await names('owned')).toContain('configmap/database')
      await kubectl('delete', 'cm', 'app', '-n', 'owned')
      await vi.waitFor(async () => expect(await names('owned')).toEqual([]), wait)
    } finally {
      process.kill(manager, 'SIGCONT')
    }
  })

  it('keeps what is marked when its owner goes, though the garbage collector wants it gone', async () => {
    await apply(space('marked'))
    await apply(configMap('marked', 'root'))
    const uid = await kubectl('get', 'cm', 'root', '-n', 'marked', '-o', 'jsonpath={.metadata.uid}')
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'root', uid }]
    await apply(
      configMap('marked', 'plain', { ownerReferences }),
      configMap('marked', 'kept', { ownerReferences, annotations: { 'sojourn.dev/keep': 'true' } }),
      configMap('marked', 'never', { ownerReferences, labels: { expiration_time: 'never' } }),
    )
    await kubectl('delete', 'cm', 'root', '-n', 'marked')
    const spared = ['configmap/kept', 'configmap/never']
    await vi.waitFor(async () => expect(await names('marked')).toEqual(spared), wait)
    // A person may delete it, and a namespace takes all it holds.
    await kubectl('delete', 'cm', 'kept', '-n', 'marked')
    await kubectl('delete', 'namespace', 'marked', '--timeout=30s')
  })

  it('takes a depends-on annotation for a Bond where the namespace asks for it, and nowhere else', async () => {
    await apply(space('asked', { labels: { 'sojourn.dev/depends-on': 'cascade' } }), space('silent'))
    for (const namespace of ['asked', 'silent']) {
      await apply(configMap(namespace, 'database'))
      const annotations = { 'config.kubernetes.io/depends-on': `/namespaces/${namespace}/ConfigMap/database` }
      await apply(configMap(namespace, 'app', { annotations }))
    }
    await vi.waitFor(
      async () =>
        expect(await kubectl('get', 'bonds', '-n', 'asked', '-o', 'jsonpath={.items[0].status.phase}')).toBe('Active'),
      wait,
    )
    for (const namespace of ['asked', 'silent'])
      await kubectl('delete', 'cm', 'database', '-n', namespace, '--timeout=30s')
    await vi.waitFor(async () => expect(await names('asked')).toEqual([]), wait)
    expect(await names('silent')).toEqual(['configmap/app'])
    await vi.waitFor(async () => expect(await kubectl('get', 'bonds', '-n', 'asked', '-o', 'name')).toBe(''), wait)
  })

  it('lets nobody have deleted through a Bond what they may not delete', async () => {
    await apply(space('rights'))
    await kubectl('create', 'role', 'bonds', '-n', 'rights', '--verb=create', '--resource=bonds.sojourn.dev')
    await kubectl('create', 'rolebinding', 'bonds', '-n', 'rights', '--role=bonds', '--user=jo')
    const file = join(dirname(cluster.kubeconfig), 'bond.yaml')
    writeFileSync(file, stringify(bondOf('rights', 'Cascade')))
    const asJo = () => kubectl('create', '-f', file, '--as=jo')
    await vi.waitFor(() => expect(asJo()).rejects.toThrow('you may not delete configmaps'), wait)
    await kubectl('create', 'role', 'maps', '-n', 'rights', '--verb=delete', '--resource=configmaps')
    await kubectl('create', 'rolebinding', 'maps', '-n', 'rights', '--role=maps', '--user=jo')
    await vi.waitFor(() => expect(asJo()).rejects.toThrow('you may not update configmaps/finalizers'), wait)
    await kubectl('create', 'role', 'holds', '-n', 'rights', '--verb=update', '--resource=configmaps/finalizers')
    await kubectl('create', 'rolebinding', 'holds', '-n', 'rights', '--role=holds', '--user=jo')
    await vi.waitFor(asJo, wait)
  })
})
