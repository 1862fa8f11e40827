import { X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { startReferenceCluster, type ReferenceCluster } from '../../scripts/reference-cluster/reference-cluster.ts'
import { toolNames, whyUnavailable } from '../../scripts/reference-cluster/tools.ts'
import { certificateSource } from '../../src/app/cluster/certificate-source.ts'
import { readConfig } from '../../src/app/config/config.ts'
import { createInstance } from '../../src/app/core/instance.ts'
import { clusterRoles, nameOf, type ClusterRole } from '../../src/app/install/rbac.ts'
import { startSystems } from '../../src/app/core/systems.ts'
import { Client } from '../../src/client/client.ts'
import { networkTransport } from '../../src/client/network-transport.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import type { Transport } from '../../src/kube/transport.ts'
import { systemClock } from '../../src/runtime/time/clock.ts'
import { silentLogger } from '../../src/runtime/observability/log.ts'
import { proofOfWork, work } from '../role-work.ts'
import { runCommand } from '../command.ts'
import { attempt, run as runTool } from './kubectl.ts'

const missing = await whyUnavailable(...toolNames)
/** A cluster without nodes has no pods to lead requests to: what shows there is that the workload is put to sleep. */
const proofs = { ...proofOfWork, activator: /^PATCH .*\/deployments\/web$/ }
const chart = join(import.meta.dirname, '../../deploy/chart')

describe.skipIf(missing)('the chart on a real kube-apiserver', { timeout: 180_000 }, () => {
  let cluster: ReferenceCluster
  let administrator: Client
  const closing: (() => void)[] = []

  beforeAll(async () => {
    const controllers = ['clusterrole-aggregation', 'serviceaccount', 'job', 'garbage-collector'].map(
      (name) => `${name}-controller`,
    )
    cluster = await startReferenceCluster({ durable: false, controllerManager: { controllers } })
    administrator = new Client(reach(cluster.token))
  }, 900_000)
  afterAll(async () => {
    for (const close of closing) close()
    await cluster?.stop()
  })

  function reach(token: string): Transport {
    const { url: server, ca } = cluster
    const config = { server, ca, namespace: 'default', credentials: () => Promise.resolve({ token }) }
    const network = networkTransport(config, { userAgent: 'test' })
    closing.push(() => network.close())
    return network.transport
  }
  const run = (tool: 'kubectl' | 'helm', ...args: readonly string[]) => runTool(tool, args, cluster)
  const helm = (command: string, ...flags: readonly string[]) =>
    run('helm', command, 'sojourn', chart, '-n', 'sojourn-system', ...flags)
  const create = async (manifest: KubeObject) => {
    const type = await administrator.discovery.typeOf(manifest)
    if (!type) throw new Error(`${manifest.kind} is not served yet`)
    await administrator.create(type, manifest)
  }

  it('is taken whole by install and upgrade', async () => {
    const installed = await helm('install', '--create-namespace', '--set', 'separateRoles=true')
    expect(installed).toContain('STATUS: deployed')
    expect(installed).toMatch(/stop Sojourn and drain[^]*sojourn drain --yes\n +helm uninstall sojourn/)
    expect(await helm('upgrade', '--set', 'dryRun=false,separateRoles=true')).toContain('STATUS: deployed')
    const accounts = await run('kubectl', '-n', 'sojourn-system', 'get', 'serviceaccounts', '-o', 'name')
    expect(accounts.split('\n')).toEqual(
      expect.arrayContaining(clusterRoles.map((role) => `serviceaccount/${nameOf(role)}`)),
    )
  })

  /** The server takes a moment to serve new kinds, and to let its admission policies see them. */
  const createSoon = (manifest: KubeObject) =>
    vi.waitFor(
      () =>
        create(manifest).catch((error: unknown) => {
          if (!String(error).includes('already exists')) throw error
        }),
      { timeout: 60_000, interval: 250 },
    )

  it.each(clusterRoles)(
    'lets the %s do its work with its own account, and asks for nothing it may not have',
    async (role) => {
      const token = await run('kubectl', '-n', 'sojourn-system', 'create', 'token', nameOf(role))
      await createSoon({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } })
      for (const manifest of work[role]) await createSoon(manifest)
      const { asked, refused, transport } = recorded(reach(token))
      const stop = await startRole(role, new Client(transport))
      await expect
        .poll(() => [...asked], { timeout: 120_000, interval: 200 })
        .toContainEqual(expect.stringMatching(proofs[role]))
      await stop()
      // The collector looks at every kind there is; which ones it may see is the administrator's choice.
      expect([...refused].filter((line) => role !== 'collector' || !line.startsWith('GET '))).toEqual([])
    },
  )

  it('makes pods that a namespace takes which takes only the most restricted', async () => {
    const { items } = JSON.parse(await run('kubectl', '-n', 'sojourn-system', 'get', 'deployments', '-o', 'json')) as {
      readonly items: readonly (KubeObject & { readonly spec: { readonly template: KubeObject } })[]
    }
    expect(items).toHaveLength(clusterRoles.length + 1)
    await run('kubectl', 'label', 'namespace', 'sojourn-system', 'pod-security.kubernetes.io/enforce=restricted')
    const pod = (template: object, name = 'p') => ({ apiVersion: 'v1', kind: 'Pod', ...template, metadata: { name } })
    const dry = ['-n', 'sojourn-system', 'create', '--dry-run=server', '-f', '-']
    const careless = { spec: { containers: [{ name: 'c', image: 'i' }], serviceAccountName: 'sojourn-cleaner' } }
    const refused = await attempt('kubectl', dry, { ...cluster, input: pod(careless) })
    expect(refused.stderr).toContain('violates PodSecurity "restricted')
    for (const { metadata, spec } of items) {
      const { code, stderr } = await attempt('kubectl', dry, { ...cluster, input: pod(spec.template) })
      expect([metadata.name, code, stderr]).toEqual([metadata.name, 0, ''])
    }
  })

  it('keeps the certificates that the running program made, whoever it calls and is called by', async () => {
    const as = async (role: ClusterRole) =>
      new Client(reach(await run('kubectl', '-n', 'sojourn-system', 'create', 'token', nameOf(role))))
    const served = async (only: ClusterRole) => {
      const config = readConfig({ flags: { only }, env: {} })
      return certificateSource(config, { client: await as(only), clock: systemClock }).current()
    }
    const [cleaner, promoter] = [await served('cleaner'), await served('promoter')]
    expect(await helm('upgrade', '--set', 'dryRun=false,separateRoles=true,logLevel=debug')).toContain(
      'STATUS: deployed',
    )
    expect(await served('cleaner')).toEqual(cleaner)
    expect(await served('promoter')).toEqual(promoter)
    const authority = (path: string, ...what: readonly string[]) =>
      run('kubectl', '-n', 'sojourn-system', 'get', ...what, '-o', `jsonpath={${path}}`)
    const trusted = await authority('.webhooks[0].clientConfig.caBundle', 'validatingwebhookconfiguration', 'sojourn')
    expect(trusted).toBe(await authority('.data.ca\\.crt', 'secret', 'sojourn-webhook'))
    const given = await authority('.data.ca\\.crt', 'secret', 'sojourn-promoter')
    expect(new X509Certificate(promoter.certificate).verify(new X509Certificate(atob(given)).publicKey)).toBe(true)
  })

  it('goes from release to release and back, with the values that were set', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sojourn-chart-'))
    try {
      await run('helm', 'package', chart, '--version', '0.99.0', '--app-version', '0.99.0', '-d', folder)
      const next = join(folder, 'sojourn-0.99.0.tgz')
      const release = ['sojourn', next, '-n', 'sojourn-system', '--reset-then-reuse-values']
      expect(await run('helm', 'upgrade', ...release, '--set', 'keepRecords=7d')).toContain('STATUS: deployed')
      const pod = (path: string) =>
        run('kubectl', '-n', 'sojourn-system', 'get', 'deployment', 'sojourn-cleaner', '-o', `jsonpath={${path}}`)
      const container = '.spec.template.spec.containers[0]'
      expect(await pod(`${container}.image`)).toBe('sojourn:0.99.0')
      const args = await pod(`${container}.args`)
      expect([args.includes('--log-level=debug'), args.includes('--dry-run')]).toEqual([true, false])
      await run('helm', 'rollback', 'sojourn', '-n', 'sojourn-system')
      expect(await pod(`${container}.image`)).not.toContain('0.99.0')
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  const replicas = () => run('kubectl', '-n', 'team', 'get', 'deployment', 'web', '-o', 'jsonpath={.spec.replicas}')
  const tokenOf = (account: string) => run('kubectl', '-n', 'sojourn-system', 'create', 'token', account)
  const uninstall = () => run('helm', 'uninstall', 'sojourn', '-n', 'sojourn-system')

  /** Runs the activator until it has put the workload to sleep. */
  async function putToSleep(account = nameOf('activator'), env = {}): Promise<() => Promise<void>> {
    const stop = await startRole('activator', new Client(reach(await tokenOf(account))), env)
    await expect.poll(replicas, { timeout: 120_000, interval: 500 }).toBe('0')
    return stop
  }

  /** A Deployment that a kubelet would stop once it is scaled to zero. */
  async function stopWithDeployment(name: string, stop: () => Promise<void>): Promise<void> {
    const place = ['-n', 'sojourn-system', 'get', 'deployment', name, '-o', 'jsonpath={.spec.replicas}']
    await expect.poll(() => run('kubectl', ...place), { timeout: 120_000, interval: 200 }).toBe('0')
    await stop()
  }

  /** Runs the pod of the chart's Job as a kubelet would, with the account it names. */
  async function runHook(): Promise<readonly string[]> {
    const here = ['-n', 'sojourn-system', '-l', 'batch.kubernetes.io/job-name=sojourn-uninstall', '-o', 'json']
    const pod = await vi.waitFor(
      async () => {
        const { items } = JSON.parse(await run('kubectl', 'get', 'pods', ...here)) as { items: HookPod[] }
        const pending = items.filter(({ status }) => status?.phase === 'Pending')
        expect(pending).toHaveLength(1)
        return pending[0]!
      },
      { timeout: 60_000, interval: 200 },
    )
    const { serviceAccountName, containers } = pod.spec
    const folder = mkdtempSync(join(tmpdir(), 'sojourn-hook-'))
    const kubeconfig = join(folder, 'kubeconfig')
    const named = (kind: string, value: object) => [{ name: 'hook', [kind]: value }]
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'hook',
      contexts: named('context', { cluster: 'hook', user: 'hook' }),
      clusters: named('cluster', { server: cluster.url, 'certificate-authority-data': btoa(cluster.ca) }),
      users: named('user', { token: await tokenOf(serviceAccountName) }),
    }
    writeFileSync(kubeconfig, JSON.stringify(config))
    const { code, err } = await runCommand(kubeconfig, ...containers[0]!.args)
    rmSync(folder, { recursive: true })
    const status = JSON.stringify({ status: { phase: code === 0 ? 'Succeeded' : 'Failed' } })
    await run(
      'kubectl',
      '-n',
      'sojourn-system',
      'patch',
      'pod',
      pod.metadata.name,
      '--subresource=status',
      '-p',
      status,
    )
    expect(err.split('\n').filter((line) => line.startsWith('sojourn'))).toEqual([])
    return containers[0]!.args
  }

  it('wakes what sleeps before it is uninstalled, with the account of the activator', async () => {
    const stop = await putToSleep()
    const [, , args] = await Promise.all([uninstall(), stopWithDeployment(nameOf('activator'), stop), runHook()])
    expect(args).toEqual(['drain', '--yes', '--only=activator', '--stop=sojourn-activator'])
    expect(await replicas()).toBe('1')
    const told = await run('kubectl', '-n', 'team', 'get', 'events', '-o', 'jsonpath={.items[*].message}')
    expect(told).toContain('Scaled to 1, as before it slept')
  })

  it('leaves nothing behind but the kinds, and what the program made itself', async () => {
    const resources = (await run('kubectl', 'api-resources', '--verbs=list', '-o', 'name')).split('\n').join(',')
    const left = (label: string) => run('kubectl', 'get', resources, '-A', '-o', 'name', '-l', label)
    const ofHelm = async () => (await left('app.kubernetes.io/managed-by=Helm')).split('\n')
    // Kubernetes deletes the pod of the Job a moment after the Job.
    await expect
      .poll(async () => (await ofHelm()).filter((name) => !name.startsWith('customresourcedefinition.')), {
        timeout: 60_000,
        interval: 500,
      })
      .toEqual([])
    const names = (await left('app.kubernetes.io/part-of=sojourn')).split('\n')
    // The janitor makes its key with its first notice, if it runs for so long.
    const own = /^(?:lease\.|environment\.|secret\/sojourn-janitor-links$)/
    expect(names.filter((name) => name !== '' && !own.test(name))).toEqual([])
    expect(await run('kubectl', 'get', 'crd', 'departures.sojourn.dev', '-o', 'name')).toContain('departures')
  })

  it('has the rights for that in the one namespace that it serves, too', async () => {
    await helm('install', '--set', 'dryRun=false,proxy.namespace=team')
    const stop = await putToSleep('sojourn', { NAMESPACE: 'team' })
    const [, , args] = await Promise.all([uninstall(), stopWithDeployment('sojourn', stop), runHook()])
    expect(args.slice(-2)).toEqual(['--stop=sojourn', '--namespace=team'])
    expect(await replicas()).toBe('1')
  })

  it('leaves sleeping workloads asleep without its hook, and a drain after the uninstall wakes them', async () => {
    await helm('install', '--set', 'dryRun=false,separateRoles=true,uninstall.wake=false')
    await (
      await putToSleep()
    )()
    await uninstall()
    expect(await replicas()).toBe('0')
    const drained = await vi.waitFor(
      async () => {
        const answer = await runCommand(cluster.kubeconfig, 'drain', '--yes')
        expect(answer.err).not.toContain('still running')
        return answer
      },
      { timeout: 60_000, interval: 1000 },
    )
    expect([drained.code, drained.err]).toEqual([0, expect.not.stringContaining('sojourn drain:')])
    expect(drained.out).toMatch(/Deployment\/team\/web .*scaled to 1/)
    expect(await replicas()).toBe('1')
  })
})

interface HookPod {
  readonly metadata: { readonly name: string }
  readonly status?: { readonly phase: string }
  readonly spec: {
    readonly serviceAccountName: string
    readonly containers: readonly { readonly args: readonly string[] }[]
  }
}

/** Notes what was asked, and what of it was refused. */
function recorded(transport: Transport) {
  const asked = new Set<string>()
  const refused = new Set<string>()
  return {
    asked,
    refused,
    transport: (async (request) => {
      const answer = await transport(request)
      const line = `${request.method} ${request.path}`
      asked.add(line)
      if (answer.status === 403) refused.add(line)
      return answer
    }) satisfies Transport,
  }
}

async function startRole(role: ClusterRole, client: Client, env = {}): Promise<() => Promise<void>> {
  const config = readConfig({ flags: { 'proxy-port': '0', only: role }, env })
  const instance = createInstance({ config, client, clock: systemClock, log: silentLogger })
  await startSystems(instance, [role])
  return () => instance.lifecycle.stop()
}
