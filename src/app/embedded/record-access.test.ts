import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startWorld, type World } from '../../../test/world.ts'

describe('deletes that name the record of a cascade', () => {
  let world: World
  beforeAll(async () => {
    world = await startWorld()
  })
  afterAll(() => world[Symbol.asyncDispose]())

  it('need permission to patch that Departure', async () => {
    const bob = world.server.transportAs({ name: 'bob', groups: ['system:authenticated', 'sojourn:viewers'] })
    const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/team'
    const rule = { apiGroups: [''], resources: ['configmaps'], verbs: ['delete'] }
    const apiGroup = 'rbac.authorization.k8s.io'
    const binding = {
      roleRef: { apiGroup, kind: 'Role', name: 'd' },
      subjects: [{ apiGroup, kind: 'User', name: 'bob' }],
    }
    const post = (path: string, body: object) => world.server.transport({ method: 'POST', path, body })
    await post(`${rbac}/roles`, { metadata: { name: 'd' }, rules: [rule] })
    await post(`${rbac}/rolebindings`, { metadata: { name: 'd' }, ...binding })
    await post('/api/v1/namespaces/team/configmaps', { metadata: { name: 'one' } })
    const path = '/api/v1/namespaces/team/configmaps/one'
    const { body } = await bob({ method: 'DELETE', path, query: { cascadeRecord: 'team/root' } })
    expect(body).toMatchObject({
      code: 403,
      message: expect.stringContaining(
        'User "bob" cannot patch resource "departures" in API group "sojourn.dev" in the namespace "team"',
      ),
    })
    expect((await bob({ method: 'DELETE', path })).status).toBe(200)
  })
})
