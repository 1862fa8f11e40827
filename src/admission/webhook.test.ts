import { describe, expect, it } from 'vitest'
import type { RouteResponse } from '../runtime/http/route.ts'
import { recordCreatorRoute, validateRoute } from './webhook.ts'

const cleaner = (condition: string) => ({
  apiVersion: 'cleaner.vtex.dev/v1alpha',
  kind: 'Cleaner',
  metadata: { name: 'preview', namespace: 'team' },
  spec: { ttl: '1h', conditions: [condition] },
})
const good = cleaner('time > timestamp("2026-01-01T00:00:00Z")')
const bad = cleaner('time >')

const route = validateRoute({
  discovery: {
    typeOf: ({ kind }) => Promise.resolve(kind.toLowerCase() === 'configmap' ? ({} as never) : undefined),
    forget() {},
  },
})
const send = (body: string): Promise<RouteResponse> =>
  route.handle({
    method: 'POST',
    url: '/sojourn/v1alpha1/validate',
    remoteAddress: '127.0.0.1',
    params: {},
    query: {},
    headers: {},
    body,
  })
const review = (request: Record<string, unknown>) =>
  send(
    JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request: { uid: 'u1', ...request } }),
  )

it('refuses what the embedded server refuses, naming the field', async () => {
  const { status, body } = await review({ operation: 'CREATE', object: bad })
  expect(status).toBe(200)
  expect(body).toMatchObject({
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    response: {
      uid: 'u1',
      allowed: false,
      status: { code: 422, reason: 'Invalid', message: expect.stringContaining('spec.conditions[0]') },
    },
  })
})

it('135: asks the cluster about twenty kinds of a Cleaner at most', async () => {
  const targets = Array.from({ length: 1000 }, (_, index) => ({
    name: `t${index}`,
    reference: { apiVersion: `g${index}.test/v1`, kind: 'Thing', name: 'a' },
  }))
  const { body } = await review({ operation: 'CREATE', object: { ...good, spec: { ttl: '1h', targets } } })
  const { warnings } = (body as { readonly response: { readonly warnings: readonly string[] } }).response
  expect(warnings).toHaveLength(20)
})

it('warns of a kind that the cluster does not serve', async () => {
  const targets = ['configmap', 'Depolyment'].map((kind, index) => ({
    name: `t${index}`,
    delete: true,
    reference: { apiVersion: 'v1', kind, name: 'a' },
  }))
  const { body } = await review({ operation: 'CREATE', object: { ...good, spec: { ttl: '1h', targets } } })
  expect(body).toMatchObject({
    response: {
      allowed: true,
      warnings: [
        'spec.targets[1].reference.kind: the cluster serves no Depolyment in v1: nothing is found until it does',
      ],
    },
  })
})

it('refuses a condition that can never be a boolean', async () => {
  const { body } = await review({ operation: 'CREATE', object: cleaner('"true"') })
  expect(body).toMatchObject({
    response: {
      allowed: false,
      status: {
        message: expect.stringContaining('spec.conditions[0]: Invalid value: evaluates to string, not to bool'),
      },
    },
  })
})

it.each([
  ['what can work', { operation: 'CREATE', object: good }],
  ['a constant condition', { operation: 'CREATE', object: cleaner('true') }],
  ['a change that leaves a stored, broken spec as it is', { operation: 'UPDATE', object: bad, oldObject: bad }],
  ['a deletion', { operation: 'DELETE', object: null, oldObject: bad }],
  ['a status', { operation: 'UPDATE', subResource: 'status', object: bad, oldObject: good }],
  ['kinds of others', { operation: 'CREATE', object: { ...bad, apiVersion: 'v1', kind: 'ConfigMap' } }],
])('allows %s', async (_, request) => {
  expect((await review(request)).body).toMatchObject({ response: { uid: 'u1', allowed: true } })
})

it.each([
  ['CleanupOptOut', 'spec.selector.labels', (labels: object) => ({ selector: { kind: 'ConfigMap', labels } })],
  [
    'Bond',
    'spec.dependent.selector',
    (selector: object) => ({ dependent: { apiVersion: 'v1', kind: 'Pod', selector }, dependency: {} }),
  ],
])('refuses a %s with an invalid selector', async (kind, field, spec) => {
  const selector = { matchExpressions: [{ key: 'tier', operator: 'In' }] }
  const object = { apiVersion: 'sojourn.dev/v1alpha1', kind, metadata: { name: 'x' }, spec: spec(selector) }
  const message = `${field}: selector operator In for "tier" needs values`
  expect((await review({ operation: 'CREATE', object })).body).toMatchObject({
    response: { allowed: false, status: { message: expect.stringContaining(message) } },
  })
})

it('refuses an update that breaks a spec', async () => {
  const { body } = await review({ operation: 'UPDATE', object: bad, oldObject: good })
  expect(body).toMatchObject({ response: { allowed: false } })
})

it.each([
  ['no JSON', '{'],
  ['null', 'null'],
  ['another version', JSON.stringify({ apiVersion: 'admission.k8s.io/v1beta1', request: { uid: 'u1' } })],
  ['no uid', JSON.stringify({ apiVersion: 'admission.k8s.io/v1', request: {} })],
  ['no request', JSON.stringify({ apiVersion: 'admission.k8s.io/v1', request: null })],
  ['no object', JSON.stringify({ apiVersion: 'admission.k8s.io/v1', request: { uid: 'u1', object: { kind: 1 } } })],
])('answers 400 to %s, so that the API server applies its failure policy', async (_, body) => {
  expect((await send(body)).status).toBe(400)
})

describe('the webhook that records creators', () => {
  const record = async (request: Readonly<Record<string, unknown>>) => {
    const body = JSON.stringify({ apiVersion: 'admission.k8s.io/v1', request: { uid: 'u1', ...request } })
    const answer = await recordCreatorRoute.handle({ body } as Parameters<typeof recordCreatorRoute.handle>[0])
    const { response } = answer.body as { response: { allowed: boolean; patch?: string } }
    expect(response.allowed).toBe(true)
    return response.patch === undefined ? undefined : (JSON.parse(atob(response.patch)) as unknown)
  }
  const jo = { username: 'jo', groups: ['team', 'system:authenticated'] }
  const recordOf = (user: string, groups: string, others = {}) => [
    {
      op: 'add',
      path: '/metadata/annotations',
      value: { ...others, 'sojourn.dev/creator': user, 'sojourn.dev/creator-groups': groups },
    },
  ]

  it('34: overwrites a forged record with the user of the request', async () => {
    const annotations = { 'sojourn.dev/creator': 'admin', other: 'x' }
    const object = { ...good, metadata: { ...good.metadata, annotations } }
    expect(await record({ operation: 'CREATE', object, userInfo: jo })).toEqual(
      recordOf('jo', 'team\nsystem:authenticated', { other: 'x' }),
    )
  })

  it('35: puts a record back that a replacement has lost', async () => {
    const annotations = { 'sojourn.dev/creator': 'sam', 'sojourn.dev/creator-groups': 'g' }
    const oldObject = { ...good, metadata: { ...good.metadata, annotations } }
    expect(await record({ operation: 'UPDATE', object: good, oldObject, userInfo: jo })).toEqual(recordOf('sam', 'g'))
  })

  it('says nothing about a status and a deletion', async () => {
    expect(await record({ operation: 'UPDATE', subResource: 'status', object: good, userInfo: jo })).toBeUndefined()
    expect(await record({ operation: 'DELETE', object: null, oldObject: good, userInfo: jo })).toBeUndefined()
  })
})
