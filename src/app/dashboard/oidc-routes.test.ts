import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import type { RouteRequest } from '../../runtime/http/route.ts'
import { Seal } from '../../runtime/sharing/seal.ts'
import { oidcRoutes } from './oidc-routes.ts'
import { Sessions } from './sessions.ts'

it('keeps few sign-ins that were begun, however many another site begins in the browser', async () => {
  let begun = 0
  const clock = { now: () => 0 }
  const seal = new Seal(randomBytes(32))
  const oidc = {
    begin: (until: number) => {
      const state = `${begun++}`.padStart(43, 'x').split('').toReversed().join('')
      return Promise.resolve({ url: 'https://id.test/', login: { state, nonce: 'n', verifier: 'v', until } })
    },
    finish: () => Promise.reject(new Error('not asked')),
  }
  const prove = () => Promise.reject(new Error('not asked'))
  const routes = oidcRoutes({ oidc, sessions: new Sessions({ seal, clock }), seal, clock, prove })
  const login = routes.find(({ path }) => path === '/auth/login')!
  const jar = new Map<string, string>()
  for (let index = 0; index < 50; index++) {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const { headers = {} } = await login.handle({ headers: { cookie } } as unknown as RouteRequest)
    for (const set of headers['set-cookie'] as readonly string[]) {
      const [name = '', value = ''] = (set.split(';')[0] ?? '').split('=')
      if (set.includes('Max-Age=0')) jar.delete(name)
      else jar.set(name, value)
    }
  }
  expect(jar.size).toBe(4)
})
