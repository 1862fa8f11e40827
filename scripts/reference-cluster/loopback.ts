import http from 'node:http'
import https from 'node:https'
import { createServer, type AddressInfo } from 'node:net'

/** Ports that were free on loopback a moment ago, all different. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'))
  await Promise.all(servers.map((server) => new Promise((resolve) => server.once('listening', resolve))))
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}

/** Whether a GET is answered with 200. Certificates are not checked: the servers asked make theirs as they start. */
export function answersOk(url: string, token = ''): Promise<boolean> {
  const { request } = url.startsWith('https:') ? https : http
  const headers = { authorization: `Bearer ${token}` }
  const signal = AbortSignal.timeout(5_000)
  return new Promise((resolve) => {
    const call = request(url, { headers, signal, rejectUnauthorized: false, agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode === 200)
    })
    call.on('error', () => resolve(false)).end()
  })
}
