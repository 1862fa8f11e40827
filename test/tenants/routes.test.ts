import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cascadeRoute } from '../../src/app/dashboard/cascade-route.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { isStatusError } from '../../src/kube/status-error.ts'
import type { RouteRequest } from '../../src/runtime/http/route.ts'
import { systemClock } from '../../src/runtime/time/clock.ts'
import { signRequest } from '../../src/systems/promoter/http/signature.ts'
import { callsTo, tenantToken, type Answer, type Call } from './callers.ts'
import { configMap } from './manifests.ts'
import { worlds, type TenantWorld } from './tenant-world.ts'

const key = 'a-key-of-namespace-b'

/** A Pipeline of namespace b; approvals of it are signed with the key of a Secret, where it names one. */
function pipeline(name: string, secretName?: string): KubeObject {
  const strategy = secretName
    ? { promotion: { strategy: { notification: {}, secretRef: { name: secretName } }, approval: { required: 1 } } }
    : {}
  return {
    apiVersion: 'pipelines.weave.works/v1alpha1',
    kind: 'Pipeline',
    metadata: { namespace: 'b', name },
    spec: {
      appRef: { apiVersion: 'helm.toolkit.fluxcd.io/v2', kind: 'HelmRelease', name: 'shop' },
      environments: [
        { name: 'dev', targets: [{ namespace: 'b' }] },
        { name: 'prod', targets: [{ namespace: 'b' }] },
      ],
      ...strategy,
    },
  }
}

describe.each(worlds)('routes of Sojourn: $name', ({ start }) => {
  let world: TenantWorld
  let token: string
  beforeAll(async () => {
    world = await start({ roles: ['collector', 'promoter', 'activator'] })
    token = await tenantToken(world)
    const data = { 'hmac-key': btoa(key) }
    await world.create('neighbour', {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace: 'b', name: 'keys' },
      data,
    })
    await world.create('neighbour', pipeline('signed', 'keys'))
    await world.create('neighbour', pipeline('open'))
  })
  afterAll(() => world?.[Symbol.asyncDispose]())

  it('23: the preview of a cascade tells nothing of another namespace, not even that the object exists', async () => {
    const route = cascadeRoute({
      clientAs: ({ name }) => world.as(name === 'tenant' ? name : 'administrator'),
      clock: systemClock,
    })
    const preview = async (namespace: string, name: string) => {
      const body = JSON.stringify({ object: { apiVersion: 'v1', kind: 'ConfigMap', namespace, name } })
      const request = { body, user: { name: 'tenant', groups: [] } } as unknown as RouteRequest
      // As the servers answer what a route refuses.
      const answer = await route.handle(request).catch((error: unknown) => {
        if (!isStatusError(error)) throw error
        return { status: error.code, body: { message: error.message, reason: error.reason } }
      })
      return { status: answer.status, body: JSON.stringify(answer.body) }
    }
    const { uid } = (await world.create('tenant', configMap('a', 'c23'))).metadata
    const child = configMap('a', 'c23-child')
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'c23', uid }]
    await world.create('tenant', { ...child, metadata: { ...child.metadata, ownerReferences } })
    await world.create('neighbour', configMap('b', 'c23-of-b'))
    // The tenant lists nothing in all namespaces: that of the object is enough.
    const own = await preview('a', 'c23')
    expect([own.status, own.body]).toEqual([200, expect.stringMatching(/"c23-child"[^]*"leaving":2/)])
    const [found, none] = [await preview('b', 'c23-of-b'), await preview('b', 'none')]
    expect([found.status, found.body.replaceAll('c23-of-b', 'none')]).toEqual([none.status, none.body])
    expect(found.status).toBe(403)
  })

  it('24: the history of a Service is on its workload, where RBAC keeps it: no route tells it', async () => {
    const call = callsTo(world, 'activator', token)
    const { status, body } = await call({ method: 'GET', path: '/sojourn/v1alpha1/on-demand?of=a/web,b/web' })
    expect(status).toBe(404)
    expect(body).not.toContain('b/web')
  })

  it('25: a hint without the key does not tell which pipelines exist', async () => {
    const call = callsTo(world, 'promoter')
    const involvedObject = { apiVersion: 'helm.toolkit.fluxcd.io/v2', kind: 'HelmRelease', name: 'x', namespace: 'b' }
    const bodies = ['', '{', '{}', JSON.stringify({ involvedObject, metadata: { revision: '1' } })]
    for (const body of bodies) {
      const answers: Answer[] = []
      for (const name of ['none', 'signed', 'open'])
        answers.push(await call({ path: `/promotion/b/${name}/dev`, body }))
      expect(answers).toEqual(answers.map(() => answers[0]))
      expect(answers[0]?.status).toBe(401)
    }
  })

  it('25: a preview does not tell which pipelines of another namespace exist', async () => {
    const call = callsTo(world, 'promoter', token)
    const preview = (place: string) => call({ method: 'GET', path: `/v1/namespaces/${place}/preview` })
    expect(await preview('b/pipelines/open')).toEqual(await preview('b/pipelines/none'))
    expect((await preview('b/pipelines/open')).status).toBe(404)
    await world.create('tenant', { ...pipeline('own'), metadata: { namespace: 'a', name: 'own' } })
    expect((await preview('a/pipelines/own')).status).toBe(200)
  })

  it('55: a signed approval is good for its own path and body, and for five minutes', async () => {
    const call = callsTo(world, 'promoter')
    const path = '/v1/namespaces/b/pipelines/signed/environments/prod/approvals'
    const body = JSON.stringify({ promotionId: '0123456789abcdef', decision: 'Approve', approver: 'neighbour' })
    const signed = (now: number, nonce: string): Call => {
      const request = { method: 'POST', path, body: Buffer.from(body) }
      const signature = signRequest(request, { key, keyId: 'current', now, nonce })
      return { path, body, headers: { 'sojourn-signature': signature } }
    }
    const good = signed(Date.now(), 'first')
    // Nothing waits for approval: it was believed, and is about nothing.
    expect((await call(good)).status).toBe(409)
    const replayed: readonly Call[] = [
      { ...good, path: path.replace('prod', 'dev') },
      { ...good, path: path.replace('signed', 'open') },
      { ...good, path: path.replace('/b/', '/a/') },
      { ...good, body: body.replace('Approve', 'Reject') },
      signed(Date.now() - 301_000, 'old'),
      signed(Date.now() + 60_000, 'first'),
    ]
    for (const each of replayed) expect((await call(each)).status).toBe(401)
  })
})
