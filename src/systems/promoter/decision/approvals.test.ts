import { customResourceDefinitions, namespaces } from '../../../kube/core-types.ts'
import { createHmac } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { approval as approvalKind, type Approval, type ApprovalSpec } from '../../../apis/approval.ts'
import { pipeline as pipelineKind, type Pipeline } from '../../../apis/pipeline.ts'
import { startTestServer, type TestServer } from '../../../../test/apiserver/test-server.ts'
import { Client } from '../../../client/client.ts'
import { systemClock, type Clock } from '../../../runtime/time/clock.ts'
import { promoterRoutes, type Route, type RouteRequest, type RouteResponse } from '../http/routes.ts'
import { signRequest } from '../http/signature.ts'
import { environments, pipelineOf, pullRequestPromotion, World } from '../../../../test/promoter/world.ts'

const key = 'shared-key'
const secret = { 'hmac-key': key, 'hmac-key-previous': 'old-key', 'hmac-key.ann': 'of-ann', 'hmac-key.bob': 'of-bob' }
let server: TestServer
let client: Client
let routes: readonly Route[]
let now: number
let hinted: string[]
let id: string
let clients = 0

beforeEach(async () => {
  server = await startTestServer({ clock: systemClock })
  client = new Client(server.transport)
  for (const { crd } of [pipelineKind, approvalKind]) await client.create(customResourceDefinitions, crd)
  now = Date.UTC(2026, 10, 2, 12)
  hinted = []
  const clock: Clock = { ...systemClock, now: () => now }
  routes = promoterRoutes({
    client,
    clock,
    readSecret: ({ name }) => Promise.resolve(name === 'hmac' ? secret : undefined),
    hint: ({ metadata }) => void hinted.push(metadata.name),
    preview: () => {
      throw new Error('not asked for')
    },
    countApproval: () => {},
  })
  id = await waiting()
})
afterEach(() => server.close())

/** A pipeline whose prod waits for two approvals of 1.1.0. */
async function waiting(revision = '1.1.0'): Promise<string> {
  const promotion = {
    strategy: { ...pullRequestPromotion.strategy, secretRef: { name: 'hmac' } },
    approval: { required: 2 },
  }
  const world = new World(pipelineOf({ environments: environments('dev', 'prod'), promotion }))
  world.runs({ dev: revision, prod: '1.0.0' })
  world.step()
  await client
    .create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } })
    .catch(() => undefined)
  const { apiVersion, kind, spec, status } = world.pipeline
  const created = await client.create<Pipeline>(pipelineKind.type, {
    apiVersion,
    kind,
    metadata: { namespace: 'team', name: 'app' },
    spec,
  })
  await client.update(pipelineKind.type, { ...created, status }, { subresource: 'status' })
  return world.promotion('prod')!.id
}

const approvalPath = '/v1/namespaces/team/pipelines/app/environments/prod/approvals'
const word = (over: Record<string, unknown> = {}) => ({
  promotionId: id,
  revision: '1.1.0',
  decision: 'Approve',
  approver: 'ann',
  ...over,
})

function send(request: Partial<RouteRequest> & { readonly path: string }): Promise<RouteResponse> {
  const { path } = request
  const route = routes.find((each) => each.path.test(path.split('?')[0]!))
  if (!route) return Promise.resolve({ status: 404 })
  return route.handle({
    method: 'POST',
    headers: {},
    body: new Uint8Array(),
    remoteAddress: `10.0.0.${++clients % 250}`,
    ...request,
  })
}

function signed(path: string, body: unknown, over: { key?: string; keyId?: string; nonce?: string; at?: number } = {}) {
  const bytes = Buffer.from(body === undefined ? '' : JSON.stringify(body))
  const signature = signRequest(
    { method: 'POST', path, body: bytes },
    { key: over.key ?? key, keyId: over.keyId ?? 'current', now: over.at ?? now, nonce: over.nonce ?? `n${++clients}` },
  )
  return { path, body: bytes, headers: { 'sojourn-signature': signature } }
}

