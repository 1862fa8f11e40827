import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { startReferenceCluster, type ReferenceCluster } from '../../scripts/reference-cluster/reference-cluster.ts'
import { ensureTool, toolNames, whyUnavailable } from '../../scripts/reference-cluster/tools.ts'

const missing = await whyUnavailable(...toolNames)

describe.skipIf(missing)('the reference cluster', () => {
  let cluster: ReferenceCluster

  beforeAll(async () => {
    const controllers = ['deployment-controller', 'replicaset-controller', 'garbage-collector-controller']
    cluster = await startReferenceCluster({ controllerManager: { controllers } })
  })
  afterAll(() => cluster?.stop())

  const run = async (tool: 'kubectl' | 'helm', ...args: readonly string[]) => {
    const { stdout } = await promisify(execFile)(await ensureTool(tool), [
      ...args,
      `--kubeconfig=${cluster.kubeconfig}`,
    ])
    return stdout.trim()
  }

  it('begins with the namespaces of every cluster', async () => {
    const names = await run('kubectl', 'get', 'ns', '-o', 'name')
    expect(names.split('\n')).toEqual(
      ['default', 'kube-node-lease', 'kube-public', 'kube-system'].map((name) => `namespace/${name}`),
    )
  })

  it('says which release it is', async () => {
    const { clientVersion, serverVersion } = JSON.parse(await run('kubectl', 'version', '-o', 'json'))
    expect(serverVersion.gitVersion).toMatch(/^v1\.\d+\.\d+$/)
    expect(clientVersion.gitVersion).toBe(serverVersion.gitVersion)
  })

  it('refuses a caller without the token', async () => {
    await expect(run('kubectl', 'get', 'ns', '--token=wrong')).rejects.toThrow('You must be logged in')
  })

  it('collects the ReplicaSet of a Deployment that was deleted', async () => {
    const replicaSets = () => run('kubectl', 'get', 'replicasets', '-o', 'name')
    await run('kubectl', 'create', 'deployment', 'web', '--image=web')
    await vi.waitFor(async () => expect(await replicaSets()).toMatch(/^replicaset\.apps\/web-/), 20_000)
    await run('kubectl', 'delete', 'deployment', 'web')
    await vi.waitFor(async () => expect(await replicaSets()).toBe(''), 30_000)
  })

  it('is a cluster to helm too', async () => {
    expect(JSON.parse(await run('helm', 'list', '-o', 'json'))).toEqual([])
  })
})
