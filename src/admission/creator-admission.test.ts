import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startWorld, type World } from '../../test/world.ts'
import type { User } from '../apiserver/objects/contract/request.ts'
import { cleaner } from '../apis/cleaner.ts'
import { Client } from '../client/client.ts'
import type { StoredObject } from '../kube/object.ts'
import { creatorAdmission } from './creator-admission.ts'

const jo: User = { name: 'jo', groups: ['team', 'system:masters'] }
const sam: User = { name: 'sam', groups: ['system:masters'] }
const sojourn: User = { name: 'system:sojourn', groups: ['system:masters'] }
const place = (name: string) => ({ namespace: 'team', name })
const manifest = (name: string, spec: Record<string, unknown> = {}, annotations: Record<string, string> = {}) => ({
  apiVersion: cleaner.apiVersion,
  kind: cleaner.kind,
  metadata: { name, namespace: 'team', annotations },
  spec: { ttl: '1h', targets: [], ...spec },
})

describe('the record of the creator', () => {
  let world: World
  const mayNot = new Set(['sam impersonate users jo', 'sam impersonate serviceaccounts deleter', 'sam create pods '])
  const as = (user: User) => new Client(world.server.transportAs(user))
  const creatorOf = ({ metadata }: StoredObject) => [
    metadata.annotations?.['sojourn.dev/creator'],
    metadata.annotations?.['sojourn.dev/creator-groups'],
  ]
  beforeAll(async () => {
    const hook = creatorAdmission(
      (user, { verb, resource, name }) => !mayNot.has(`${user.name} ${verb} ${resource} ${name}`),
      (user) => user.name === sojourn.name,
    )
    world = await startWorld({ server: { admission: [hook] } })
  })
  afterAll(() => world[Symbol.asyncDispose]())

  it('names who created the object, with the groups', async () => {
    expect(creatorOf(await as(jo).create(cleaner.type, manifest('created')))).toEqual(['jo', 'team\nsystem:masters'])
  })

  it('cannot be forged at creation', async () => {
    const forged = { 'sojourn.dev/creator': 'system:admin', 'sojourn.dev/creator-groups': 'system:masters' }
    expect(creatorOf(await as(jo).create(cleaner.type, manifest('forged', {}, forged)))[0]).toBe('jo')
  })

  it('names who changed the spec last', async () => {
    await as(jo).create(cleaner.type, manifest('changed'))
    const body = { spec: { ttl: '2h' } }
    expect(creatorOf(await as(sam).patch(cleaner.type, place('changed'), { type: 'merge', body }))[0]).toBe('sam')
  })

  it('is kept when only metadata change, even by an update without it', async () => {
    const made = await as(jo).create(cleaner.type, manifest('labelled'))
    const body = { metadata: { labels: { a: 'b' } } }
    const patched = await as(sam).patch(cleaner.type, place('labelled'), { type: 'merge', body })
    expect(creatorOf(patched)[0]).toBe('jo')
    const { annotations: _, managedFields: __, ...metadata } = patched.metadata
    expect(creatorOf(await as(sam).update(cleaner.type, { ...made, metadata }))[0]).toBe('jo')
  })

  it('is not changed by hand, except by a user who may impersonate the named one', async () => {
    await as(sam).create(cleaner.type, manifest('adopted'))
    const adopt = (user: User) =>
      as(user).patch(cleaner.type, place('adopted'), {
        type: 'merge',
        body: { metadata: { annotations: { 'sojourn.dev/creator': 'jo' } } },
      })
    await expect(adopt(sam)).rejects.toMatchObject({ reason: 'Forbidden' })
    expect(creatorOf(await adopt(jo))[0]).toBe('jo')
  })

  it('is never Sojourn itself', async () => {
    const forged = { 'sojourn.dev/creator': 'system:admin' }
    expect(creatorOf(await as(sojourn).create(cleaner.type, manifest('ours', {}, forged)))).toEqual([
      undefined,
      undefined,
    ])
  })

  it('refuses a ServiceAccount that the author may not use', async () => {
    const spec = { serviceAccountName: 'deleter' }
    await expect(as(sam).create(cleaner.type, manifest('as-account', spec))).rejects.toMatchObject({
      message: expect.stringContaining('spec.serviceAccountName') as string,
    })
    await as(jo).create(cleaner.type, manifest('as-account', spec))
  })

  it('refuses names that a record cannot hold', async () => {
    const odd = { name: 'jo', groups: ['system:masters', 'two\nlines'] }
    await expect(as(odd).create(cleaner.type, manifest('odd'))).rejects.toMatchObject({ reason: 'Forbidden' })
  })
})
