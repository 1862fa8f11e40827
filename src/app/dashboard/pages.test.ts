import { gunzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { dashboardRoutes } from './pages.ts'
import type { PagePorts } from './page-ports.ts'
import type { RouteRequest } from '../../runtime/http/route.ts'

it('sends pages compressed, and not again while the browser has them', async () => {
  const route = dashboardRoutes({} as PagePorts).find(({ path }) => path === '/ui/main.js')!
  const asked = (headers: Readonly<Record<string, string>>) => route.handle({ headers } as unknown as RouteRequest)
  const [plain, zipped] = [await asked({}), await asked({ 'accept-encoding': 'gzip, deflate, br' })]
  expect(plain.headers).not.toHaveProperty('content-encoding')
  expect(zipped).toMatchObject({ status: 200, headers: { 'content-encoding': 'gzip', vary: 'accept-encoding' } })
  expect(gunzipSync(zipped.body as Buffer)).toEqual(plain.body)
  const etag = plain.headers?.['etag'] as string
  expect(await asked({ 'if-none-match': etag })).toMatchObject({ status: 304, body: '' })
  expect(await asked({ 'if-none-match': 'W/"another"' })).toMatchObject({ status: 200 })
})
