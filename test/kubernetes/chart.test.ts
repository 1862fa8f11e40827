import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startReferenceCluster, type ReferenceCluster } from '../../scripts/reference-cluster/reference-cluster.ts'
import { ensureTool, toolNames, whyUnavailable } from '../../scripts/reference-cluster/tools.ts'
import { readConfig } from '../../src/app/config.ts'
import { createCore } from '../../src/app/core.ts'
import { clusterRoles, nameOf, type ClusterRole } from '../../src/app/rbac.ts'
import { startSystems } from '../../src/app/systems.ts'
import { Client } from '../../src/client/client.ts'
import { networkTransport } from '../../src/client/network-transport.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import type { Transport } from '../../src/kube/transport.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { silentLogger } from '../../src/runtime/log.ts'
import { proofOfWork, work } from '../role-work.ts'

const missing = await whyUnavailable(...toolNames)
/** A cluster without nodes has no pods to lead requests to: what shows there is that the workload is put to sleep. */
const proofs = { ...proofOfWork, activator: /^PATCH .*\/deployments\/web$/ }
const chart = join(import.meta.dirname, '../../deploy/chart')

describe.skipIf(missing)('the chart on a real kube-apiserver', { timeout: 180_000 }, () => {
  let cluster: ReferenceCluster
  let administrator: Client
  const closing: (() => void)[] = []

  beforeAll(async () => {
    const controllers = ['clusterrole-aggregation-controller', 'serviceaccount-controller']
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
  const run = async (tool: 'kubectl' | 'helm', ...args: readonly string[]) => {
    const { stdout } = await promisify(execFile)(await ensureTool(tool), [
      ...args,
      `--kubeconfig=${cluster.kubeconfig}`,
    ])
    return stdout.trim()
  }
  const helm = (command: string, ...flags: readonly string[]) =>
    run('helm', command, 'sojourn', chart, '-n', 'sojourn-system', ...flags)
  const create = async (manifest: KubeObject) => {
    const type = await administrator.discovery.typeOf(manifest)
    if (type) await administrator.create(type, manifest)
  }

  it('is taken whole by install and upgrade', async () => {
    expect(await helm('install', '--create-namespace')).toContain('STATUS: deployed')
    expect(await helm('upgrade', '--set', 'dryRun=false')).toContain('STATUS: deployed')
    const accounts = await run('kubectl', '-n', 'sojourn-system', 'get', 'serviceaccounts', '-o', 'name')
    expect(accounts.split('\n')).toEqual(
      expect.arrayContaining(clusterRoles.map((role) => `serviceaccount/${nameOf(role)}`)),
    )
  })

  it.each(clusterRoles)(
    'lets the %s do its work with its own account, and asks for nothing it may not have',
    async (role) => {
      const token = await run('kubectl', '-n', 'sojourn-system', 'create', 'token', nameOf(role))
      await create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } }).catch(() => {})
      for (const manifest of work[role]) await create(manifest).catch(() => {})
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

  it('leaves no workload behind', async () => {
    await run('helm', 'uninstall', 'sojourn', '-n', 'sojourn-system')
    expect(await run('kubectl', '-n', 'sojourn-system', 'get', 'deployments', '-o', 'name')).toBe('')
    expect(await run('kubectl', 'get', 'crd', 'departures.sojourn.dev', '-o', 'name')).toContain('departures')
  })
})

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

async function startRole(role: ClusterRole, client: Client): Promise<() => Promise<void>> {
  const config = readConfig({ flags: { 'proxy-port': '0', only: role }, env: {} })
  const core = createCore({ config, client, clock: systemClock, log: silentLogger })
  await startSystems(core, [role])
  return () => core.stop()
}