async function approvals(): Promise<readonly ApprovalSpec[]> {
  const { items } = await client.list<Approval>(approvalKind.type, { namespace: 'team' })
  return items.map(({ spec }) => spec)
}

describe('a signed approval', () => {
  it('C49 N26: is recorded once, and the same word again changes nothing', async () => {
    const request = signed(approvalPath, word())
    expect(await send(request)).toMatchObject({ status: 202, body: { outcome: 'recorded', promotionId: id } })
    expect(await send(request)).toMatchObject({ status: 200, body: { outcome: 'same' } })
    expect(await send(signed(approvalPath, word()))).toMatchObject({ status: 200 })
    expect(await approvals()).toMatchObject([
      { approver: 'key:shared', decision: 'Approve', comment: 'in the name of ann' },
    ])
  })

  it('54: one key is one approver, whatever names it gives and however it is rotated', async () => {
    await send(signed(approvalPath, word({ approver: 'ann' })))
    await send(signed(approvalPath, word({ approver: 'bob' })))
    await send(signed(approvalPath, word({ approver: 'eve' }), { key: 'old-key', keyId: 'previous' }))
    expect(new Set((await approvals()).map(({ approver }) => approver))).toEqual(new Set(['key:shared']))
  })

  it('54: named approvers have keys of their own, which count for no other approver', async () => {
    const asAnn = { key: 'of-ann', keyId: 'ann' }
    expect(await send(signed(approvalPath, word({ approver: 'bob' }), asAnn))).toMatchObject({ status: 422 })
    expect(await send(signed(approvalPath, word({ approver: 'bob' }), { ...asAnn, keyId: 'bob' }))).toMatchObject({
      status: 401,
    })
    await send(signed(approvalPath, word(), asAnn))
    await send(signed(approvalPath, word({ approver: 'bob' }), { key: 'of-bob', keyId: 'bob' }))
    expect((await approvals()).map(({ approver }) => approver).toSorted()).toEqual(['ann', 'bob'])
  })

  it('counts with the key before the present one too', async () => {
    expect(await send(signed(approvalPath, word(), { key: 'old-key', keyId: 'previous' }))).toMatchObject({
      status: 202,
    })
  })

  it.each([
    ['another promotion', { promotionId: '0000000000000000' }],
    ['another revision', { revision: '9.9.9' }],
  ])('N25: for %s is stale, and says which one waits', async (_, over) => {
    expect(await send(signed(approvalPath, word(over)))).toMatchObject({
      status: 409,
      body: { promotionId: id, revision: '1.1.0' },
    })
    expect(await approvals()).toEqual([])
  })

  it.each([
    ['is not signed', () => ({ path: approvalPath, body: Buffer.from(JSON.stringify(word())) })],
    ['is signed with another key', () => signed(approvalPath, word(), { key: 'wrong' })],
    ['names an unknown key', () => signed(approvalPath, word(), { keyId: 'constructor' })],
    ['was signed ten minutes ago', () => signed(approvalPath, word(), { at: now - 600_000 })],
    ['was signed for the future', () => signed(approvalPath, word(), { at: now + 600_000 })],
    [
      'was signed for another body',
      () => ({ ...signed(approvalPath, word()), body: Buffer.from(JSON.stringify(word({ approver: 'eve' }))) }),
    ],
    ['was signed for another query', () => ({ ...signed(approvalPath, word()), path: `${approvalPath}?x=1` })],
    ['is about a pipeline that does not exist', () => signed(approvalPath.replace('/app/', '/nothing/'), word())],
    ['uses a nonce again for something else', () => signed(approvalPath, word({ approver: 'bob' }), { nonce: 'used' })],
  ])('C48 C49 N26: that %s is refused, always in the same words', async (_, request) => {
    await send(signed(approvalPath, word({ approver: 'cy' }), { nonce: 'used' }))
    const before = await approvals()
    expect(await send(request())).toEqual({ status: 401, body: { message: 'the signature is missing or invalid' } })
    expect(await approvals()).toEqual(before)
  })

  it('N26: sent to another environment of the same pipeline is refused: the replay that the old scheme allowed', async () => {
    const { body, headers } = signed(approvalPath, word())
    expect(await send({ path: approvalPath.replace('/prod/', '/dev/'), body, headers })).toMatchObject({ status: 401 })
  })

  it('that is too long is refused', async () => {
    expect(await send(signed(approvalPath, word({ comment: 'x'.repeat(70_000) })))).toMatchObject({ status: 401 })
  })

  it.each([
    ['GET', 405],
    ['PUT', 405],
  ])('C46: by %s is refused', async (method, status) => {
    expect(await send({ ...signed(approvalPath, word()), method })).toMatchObject({ status })
  })

  it('of an authenticated user needs no signature, and cannot name another approver', async () => {
    expect(
      await send({ path: approvalPath, user: 'dora', body: Buffer.from(JSON.stringify(word({ approver: 'ann' }))) }),
    ).toMatchObject({ status: 202 })
    expect(await approvals()).toMatchObject([{ approver: 'dora' }])
  })
})

