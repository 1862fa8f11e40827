import { deployments, services } from '../../../src/kube/core-types.ts'
import type { Client } from '../../../src/client/client.ts'
import { certificateFor } from '../../activator/proxy.ts'

/** One program, three protocols: HTTP, an echo, and TLS with its own certificate. It tells at /open how many connections it has beside the one that asks. */
const program = `
const net = require('net'), http = require('http'), tls = require('tls')
let open = 0
const count = (server) => server.on('connection', (socket) => {
  open++
  socket.on('close', () => open--)
  socket.on('error', () => {})
})
const { PORT_80, PORT_7, PORT_443, CERT: cert, KEY: key } = process.env
count(http.createServer((q, s) => {
  if (q.url === '/open') return s.end(String(open - 1))
  s.end(q.method + ' ' + q.headers.host + q.url)
})).listen(PORT_80, '127.0.0.1')
count(net.createServer((socket) => socket.on('data', (data) => socket.write('echo ' + data)))).listen(PORT_7, '127.0.0.1')
count(tls.createServer({ cert, key }, (socket) => {
  socket.on('error', () => {})
  socket.once('data', () => socket.end('HTTP/1.1 200 OK\\r\\nConnection: close\\r\\nContent-Length: 6\\r\\n\\r\\nsecret'))
})).listen(PORT_443, '127.0.0.1')
process.on('SIGTERM', () => process.exit(0))`

export const shopPorts = ['http', 'echo', 'tls'] as const

/** A Service with an HTTP, a raw and a TLS port, and its workload, in the default namespace. */
export async function addShop(
  client: Client,
  name: string,
  { annotations, replicas }: { readonly annotations: Readonly<Record<string, string>>; readonly replicas: number },
): Promise<void> {
  const labels = { app: name }
  const { cert, key } = certificateFor('shop')
  await client.create(services, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: 'default', annotations: { 'proxless/deployment': name, ...annotations } },
    spec: {
      selector: labels,
      ports: [
        { name: 'http', port: 80 },
        { name: 'echo', port: 7 },
        { name: 'tls', port: 443 },
      ],
    },
  })
  const container = {
    name: 'app',
    image: 'none',
    command: [process.execPath, '-e', program],
    ports: [{ containerPort: 80 }, { containerPort: 7 }, { containerPort: 443 }],
    readinessProbe: { tcpSocket: { port: 443 }, periodSeconds: 1 },
    env: [
      { name: 'CERT', value: cert },
      { name: 'KEY', value: key },
    ],
  }
  await client.create(deployments, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'default' },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container] } },
    },
  })
}
