import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { stringify } from 'yaml'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { startReferenceCluster, type ReferenceCluster } from '../../scripts/reference-cluster/reference-cluster.ts'
import { whyUnavailable } from '../../scripts/reference-cluster/tools.ts'
import { installManifests } from '../../src/app/install/install.ts'
import type { Run } from '../../src/app/cluster/run.ts'
import { startAs, targets } from './account.ts'
import { run as runTool } from './kubectl.ts'
import type { StoredObject } from '../../src/kube/object.ts'
import { runCommand } from '../command.ts'

const missing = await whyUnavailable('kube-controller-manager', 'kube-apiserver', 'etcd', 'kubectl')
if (missing) console.warn(`SKIPPED: draining a real cluster: ${missing}`)

const wait = { timeout: 20_000, interval: 100 }

describe.skipIf(missing)('sojourn drain on a real kube-apiserver', () => {
  let cluster: ReferenceCluster
  let run: Run
  let manifests: ReturnType<typeof installManifests>

  beforeAll(async () => {
    const controllers = ['garbage-collector-controller', 'namespace-controller', 'clusterrole-aggregation-controller']
    cluster = await startReferenceCluster({ durable: false, controllerManager: { controllers } })
    manifests = installManifests({
      roles: ['collector'],
      image: 'none',
      replicas: 1,
      dryRun: false,
      separateRoles: true,
    })
    await kubectl('apply', ...manifests.filter(({ kind }) => kind !== 'Deployment'))
    await vi.waitFor(() => kubectl('get bonds -A'), wait)
    await kubectl('apply', targets(['', 'configmaps', 'get list watch patch delete']))
    run = await startAs(cluster, 'collector')
  }, 900_000)
  afterAll(async () => {
    await run?.stop()
    await cluster?.stop()
  })

  /** kubectl with these words, and with these objects as a file if there are any. */
  async function kubectl(words: string, ...objects: readonly object[]): Promise<string> {
    const file = join(dirname(cluster.kubeconfig), 'objects.yaml')
    writeFileSync(file, objects.map((object) => `---\n${stringify(object)}`).join(''))
    const from = objects.length > 0 ? ['--server-side', '-f', file] : []
    return runTool('kubectl', [...words.split(' '), ...from], cluster)
  }

  const sojourn = (...words: readonly string[]) => runCommand(cluster.kubeconfig, ...words)

  const configMap = (name: string, metadata: object = {}) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { namespace: 'team', name, ...metadata },
  })
  const bondOf = (dependent: string, dependency: string, onDelete: string) => ({
    apiVersion: 'sojourn.dev/v1alpha1',
    kind: 'Bond',
    metadata: { namespace: 'team', name: `${dependent}-${dependency}` },
    spec: {
      dependent: { apiVersion: 'v1', kind: 'ConfigMap', name: dependent },
      dependency: { apiVersion: 'v1', kind: 'ConfigMap', name: dependency },
      onDelete,
    },
  })

  /** What of ours is on anything, as kubectl sees it. */
  async function traces(): Promise<readonly string[]> {
    const list = JSON.parse(await kubectl('get configmaps,bonds,namespaces -A -o json')) as { items: StoredObject[] }
    return list.items.flatMap(({ metadata: { name, finalizers = [], labels = {} } }) =>
      [...finalizers, ...Object.keys(labels)]
        .filter((trace) => trace.startsWith('sojourn.dev/'))
        .map((trace) => `${name} ${trace}`),
    )
  }

  it('123: refuses while we run, then leaves nothing of ours on anything, with a cascade in flight', async () => {
    await kubectl('apply', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } })
    await kubectl('apply', configMap('app', { finalizers: ['x.dev/busy'] }), configMap('database'))
    await kubectl('apply', configMap('user'), configMap('held'), configMap('denied'))
    await kubectl(
      'apply',
      bondOf('app', 'database', 'Cascade'),
      bondOf('user', 'held', 'Hold'),
      bondOf('user', 'denied', 'Deny'),
    )
    const expected = [
      'app-database sojourn.dev/bond',
      'database sojourn.dev/cascade-deletion',
      'denied sojourn.dev/in-use',
      'held sojourn.dev/cascade-deletion',
      'team sojourn.dev/in-use',
      'user-denied sojourn.dev/bond',
      'user-held sojourn.dev/bond',
    ]
    await vi.waitFor(async () => expect((await traces()).toSorted()).toEqual(expected), wait)
    await kubectl('delete configmap database -n team --wait=false')
    const leaving = 'get configmap app -n team -o jsonpath={.metadata.deletionTimestamp}'
    await vi.waitFor(async () => expect(await kubectl(leaving)).not.toBe(''), wait)

    expect(await sojourn('drain', '--yes')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/Sojourn is still running: sojourn-collector .*scale deployment --all --replicas=0/),
    })
    expect((await traces()).toSorted()).toEqual(expected)

    await run.stop()
    await kubectl('apply', ...asAnActivatorLeft('web'))
    const { code, err } = await sojourn('drain', '--yes')
    expect({ code, problems: err.split('\n').filter((line) => line.startsWith('sojourn')) }).toEqual({
      code: 0,
      problems: [],
    })
    expect(await traces()).toEqual([])
    const web = JSON.parse(await kubectl('get deployment web -n team -o json')) as StoredObject
    expect([web.spec, web.metadata.labels ?? {}]).toEqual([expect.objectContaining({ replicas: 2 }), {}])
    expect(await kubectl('get services -n team -o jsonpath={.items[*].metadata.name}')).toBe('web')
    expect(await kubectl('get events -n team -o jsonpath={.items[*].reason}')).toContain('Woken')
    const left = await kubectl('get configmap -n team -o jsonpath={.items[*].metadata.name}')
    expect(left.split(' ').filter((name) => name !== 'kube-root-ca.crt')).toEqual(['app', 'denied', 'held', 'user'])
    // With nothing of ours in the way, the kinds and all their objects go, and so does the namespace.
    await kubectl('delete crd bonds.sojourn.dev --timeout=30s')
    await kubectl('patch configmap app -n team --type=merge -p {"metadata":{"finalizers":null}}')
    await kubectl('delete namespace team --timeout=30s')
  }, 240_000)
})

/** A workload that sleeps behind a Service with a companion, and no activator to wake it. */
function asAnActivatorLeft(name: string): readonly object[] {
  const labels = { app: name }
  const ports = [{ port: 80 }]
  const notes = { 'sojourn.dev/former-replicas': '2', 'proxless/last-used': '2026-11-01T00:00:00Z' }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'none' }] } }
  const service = (named: string, metadata: object, spec: object) => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: 'team', name: named, ...metadata },
    spec: { ports, ...spec },
  })
  return [
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { namespace: 'team', name, labels: { proxless: 'true' }, annotations: notes },
      spec: { replicas: 0, selector: { matchLabels: labels }, template },
    },
    service(name, { annotations: { 'proxless/deployment': name } }, { selector: labels }),
    service(`${name}-proxless`, { labels: { 'app.kubernetes.io/part-of': 'sojourn' } }, {}),
  ]
}