describe('the old approval path', () => {
  it('C47: that is none is not found', async () => {
    expect(await send({ path: '/approval/team/app/prod' })).toMatchObject({ status: 404 })
  })

  const old = (revision = '1.1.0') => `/approval/team/app/prod/${revision}`

  it('C51: approves the revision that waits, for who has signed the path', async () => {
    expect(await send(signed(old(), undefined))).toMatchObject({ status: 202, body: { promotionId: id } })
  })

  it('does not take the constant signature of an empty body, which would approve anything', async () => {
    const constant = createHmac('sha256', key).update('').digest('hex')
    expect(await send({ path: old(), headers: { 'x-signature': `sha256=${constant}` } })).toMatchObject({ status: 401 })
  })

  it('does not take a request for one environment sent to another', async () => {
    const { headers } = signed('/approval/team/app/dev/1.1.0', undefined)
    expect(await send({ path: old(), headers })).toMatchObject({ status: 401 })
  })

  it('C50: does not approve another revision', async () => {
    expect(await send(signed(old('1.2.0'), undefined))).toMatchObject({ status: 409, body: { promotionId: id } })
  })

  it.each([
    ['as it is', 'feature/x@sha1:abc'],
    ['encoded', encodeURIComponent('feature/x@sha1:abc')],
  ])('N37: takes a revision with a slash in it, %s', async (_, sent) => {
    await client.deleteObject(pipelineKind.type, { namespace: 'team', name: 'app' })
    await waiting('feature/x@sha1:abc')
    expect(await send(signed(old(sent), undefined))).toMatchObject({ status: 202 })
  })
})

