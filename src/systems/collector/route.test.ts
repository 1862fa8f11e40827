import { describe, expect, it } from 'vitest'
import type { ObjectRef } from '../../kube/object.ts'
import type { Collector } from './controller.ts'
import { cascadeRoute, type MayGet } from './route.ts'

const node = (uid: string, namespace: string) => ({
  uid,
  ref: { apiVersion: 'v1', kind: 'ConfigMap', namespace, name: uid } satisfies ObjectRef,
})
const nodes = [node('root', 'a'), node('mine', 'a'), node('theirs', 'b')]
const collector = {
  preview: (uid: string) =>
    uid === 'root' ? { policy: 'Background', nodes, complete: true, unknownKinds: [] } : undefined,
} as unknown as Pick<Collector, 'preview'>

function ask(mayGet: MayGet, isSignedIn = true) {
  const request = { method: 'POST', url: '', remoteAddress: '', params: {}, query: {}, headers: {} }
  return cascadeRoute(collector, mayGet).handle({
    ...request,
    body: '{"uid":"root"}',
    ...(isSignedIn ? { user: { name: 'jo', groups: [] } } : {}),
  })
}

describe('the preview of a cascade', () => {
  it('is whole for a caller who may read everything', async () => {
    expect(await ask(() => Promise.resolve(true))).toMatchObject({ status: 200, body: { nodes } })
  })

  it('23: names no object that the caller may not read', async () => {
    const { status, body } = await ask((_, object) => Promise.resolve(object?.namespace === 'a'))
    expect(status).toBe(200)
    expect(body).toMatchObject({ nodes: nodes.slice(0, 2), hidden: 1 })
    expect(JSON.stringify(body)).not.toContain('theirs')
  })

  it('23: does not tell that an object exists which the caller may not read', async () => {
    const unknown = { status: 404, body: { message: 'no object with uid root is known' } }
    expect(await ask((_, object) => Promise.resolve(object?.namespace === 'b'))).toEqual(unknown)
    expect(await ask(() => Promise.resolve(true), false)).toEqual(unknown)
  })
})
