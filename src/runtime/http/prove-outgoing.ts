import { once } from 'node:events'
import { request, type RequestOptions } from 'node:http'
import { request as secureRequest } from 'node:https'
import { createServer, type AddressInfo } from 'node:net'
import { Outgoing } from './outgoing.ts'

/**
 * Connects to a port of this process, by HTTP and HTTPS, with the rules for tenants; rejects when a connection arrives. The guard
 * relies on what Node does with a block list, and must not fail unseen under another version of it.
 */
export async function proveOutgoing(outgoing = new Outgoing({ for: 'tenants' })): Promise<void> {
  let arrived = 0
  const server = createServer((socket) => {
    arrived++
    socket.destroy()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const attempt = (options: RequestOptions, open: typeof request) =>
    new Promise<void>((resolve) => {
      open({ host: '127.0.0.1', port, ...options })
        .on('error', () => resolve())
        .on('response', () => resolve())
        .end()
    })
  try {
    await attempt({ agent: outgoing.agent({}) }, request)
    await attempt({ agent: outgoing.tlsAgent({}) }, secureRequest)
  } finally {
    server.close()
  }
  if (arrived > 0)
    throw new Error(
      'the check of outgoing connections does not work on this version of Node.js, so Sojourn does not start: it would connect to internal addresses for every user. Use a supported version of Node.js',
    )
}