describe('the old promotion webhook', () => {
  const path = '/promotion/team/app/dev'
  const involvedObject = { apiVersion: 'helm.toolkit.fluxcd.io/v2', kind: 'HelmRelease', name: 'app', namespace: 'dev' }
  const event = (over: object = {}) => ({ involvedObject, metadata: { revision: '1.1.0' }, ...over })
  const hint = (body: unknown, over: Partial<RouteRequest> = {}) => {
    const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
    return send({
      path,
      body: bytes,
      headers: { 'x-signature': `sha256=${createHmac('sha256', key).update(bytes).digest('hex')}` },
      ...over,
    })
  }

  it('C30 C40 C41 C42: only makes the promoter look', async () => {
    expect(await hint(event())).toMatchObject({ status: 202 })
    expect(hinted).toEqual(['app'])
  })

  it.each([
    ['C25: another method', () => hint(event(), { method: 'GET' }), 405],
    ['C26: a path that is none', () => hint(event(), { path: '/promotion/team/app' }), 404],
    ['C29: an unknown pipeline', () => hint(event(), { path: '/promotion/team/nothing/dev' }), 401],
    ['C27: no body', () => hint(''), 400],
    ['C28: a body that is not JSON', () => hint('{'), 400],
    ['C31: a wrong signature', () => hint(event(), { headers: { 'x-signature': `sha256=${'0'.repeat(64)}` } }), 401],
    ['no signature', () => hint(event(), { headers: {} }), 401],
    ['C32: another name', () => hint(event({ involvedObject: { ...involvedObject, name: 'x' } })), 422],
    ['C33: another namespace', () => hint(event({ involvedObject: { ...involvedObject, namespace: 'x' } })), 422],
    ['C34: another apiVersion', () => hint(event({ involvedObject: { ...involvedObject, apiVersion: 'x/v1' } })), 422],
    ['C35: another kind', () => hint(event({ involvedObject: { ...involvedObject, kind: 'X' } })), 422],
    [
      'C36: the last environment',
      () =>
        hint(event({ involvedObject: { ...involvedObject, namespace: 'prod' } }), { path: '/promotion/team/app/prod' }),
      422,
    ],
    ['C38: an unknown environment', () => hint(event(), { path: '/promotion/team/app/x' }), 422],
    ['C39: no revision', () => hint(event({ metadata: {} })), 422],
  ])('with %s is refused as it always was', async (_, ask, status) => {
    expect((await ask()).status).toBe(status)
    expect(hinted).toEqual([])
  })

  it.each(['sha224', 'sha256', 'sha384', 'sha512'])('may be signed with %s', async (algorithm) => {
    const bytes = Buffer.from(JSON.stringify(event()))
    const headers = { 'x-signature': `${algorithm}=${createHmac(algorithm, key).update(bytes).digest('hex')}` }
    expect(await send({ path, body: bytes, headers })).toMatchObject({ status: 202 })
  })

  it('replayed against another environment does nothing but another look', async () => {
    const bytes = Buffer.from(JSON.stringify(event({ involvedObject: { ...involvedObject, namespace: 'dev' } })))
    const headers = { 'x-signature': `sha256=${createHmac('sha256', key).update(bytes).digest('hex')}` }
    const before = await client.get<Pipeline>(pipelineKind.type, { namespace: 'team', name: 'app' })
    await send({ path, body: bytes, headers })
    await send({ path: '/promotion/team/app/prod', body: bytes, headers })
    const after = await client.get<Pipeline>(pipelineKind.type, { namespace: 'team', name: 'app' })
    expect(after).toEqual(before)
  })
})

describe('too many requests', () => {
  const ask = (remoteAddress: string, headers: Record<string, string> = {}) =>
    send({ path: '/promotion/team/nothing/dev', remoteAddress, headers })

  it('C60: from one client are told to wait until the window ends', async () => {
    for (let request = 0; request < 20; request++) expect((await ask('1.2.3.4')).status).toBe(401)
    now += 10_000
    expect(await ask('1.2.3.4')).toMatchObject({ status: 429, headers: { 'retry-after': '20' } })
    expect((await ask('1.2.3.5')).status).toBe(401)
    now += 20_000
    expect((await ask('1.2.3.4')).status).toBe(401)
  })

  it('are counted by connection, whatever the headers claim', async () => {
    for (let request = 0; request < 20; request++)
      await ask('1.2.3.6', { 'x-real-ip': `9.9.9.${request}`, 'x-forwarded-for': '8.8.8.8' })
    expect((await ask('1.2.3.6')).status).toBe(429)
  })

  it('are counted per network of an IPv6 client, and not for all of them together', async () => {
    for (let request = 0; request < 20; request++) await ask(`2001:db8:1:2::${request}`)
    expect((await ask('2001:db8:1:2:ffff::1')).status).toBe(429)
    expect((await ask('2001:db8:1:3::1')).status).toBe(401)
  })
})
