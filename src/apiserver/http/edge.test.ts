import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Transport, WatchEvent } from '../../kube/transport.ts'
import { systemClock } from '../../runtime/time/clock.ts'
import { startTestServer, type TestServer } from '../../../test/apiserver/test-server.ts'
import { text } from './response/answer.ts'

describe('the API in the process', () => {
  let server: TestServer
  let bob: Transport
  beforeAll(async () => {
    server = await startTestServer({
      clock: systemClock,
      handlers: new Map([['get pods/log', ({ info }) => text(`log of ${info.name}\n`)]]),
      cascadeRecordAccess: (record) => {
        const [namespace = '', name = ''] = record.split('/')
        return { verb: 'patch', group: 'records.example', resource: 'records', subresource: '', namespace, name }
      },
    })
    bob = server.transportAs({ name: 'bob', groups: ['system:authenticated'] })
  })
  afterAll(() => server.close())

  const maps = '/api/v1/namespaces/default/configmaps'
  const create = (name: string, labels: Record<string, string> = {}) =>
    server.transport({
      method: 'POST',
      path: maps,
      body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, labels } },
    })

  it('creates with 201, and answers with the stored object', async () => {
    const { status, body } = await create('made')
    expect([status, body]).toMatchObject([201, { metadata: { name: 'made', namespace: 'default' } }])
  })

  it('watches as values, from the beginning to the abort', async () => {
    await create('seen', { watched: 'yes' })
    const stop = new AbortController()
    const { stream = [] } = await server.transport({
      method: 'GET',
      path: maps,
      query: { watch: 'true', labelSelector: 'watched=yes' },
      signal: stop.signal,
    })
    const seen: string[] = []
    for await (const event of stream as AsyncIterable<WatchEvent<{ metadata: { name: string } }>>) {
      seen.push(`${event.type} ${event.object.metadata.name}`)
      if (seen.length === 1) await create('more', { watched: 'yes' })
      else stop.abort()
    }
    expect(seen).toEqual(['ADDED seen', 'ADDED more'])
    expect(server.objects.watches).toBe(0)
  })

  it('closes a watch whose reader stops reading', async () => {
    const { stream = [] } = await server.transport({ method: 'GET', path: maps, query: { watch: 'true' } })
    for await (const _ of stream as AsyncIterable<unknown>) break
    expect(server.objects.watches).toBe(0)
  })

  it('delivers every event to a slow reader', async () => {
    const { stream = [] } = await server.transport({
      method: 'GET',
      path: '/api/v1/namespaces/kube-public/configmaps',
      query: { watch: 'true', labelSelector: 'flood=1' },
    })
    const iterator = (stream as AsyncIterable<WatchEvent<{ metadata: { name: string } }>>)[Symbol.asyncIterator]()
    const total = 2500
    for (let index = 0; index < total; index++) {
      await server.transport({
        method: 'POST',
        path: '/api/v1/namespaces/kube-public/configmaps',
        body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `m${index}`, labels: { flood: '1' } } },
      })
    }
    for (let index = 0; index < total; index++) {
      const { value } = await iterator.next()
      expect((value as WatchEvent<{ metadata: { name: string } }>).object.metadata.name).toBe(`m${index}`)
    }
    await iterator.return?.()
  })

  it('shows only metadata to those who want no more, also while watching', async () => {
    const accept = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1'
    const { body } = await server.transport({ method: 'GET', path: `${maps}/made`, headers: { accept } })
    expect(Object.keys(body as object)).toEqual(['kind', 'apiVersion', 'metadata'])
    const { stream = [] } = await server.transport({
      method: 'GET',
      path: maps,
      query: { watch: 'true' },
      headers: { accept },
    })
    for await (const event of stream as AsyncIterable<WatchEvent<{ kind: string }>>) {
      expect(event.object.kind).toBe('PartialObjectMetadata')
      break
    }
  })

  it('asks roles before it looks whether anything is there', async () => {
    const { status, body } = await bob({ method: 'GET', path: `${maps}/nothing` })
    expect([status, (body as { message: string }).message]).toEqual([
      403,
      'configmaps "nothing" is forbidden: User "bob" cannot get resource "configmaps" in API group "" in the namespace "default"',
    ])
  })

  it('allows a list of one name where only that name is allowed', async () => {
    const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/default'
    const apiVersion = 'rbac.authorization.k8s.io/v1'
    await server.transport({
      method: 'POST',
      path: `${rbac}/roles`,
      body: {
        apiVersion,
        kind: 'Role',
        metadata: { name: 'one' },
        rules: [
          { apiGroups: [''], resources: ['configmaps'], resourceNames: ['made'], verbs: ['get', 'list', 'watch'] },
        ],
      },
    })
    await server.transport({
      method: 'POST',
      path: `${rbac}/rolebindings`,
      body: {
        apiVersion,
        kind: 'RoleBinding',
        metadata: { name: 'one' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'one' },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'bob' }],
      },
    })
    expect((await bob({ method: 'GET', path: maps })).status).toBe(403)
    expect((await bob({ method: 'GET', path: maps, query: { fieldSelector: 'metadata.name=made' } })).status).toBe(200)
    expect((await bob({ method: 'GET', path: `${maps}/made` })).status).toBe(200)
    await server.transport({ method: 'DELETE', path: `${rbac}/rolebindings/one` })
    expect((await bob({ method: 'GET', path: `${maps}/made` })).status).toBe(403)
  })

  it("lets only users who may write a cascade's record name it in a delete", async () => {
    const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/default'
    const grant = async (name: string, rule: object) => {
      const apiGroup = 'rbac.authorization.k8s.io'
      const subjects = [{ apiGroup, kind: 'User', name: 'bob' }]
      const roleRef = { apiGroup, kind: 'Role', name }
      for (const [path, body] of [
        ['roles', { rules: [rule] }],
        ['rolebindings', { roleRef, subjects }],
      ] as const)
        await server.transport({ method: 'POST', path: `${rbac}/${path}`, body: { metadata: { name }, ...body } })
    }
    await grant('deletes', { apiGroups: [''], resources: ['configmaps'], verbs: ['delete', 'deletecollection'] })
    await create('told')
    const query = { cascadeRecord: 'default/of-the-root' }
    for (const path of [`${maps}/told`, maps]) {
      const { status, body } = await bob({ method: 'DELETE', path, query })
      expect([status, body]).toMatchObject([
        403,
        {
          message: expect.stringContaining('User "bob" cannot patch resource "records" in API group "records.example"'),
        },
      ])
    }
    await grant('records', { apiGroups: ['records.example'], resources: ['records'], verbs: ['patch'] })
    const elsewhere = { cascadeRecord: 'kube-system/of-the-root' }
    expect((await bob({ method: 'DELETE', path: `${maps}/told`, query: elsewhere })).status).toBe(403)
    expect((await bob({ method: 'DELETE', path: `${maps}/told`, query })).status).toBe(200)
  })

  it('serves subresources through handlers of the application', async () => {
    const { body, headers } = await server.transport({ method: 'GET', path: '/api/v1/namespaces/default/pods/p/log' })
    expect([body, headers['content-type']]).toEqual(['log of p\n', 'text/plain; charset=utf-8'])
    expect((await bob({ method: 'GET', path: '/api/v1/namespaces/default/pods/p/log' })).status).toBe(403)
  })

  it('impersonates with every part of the identity checked', async () => {
    const whoami = (transport: Transport, headers: Record<string, string>) =>
      transport({ method: 'POST', path: '/apis/authentication.k8s.io/v1/selfsubjectreviews', body: {}, headers })
    const { body } = await whoami(server.transport, {
      'impersonate-user': 'eve',
      'impersonate-group': 'a, b',
      'impersonate-uid': '7',
      'impersonate-extra-scopes%2fx': 'y',
    })
    expect(body).toMatchObject({
      status: {
        userInfo: {
          username: 'eve',
          uid: '7',
          groups: ['a', 'b', 'system:authenticated'],
          extra: { 'scopes/x': ['y'] },
        },
      },
    })
    const account = await whoami(server.transport, { 'impersonate-user': 'system:serviceaccount:default:default' })
    expect(account.body).toMatchObject({
      status: {
        userInfo: { groups: ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated'] },
      },
    })
    expect(
      (await whoami(bob, { 'impersonate-user': 'system:admin', 'impersonate-group': 'system:masters' })).status,
    ).toBe(403)
  })
})
