import { request } from 'node:https'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadKubeconfig } from '../../client/kubeconfig.ts'
import { silentLogger } from '../../runtime/observability/log.ts'
import { readConfig } from '../config/config.ts'
import { startUp } from '../embedded/up.ts'
import { startDashboard } from './cluster-dashboard.ts'

const [proxy, elsewhere] = ['127.0.0.2', '127.0.0.1']
const ada = { 'x-user': 'ada@example.org', 'x-groups': 'team-a' }
const self = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }

describe('sign-in by the headers of an authenticating proxy', { timeout: 60_000 }, () => {
  const data = mkdtempSync(join(tmpdir(), 'proxy-sign-in-'))
  let up: Awaited<ReturnType<typeof startUp>>
  let dashboard: Awaited<ReturnType<typeof startDashboard>>

  beforeAll(async () => {
    const flags = { data, port: '0', 'proxy-port': '0', only: 'api', durable: false }
    up = await startUp(readConfig({ flags, env: {} }), silentLogger)
    const headers = { 'proxy-user-header': 'X-User', 'proxy-groups-header': 'X-Groups' }
    const config = readConfig({
      flags: { only: 'dashboard', port: '0', 'trusted-proxies': `${proxy}/32`, ...headers },
      env: {},
    })
    const cluster = loadKubeconfig([up.kubeconfig], { now: () => Date.now(), env: {} })
    dashboard = await startDashboard(config, cluster, { log: silentLogger })
  }, 60_000)
  afterAll(async () => {
    await dashboard?.stop()
    await up?.stop()
    rmSync(data, { recursive: true, force: true })
  })

  /** Sends a request from this address of the machine. */
  const send = (
    path: string,
    headers: Record<string, string> = {},
    { from = proxy, body = undefined as unknown } = {},
  ) =>
    new Promise<{ status: number; cookie: string; body: Record<string, unknown> }>((resolve, reject) => {
      const sent = request(
        new URL(path, dashboard.url),
        {
          method: body === undefined ? 'GET' : 'POST',
          localAddress: from,
          rejectUnauthorized: false,
          agent: false,
          headers: { 'sec-fetch-site': 'same-origin', 'content-type': 'application/json', ...headers },
        },
        (answer) => {
          let text = ''
          answer.on('data', (chunk: Buffer) => (text += chunk.toString()))
          answer.on('end', () => {
            const cookie = (answer.headers['set-cookie'] ?? []).map((each) => each.split(';')[0]).join('; ')
            resolve({
              status: answer.statusCode ?? 0,
              cookie,
              body: JSON.parse(text || '{}') as Record<string, unknown>,
            })
          })
        },
      )
      sent.on('error', reject).end(body === undefined ? '' : JSON.stringify(body))
    })
  const signedIn = async () => {
    const { cookie, body } = await send('/auth/proxy', ada, { body: {} })
    return { cookie, 'x-sojourn-session': String(body.secret) }
  }
  const userSeen = async (headers: Record<string, string>, from = proxy) => {
    const { status, body } = await send(self, headers, { from, body: review })
    return status === 201 || status === 200 ? (body.status as { userInfo: object }).userInfo : status
  }

  it('offers the user to sign in, and acts as that user with those groups', async () => {
    expect((await send('/auth/methods', ada)).body).toEqual({ user: 'ada@example.org' })
    expect(await userSeen({ ...(await signedIn()), ...ada })).toMatchObject({
      username: 'ada@example.org',
      groups: expect.arrayContaining(['team-a']) as unknown,
    })
  })

  it('reads no such header of any other client', async () => {
    expect((await send('/auth/methods', ada, { from: elsewhere })).body).toEqual({})
    expect((await send('/auth/proxy', ada, { from: elsewhere, body: {} })).status).toBe(403)
  })

  it('ends the session where the proxy is passed by, names another user, or none', async () => {
    const session = await signedIn()
    expect(await userSeen({ ...session, ...ada }, elsewhere)).toBe(401)
    expect(await userSeen({ ...session, 'x-user': 'bob@example.org' })).toBe(401)
    expect(await userSeen(session)).toBe(401)
  })

  it('takes the groups of each request, not those of the sign-in', async () => {
    const seen = await userSeen({ ...(await signedIn()), ...ada, 'x-groups': 'team-b' })
    const { groups } = seen as { readonly groups: readonly string[] }
    expect([groups.includes('team-a'), groups.includes('team-b')]).toEqual([false, true])
  })

  it('never passes headers of clients on to the cluster', async () => {
    const forged = { 'impersonate-user': 'root', 'x-remote-user': 'root', authorization: 'Bearer forged' }
    expect(await userSeen({ ...(await signedIn()), ...ada, ...forged })).toMatchObject({ username: 'ada@example.org' })
  })

  it('starts no session for a page of another site', async () => {
    const { status } = await send('/auth/proxy', { ...ada, 'sec-fetch-site': 'cross-site' }, { body: {} })
    expect(status).toBe(403)
  })
})
