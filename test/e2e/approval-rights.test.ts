import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { request } from 'node:https'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readConfig } from '../../src/app/config/config.ts'
import { startUp, type Up } from '../../src/app/embedded/up.ts'
import { isAllowed } from '../../src/client/access-review.ts'
import { Client } from '../../src/client/client.ts'
import { loadKubeconfig } from '../../src/client/kubeconfig.ts'
import { networkTransport } from '../../src/client/network-transport.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { silentLogger } from '../../src/runtime/observability/log.ts'

let up: Up
let directory: string

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'rights-'))
  up = await startUp(
    readConfig({ flags: { data: directory, port: '0', 'proxy-port': '0', only: 'api,promoter' }, env: {} }),
    silentLogger,
  )
})
afterAll(async () => {
  await up.stop()
  rmSync(directory, { recursive: true })
})

function tokenOf(user: string): string {
  const line = readFileSync(join(directory, 'pki', 'tokens.csv'), 'utf8')
    .split('\n')
    .find((candidate) => candidate.includes(user))
  return line?.split(',')[0] ?? ''
}

/** What somebody with this token is told when they approve a promotion. */
function approveAs(token: string | undefined): Promise<number> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      `${up.api}/v1/namespaces/default/pipelines/shop/environments/prod/approvals`,
      {
        method: 'POST',
        rejectUnauthorized: false,
        agent: false,
        headers: { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) },
      },
      (response) => {
        response.resume()
        resolve(response.statusCode ?? 0)
      },
    )
    outgoing.on('error', reject)
    outgoing.end(JSON.stringify({ revision: '1.0.0', promotionId: 'x' }))
  })
}

describe('an approval by somebody who has signed in', () => {
  it('is refused from a viewer, who may not change pipelines', async () =>
    expect(await approveAs(tokenOf('sojourn:viewer'))).toBe(401))
  it('is refused from nobody', async () => expect(await approveAs(undefined)).toBe(401))
  it('gets as far as the pipeline from an administrator', async () =>
    expect(await approveAs(tokenOf('system:admin'))).toBe(422))
})

describe('the ClusterRoles that guides say to bind', () => {
  it('are there without an installation, too: view reads pipelines, sojourn-approver approves', async () => {
    const network = networkTransport(loadKubeconfig([up.kubeconfig], { now: Date.now, env: {} }))
    const client = new Client(network.transport)
    const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1' }
    for (const [user, name] of Object.entries({ eve: 'view', bob: 'sojourn-approver' }))
      await client.create({ ...rbac, kind: 'RoleBinding', plural: 'rolebindings', namespaced: true }, {
        apiVersion: `${rbac.group}/v1`,
        kind: 'RoleBinding',
        metadata: { namespace: 'default', name: user },
        roleRef: { apiGroup: rbac.group, kind: 'ClusterRole', name },
        subjects: [{ apiGroup: rbac.group, kind: 'User', name: user }],
      } as KubeObject)
    const may = (user: string, verb: string, group: string, resource: string) =>
      isAllowed(client, { user, resourceAttributes: { verb, group, resource, namespace: 'default' } })
    const canRead = ['list', 'pipelines.weave.works', 'pipelines'] as const
    const canApprove = ['create', 'sojourn.dev', 'approvals'] as const
    await expect.poll(() => may('eve', ...canRead)).toBe(true)
    expect(await may('eve', ...canApprove)).toBe(false)
    expect(await may('bob', ...canApprove)).toBe(true)
    network.close()
  })
})
