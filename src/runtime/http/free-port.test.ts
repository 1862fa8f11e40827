import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { freePort } from './free-port.ts'

const host = '127.0.0.1'

it.each([{}, { reusePort: true }])('refuses a port that another process listens at, in one line: %j', async (how) => {
  const other = createServer()
  await once(other.listen({ port: 0, host, ...how }), 'listening')
  const { port } = other.address() as AddressInfo
  const taken = freePort({ port, host, flag: 'proxy-port' })
  await expect(taken).rejects.toThrow(
    `port ${port} of 127.0.0.1 is in use: set --proxy-port to another one, or to 0 for a free one`,
  )
  other.close()
  await once(other, 'close')
  expect(await freePort({ port, host, flag: 'proxy-port' })).toBe(port)
})
