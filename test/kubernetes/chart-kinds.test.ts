import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseDocument } from 'yaml'
import { startReferenceCluster, type ReferenceCluster } from '../../scripts/reference-cluster/reference-cluster.ts'
import { toolNames, whyUnavailable } from '../../scripts/reference-cluster/tools.ts'
import { allKinds } from '../../src/apis/all-kinds.ts'
import { attempt, run } from './kubectl.ts'

const missing = await whyUnavailable(...toolNames)
if (missing) console.warn(`SKIPPED: that the chart upgrades and keeps the kinds was NOT shown: ${missing}`)
const root = join(import.meta.dirname, '../..')
const chart = join(root, 'deploy/chart')
const names = allKinds.map(({ plural, group }) => `${plural}.${group}`).toSorted()

describe.skipIf(missing)('the kinds in the chart', { timeout: 240_000 }, () => {
  let cluster: ReferenceCluster
  let folder: string

  beforeAll(async () => {
    const controllers = ['serviceaccount-controller', 'namespace-controller', 'serviceaccount-token-controller']
    cluster = await startReferenceCluster({ durable: false, controllerManager: { controllers } })
    folder = mkdtempSync(join(tmpdir(), 'sojourn-kinds-'))
  }, 900_000)
  afterAll(async () => {
    if (folder) rmSync(folder, { recursive: true })
    await cluster?.stop()
  })

  const kubectl = (...args: readonly string[]) => run('kubectl', args, cluster)
  const helm = (...args: readonly string[]) => run('helm', [...args, '-n', 'sojourn-system'], cluster)
  const upgrade = (from: string, ...flags: readonly string[]) =>
    attempt('helm', ['upgrade', 'sojourn', from, '-n', 'sojourn-system', ...flags], cluster)
  const served = async () =>
    (await kubectl('get', 'crd', '-o', 'jsonpath={.items[*].metadata.name}')).split(' ').filter(Boolean).toSorted()
  const owner = (name = 'environmentclasses.sojourn.dev') =>
    kubectl('get', 'crd', name, '-o', String.raw`jsonpath={.metadata.annotations.meta\.helm\.sh/release-name}`)
  const preview = () => kubectl('get', 'environmentclass', 'preview', '-o', 'jsonpath={.spec.delete.after}')

  /** A copy of the chart, with the kinds where 0.1.0 had them: in the folder that Helm installs once and does not own. */
  function chartOf010(): string {
    const copy = join(folder, 'old')
    cpSync(chart, copy, { recursive: true })
    renameSync(join(copy, 'files/crds'), join(copy, 'crds'))
    rmSync(join(copy, 'templates/crds.yaml'))
    return copy
  }

  /** A copy of the chart in which one kind has a field more. */
  function nextChart(): string {
    const copy = join(folder, 'next')
    cpSync(chart, copy, { recursive: true })
    const file = join(copy, 'files/crds/environmentclasses.sojourn.dev.yaml')
    const crd = parseDocument(readFileSync(file, 'utf8'))
    const spec = ['spec', 'versions', 0, 'schema', 'openAPIV3Schema', 'properties', 'spec', 'properties']
    crd.setIn([...spec, 'fromTheNext'], { type: 'string', description: '{{ kept as it is }}' })
    writeFileSync(file, String(crd))
    return copy
  }

  it('are adopted from an installation whose kinds Helm does not own, and only when that is asked for', async () => {
    await helm('install', 'sojourn', chartOf010(), '--create-namespace')
    const input = {
      apiVersion: 'sojourn.dev/v1alpha1',
      kind: 'EnvironmentClass',
      metadata: { name: 'preview' },
      spec: { namespaceSelector: { matchLabels: { env: 'preview' } }, delete: { after: '7d' } },
    }
    await run('kubectl', ['apply', '-f', '-'], { ...cluster, input })
    const refused = await upgrade(chart)
    expect(refused.stderr).toContain('invalid ownership metadata')
    expect([await owner(), await preview()]).toEqual(['', '7d'])
    const taken = await upgrade(chart, '--take-ownership')
    expect(taken.stdout + taken.stderr).toContain('STATUS: deployed')
    expect([await owner(), await preview()]).toEqual(['sojourn', '7d'])
  })

  it('are upgraded with the chart', async () => {
    const { stdout, stderr } = await upgrade(nextChart())
    expect(stdout + stderr).toContain('STATUS: deployed')
    const field = await kubectl('explain', 'environmentclass.spec.fromTheNext')
    expect(field).toContain('{{ kept as it is }}')
    expect(await preview()).toBe('7d')
  })

  it('fit with all else into a release record, far below the limit of a Secret', async () => {
    const text = await kubectl('-n', 'sojourn-system', 'get', 'secrets', '-l', 'owner=helm', '-o', 'json')
    const { items } = JSON.parse(text) as { readonly items: readonly { data: { release: string } }[] }
    const largest = Math.max(...items.map(({ data }) => data.release.length))
    console.log(`largest release record: ${Math.round(largest / 1024)} KB`)
    expect(largest).toBeLessThan(500 * 1024)
  })

  it('are looked for by helm test, which fails where they are missing', async () => {
    expect(await helmTest()).toContain('Phase:          Succeeded')
    await kubectl('delete', 'crd', 'departures.sojourn.dev')
    await expect(helmTest()).rejects.toThrow(/failed/)
    await upgrade(chart)
    expect(await served()).toEqual(names)
  })

  /** helm test on a cluster without nodes: this plays the kubelet, and runs what the pod would with the rights that the pod has. */
  async function helmTest(): Promise<string> {
    const stop = new AbortController()
    const kubelet = (async () => {
      const handled = new Set<string>()
      while (!stop.signal.aborted) {
        const { code, stdout } = await attempt(
          'kubectl',
          ['-n', 'sojourn-system', 'get', 'pod', 'sojourn-test', '-o', 'json'],
          cluster,
        )
        const pod = code === 0 ? (JSON.parse(stdout) as TestPod) : undefined
        if (!pod || handled.has(pod.metadata.uid)) continue
        handled.add(pod.metadata.uid)
        const phase = (await runs(pod)) ? 'Succeeded' : 'Failed'
        const patch = [
          'patch',
          'pod',
          'sojourn-test',
          '--subresource=status',
          '--type=merge',
          '-p',
          JSON.stringify({ status: { phase } }),
        ]
        await attempt('kubectl', ['-n', 'sojourn-system', ...patch], cluster)
      }
    })()
    try {
      return await helm('test', 'sojourn', '--timeout', '60s')
    } finally {
      stop.abort()
      await kubelet
    }
  }

  async function runs({ spec }: TestPod): Promise<boolean> {
    const token = await kubectl('-n', 'sojourn-system', 'create', 'token', spec.serviceAccountName)
    const file = join(folder, 'pod.kubeconfig')
    const text = await kubectl('config', 'view', '--raw', '--minify', '-o', 'json')
    const config = JSON.parse(text) as { users: { user: object }[] }
    config.users = config.users.map((user) => ({ ...user, user: { token } }))
    writeFileSync(file, JSON.stringify(config))
    const args = [join(root, 'bin/sojourn.js'), ...(spec.containers[0]?.args ?? []), '--kubeconfig', file]
    return promisify(execFile)(process.execPath, args).then(
      () => true,
      () => false,
    )
  }

  // Without hooks: no kubelet runs the Job that wakes sleeping workloads first.
  it('stay when the release is uninstalled, with their objects, and a new release takes them over', async () => {
    expect(await helm('uninstall', 'sojourn', '--no-hooks')).toContain('kept due to the resource policy')
    expect([await served(), await preview()]).toEqual([names, '7d'])
    await helm('install', 'sojourn', chart)
    expect(await preview()).toBe('7d')
    await helm('uninstall', 'sojourn', '--no-hooks')
    const other = ['install', 'other', chart, '-n', 'sojourn-system']
    expect((await attempt('helm', other, cluster)).stderr).toContain('invalid ownership metadata')
    await run('helm', [...other, '--take-ownership'], cluster)
    expect([await owner(), await preview()]).toEqual(['other', '7d'])
    await helm('uninstall', 'other', '--no-hooks')
  })

  it('are neither installed nor touched with crds.install=false', async () => {
    await helm('install', 'sojourn', chart, '--set', 'crds.install=false')
    expect([await owner(), await served()]).toEqual(['other', names])
    await helm('uninstall', 'sojourn', '--no-hooks')
    expect(await served()).toEqual(names)
  })

  it('are deleted with the release only with crds.keep=false', async () => {
    await helm('install', 'sojourn', chart, '--set', 'crds.keep=false', '--take-ownership')
    await helm('uninstall', 'sojourn', '--no-hooks')
    await expect.poll(served, { timeout: 60_000, interval: 500 }).toEqual([])
  })

  it('come with the Kustomize base, too, which the cluster takes whole', async () => {
    await kubectl('apply', '--server-side', '-k', join(root, 'deploy/kustomize'))
    expect(await served()).toEqual(names)
    const overlay = join(folder, 'overlay')
    mkdirSync(overlay)
    cpSync(join(root, 'deploy/kustomize'), join(folder, 'kustomize'), { recursive: true })
    cpSync(join(root, 'deploy/crds'), join(folder, 'crds'), { recursive: true })
    const image = '{name: sojourn, newName: registry.example.org/sojourn, newTag: 9.9.9}'
    writeFileSync(join(overlay, 'kustomization.yaml'), `resources: [../kustomize]\nimages: [${image}]\n`)
    const base = await kubectl('kustomize', overlay)
    expect(base).toContain('image: registry.example.org/sojourn:9.9.9')
    expect(base).not.toContain('sojourn-dashboard')
    cpSync(join(root, 'deploy/dashboard'), join(folder, 'dashboard'), { recursive: true })
    writeFileSync(join(overlay, 'kustomization.yaml'), 'resources: [../kustomize, ../dashboard]\n')
    const both = join(folder, 'both.yaml')
    writeFileSync(both, await kubectl('kustomize', overlay))
    await kubectl('apply', '--server-side', '-f', both)
    expect(await kubectl('-n', 'sojourn-system', 'get', 'deployments', '-o', 'name')).toContain('/sojourn-dashboard')
  })
})

interface TestPod {
  readonly metadata: { readonly uid: string }
  readonly spec: {
    readonly serviceAccountName: string
    readonly containers: readonly { readonly args?: readonly string[] }[]
  }
}
