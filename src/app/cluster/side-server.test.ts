import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { startSideServer, type SideServerOptions } from './side-server.ts'

it('says in one line that its port is in use, and what to do', async () => {
  const other = createServer()
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  const { port } = other.address() as AddressInfo
  const options = { host: '127.0.0.1', port, certificate: { certificate: '', key: '' } } as SideServerOptions
  await expect(startSideServer(options)).rejects.toThrow(
    `port ${port} of 127.0.0.1 is in use: set --port to another one, or to 0 for a free one`,
  )
  await new Promise((resolve) => other.close(resolve))
})
