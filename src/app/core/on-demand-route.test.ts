import { expect, it } from 'vitest'
import { onDemandRoute } from './on-demand-route.ts'

it('24: shows the history of Services only where the caller may read Services', async () => {
  const route = onDemandRoute({ history: () => [] }, (_, namespace) => Promise.resolve(namespace === 'a'))
  const request = { method: 'GET', url: '', remoteAddress: '', params: {}, headers: {}, body: '' }
  const answer = (user?: { name: string; groups: string[] }) =>
    route.handle({ ...request, query: { of: 'a/shop,b/shop' }, ...(user ? { user } : {}) })
  expect((await answer({ name: 'jo', groups: [] })).body).toEqual({ items: [{ service: 'a/shop', steps: [] }] })
  expect((await answer()).body).toEqual({ items: [] })
})
