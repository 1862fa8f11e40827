import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { issueCertificate, type KeyPair } from '../../apiserver/auth/certificates/certificate.ts'
import { Client } from '../../client/client.ts'
import { createLogger } from '../../runtime/observability/log.ts'
import { VirtualClock } from '../../runtime/time/virtual-clock.ts'
import { certificateSource, firstCertificate, followCertificate } from './certificate-source.ts'
import { readConfig } from '../config/config.ts'
import { RouteTable } from '../core/route-table.ts'
import { clusterAccess, startSideServer, type SideServer } from './side-server.ts'

const minute = 60_000
let directory: string
let clock: VirtualClock
let server: SideServer
let following: Promise<void>
let stopping: AbortController
let logged: { readonly message: string }[]

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'certificate-'))
  clock = new VirtualClock(Date.parse('2026-01-05T08:00:00Z'))
  stopping = new AbortController()
  logged = []
  const log = createLogger({ clock, write: (line) => logged.push(JSON.parse(line) as (typeof logged)[number]) })
  const client = new Client(() => Promise.reject(new Error('files need no cluster')))
  file(issued('first'))
  const config = readConfig({ flags: { 'tls-cert': path('tls.crt'), 'tls-key': path('tls.key') }, env: {} })
  const source = certificateSource(config, { client, clock })
  const certificate = await firstCertificate(source, log)
  server = await startSideServer({
    host: '127.0.0.1',
    port: 0,
    routes: new RouteTable(),
    access: clusterAccess(client),
    certificate,
    isReady: () => true,
    onError: () => {},
  })
  following = followCertificate(source, { clock, log, use: server.use }).start(stopping.signal)
})

afterEach(async () => {
  stopping.abort()
  await following
  await server.close()
  rmSync(directory, { recursive: true })
})

it('serves a renewed certificate without a restart', async () => {
  expect(await served()).toContain('CN=first')
  file(issued('second'))
  await clock.runFor(minute)
  expect(await served()).toContain('CN=second')
})

it.each<[string, () => KeyPair]>([
  ['is no certificate', () => ({ certificate: 'x', key: 'x' })],
  ['is half renewed', () => ({ certificate: issued('second').certificate, key: issued('first').key })],
])('keeps the current certificate while the new one %s, and uses the next good one', async (_, found) => {
  file(found())
  await clock.runFor(minute)
  expect(await served()).toContain('CN=first')
  expect(logged.map(({ message }) => message)).toEqual(['certificate not renewed'])
  file(issued('third'))
  await clock.runFor(minute)
  expect(await served()).toContain('CN=third')
})

it('keeps the current certificate while the files are missing', async () => {
  rmSync(path('tls.key'))
  await clock.runFor(minute)
  expect(await served()).toContain('CN=first')
  expect(logged.map(({ message }) => message)).toEqual(['certificate not renewed'])
})

const path = (name: string) => join(directory, name)

function file({ certificate, key }: KeyPair): void {
  writeFileSync(path('tls.crt'), certificate)
  writeFileSync(path('tls.key'), key)
}

function issued(commonName: string): KeyPair {
  const serial = Buffer.from(commonName)
  return issueCertificate({ commonName, hosts: ['127.0.0.1'], usage: 'server', now: clock.now(), days: 30, serial })
}

/** The certificate that a new connection gets. */
async function served(): Promise<string> {
  const { hostname: host, port } = new URL(server.url)
  const socket = connect({ host, port: Number(port), rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const { subject } = new X509Certificate(socket.getPeerCertificate().raw)
  socket.destroy()
  return subject
}
