import { request } from 'node:https'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestServer, type TestServer } from '../apiserver/test-server.ts'
import { readConfig } from '../../src/app/config/config.ts'
import { installManifests } from '../../src/app/install/install.ts'
import { clusterRoles, nameOf } from '../../src/app/install/rbac.ts'
import { startRun } from '../../src/app/cluster/run.ts'
import { Client } from '../../src/client/client.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { systemClock } from '../../src/runtime/time/clock.ts'
import { silentLogger } from '../../src/runtime/observability/log.ts'
import { work } from '../role-work.ts'

describe('sojourn run with the account of one role', () => {
  let server: TestServer
  let administrator: Client
  let url: string
  beforeAll(async () => {
    server = await startTestServer({ clock: systemClock })
    administrator = new Client(server.transport)
    url = (await server.listen({ port: 0 })).url
    const options = { roles: clusterRoles, image: 'sojourn', replicas: 1, dryRun: false, separateRoles: true }
    for (const manifest of installManifests(options))
      if (manifest.kind !== 'ValidatingWebhookConfiguration') await create(manifest)
    await create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } })
    for (const manifest of Object.values(work).flat()) await create(manifest)
  })
  afterAll(() => server?.close())

  async function create(manifest: KubeObject): Promise<void> {
    const type = await administrator.discovery.typeOf(manifest)
    if (type) await administrator.create(type, manifest)
  }

  it.each(clusterRoles)('becomes ready as the %s, asks whose turn it is, and who calls', async (role) => {
    const path = `/api/v1/namespaces/sojourn-system/serviceaccounts/${nameOf(role)}/token`
    const { body } = await administrator.request({
      method: 'POST',
      path,
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
    })
    const { token } = (body as { status: { token: string } }).status
    const config = readConfig({ flags: { port: '0', 'proxy-port': '0', only: role }, env: {} })
    const cluster = { server: url, ca: server.credentials.authority, namespace: 'default' }
    const running = await startRun(
      config,
      { ...cluster, credentials: () => Promise.resolve({ token }) },
      { log: silentLogger },
    )
    const administratorsToken = server.credentials.tokens.tokenOf('system:admin')
    await expect.poll(() => statusOf(`${running.url}/readyz`), { timeout: 30_000 }).toBe(200)
    expect(await statusOf(`${running.url}/metrics`, administratorsToken)).toBe(200)
    // The first measure is taken half a second after the start.
    const metrics = async () => (await answerOf(`${running.url}/metrics`, administratorsToken)).text
    await expect.poll(metrics, { timeout: 30_000 }).toContain('sojourn_event_loop_lag_seconds_count')
    expect(await statusOf(`${running.url}/metrics`, 'wrong')).toBe(401)
    await running.stop()
  })
})

async function statusOf(url: string, token?: string): Promise<number | undefined> {
  return (await answerOf(url, token)).status
}

function answerOf(
  url: string,
  token?: string,
): Promise<{ readonly status: number | undefined; readonly text: string }> {
  const headers = token ? { authorization: `Bearer ${token}` } : {}
  return new Promise((resolve) => {
    const nothing = () => resolve({ status: undefined, text: '' })
    request(url, { headers, rejectUnauthorized: false }, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (part: string) => void (text += part))
      answer.on('end', () => resolve({ status: answer.statusCode, text })).on('error', nothing)
    })
      .on('error', nothing)
      .end()
  })
}
