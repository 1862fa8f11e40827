import { namespaces, secrets } from '../../kube/core-types.ts'
import { X509Certificate } from 'node:crypto'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { sojournNamespace } from '../../apis/group.ts'
import type { KeyPair } from '../../apiserver/auth/certificates/certificate.ts'
import { startTestServer, type TestServer } from '../../../test/apiserver/test-server.ts'
import { Client } from '../../client/client.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { Transport } from '../../kube/transport.ts'
import { silentLogger } from '../../runtime/observability/log.ts'
import { VirtualClock } from '../../runtime/time/virtual-clock.ts'
import { quietClock } from '../../runtime/time/quiet-clock.ts'
import { certificateSource, followCertificate } from './certificate-source.ts'
import { readConfig } from '../config/config.ts'
import { webhookCertificate } from './webhook-certificate.ts'
import {
  certificateSecret,
  emptySecret,
  promoterSecret,
  webhookManifests,
  webhookName,
} from '../../admission/webhook-configuration.ts'

const day = 86_400_000
const hosts = ['127.0.0.1', 'sojourn-cleaner.sojourn-system.svc']
const clock = new VirtualClock(Date.parse('2026-01-05T08:00:00Z'))
let server: TestServer
let client: Client
/** A kind of real clusters that the embedded server does not serve: it calls no webhooks. */
let configuration: KubeObject | undefined

beforeEach(async () => {
  server = await startTestServer({ clock: quietClock(clock) })
  configuration = undefined
  client = new Client(withConfiguration(server.transport))
  await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: sojournNamespace } })
})
afterEach(() => server.close())

function withConfiguration(transport: Transport): Transport {
  return (request) => {
    if (!request.path.endsWith(`/validatingwebhookconfigurations/${webhookName}`)) return transport(request)
    if (request.method === 'PUT') configuration = request.body as KubeObject
    return Promise.resolve(
      configuration
        ? { status: 200, headers: {}, body: configuration }
        : { status: 404, headers: {}, body: { kind: 'Status', status: 'Failure', reason: 'NotFound', code: 404 } },
    )
  }
}

function manifest(kind: string): KubeObject {
  const found = webhookManifests({ environments: true }).find((candidate) => candidate.kind === kind)
  if (!found) throw new Error(`there is no ${kind}`)
  return found
}

const install = async () => {
  await client.create(secrets, manifest('Secret'))
  configuration = manifest('ValidatingWebhookConfiguration')
}
const secret = () => client.get(secrets, { namespace: sojournNamespace, name: certificateSecret })
const trusted = () => {
  const [webhook] = (configuration?.['webhooks'] ?? []) as { clientConfig: { caBundle?: string } }[]
  return Buffer.from(webhook?.clientConfig.caBundle ?? '', 'base64').toString()
}
const current = () => webhookCertificate({ client, clock, hosts })

it('issues a certificate that the API server then trusts, the same for every replica', async () => {
  await install()
  const [first, second] = await Promise.all([current(), current()])
  const third = await current()
  expect(third).toBeDefined()
  expect([first, second]).toContainEqual(third)
  const certificate = new X509Certificate(third?.certificate ?? '')
  expect(certificate.verify(new X509Certificate(trusted()).publicKey)).toBe(true)
  expect(hosts.map((host) => certificate.checkHost(host) ?? certificate.checkIP(host))).toEqual(hosts)
})

it('writes nothing while the certificate is valid', async () => {
  await install()
  await current()
  const before = [(await secret()).metadata.resourceVersion, configuration]
  await current()
  expect([(await secret()).metadata.resourceVersion, configuration]).toEqual(before)
})

it('renews the certificate a month before it expires, with the trusted authority', async () => {
  await install()
  const first = await current()
  const authority = trusted()
  await clock.runFor(340 * day)
  const second = await current()
  expect(second?.certificate).not.toBe(first?.certificate)
  expect(trusted()).toBe(authority)
  expect(new X509Certificate(second?.certificate ?? '').verify(new X509Certificate(authority).publicKey)).toBe(true)
})

it('uses the renewed certificate in every replica, without a restart', async () => {
  await install()
  const used: string[] = []
  const stopping = new AbortController()
  const source = { current: async () => (await current()) ?? expect.fail('there is no webhook') }
  const old = await source.current()
  await clock.runFor(340 * day)
  const use = ({ certificate }: KeyPair) => void used.push(certificate)
  const following = [1, 2].map(() =>
    followCertificate(source, { clock, log: silentLogger, use }).start(stopping.signal),
  )
  await clock.runFor(60_000)
  await vi.waitFor(() => expect(used).toHaveLength(2), 20_000)
  stopping.abort()
  await Promise.all(following)
  const { data } = (await secret()) as unknown as { readonly data: Readonly<Record<string, string>> }
  const renewed = Buffer.from(data['tls.crt'] ?? '', 'base64').toString()
  expect(renewed).not.toBe(old.certificate)
  expect(used).toEqual([renewed, renewed])
})

it.each([
  ['nothing readable', { 'ca.crt': 'x', 'ca.key': 'x', 'tls.crt': 'x', 'tls.key': 'x' }],
  ['half of it', { 'tls.crt': 'x' }],
])('issues a new certificate when the Secret holds %s', async (_, data) => {
  await install()
  const encoded = Object.fromEntries(Object.entries(data).map(([key, value]) => [key, btoa(value)]))
  await client.update(secrets, { ...(await secret()), data: encoded })
  expect((await current())?.certificate).toContain('BEGIN CERTIFICATE')
  expect(trusted()).toContain('BEGIN CERTIFICATE')
})

it('writes nothing where the webhook is not installed, or cert-manager manages its authority', async () => {
  expect(await current()).toBeUndefined()
  const annotations = { 'cert-manager.io/inject-ca-from': 'sojourn-system/sojourn-webhook' }
  const written = manifest('ValidatingWebhookConfiguration')
  configuration = { ...written, metadata: { ...written.metadata, annotations } }
  expect(await current()).toBeUndefined()
  expect(trusted()).toBe('')
})

it('serves one certificate from every replica of the promoter, with an authority that callers can trust', async () => {
  await client.create(secrets, emptySecret(promoterSecret))
  const served = () =>
    certificateSource(readConfig({ flags: { only: 'promoter' }, env: {} }), { client, clock }).current()
  const first = await served()
  expect(await served()).toEqual(first)
  const { data } = (await client.get(secrets, { namespace: sojournNamespace, name: promoterSecret })) as unknown as {
    readonly data: Readonly<Record<string, string>>
  }
  const certificate = new X509Certificate(first.certificate)
  expect(certificate.verify(new X509Certificate(atob(data['ca.crt'] ?? '')).publicKey)).toBe(true)
  for (const name of ['sojourn-promoter.sojourn-system.svc', 'sojourn-promoter.sojourn-system.svc.cluster.local'])
    expect(certificate.checkHost(name)).toBe(name)
  expect(configuration).toBeUndefined()
})

it.each(['promoter', 'janitor'])('creates no Secret for the %s', async (only) => {
  const { current: served } = certificateSource(readConfig({ flags: { only }, env: {} }), { client, clock })
  expect((await served()).certificate).toContain('BEGIN CERTIFICATE')
  expect((await client.list(secrets)).items.map(({ metadata }) => metadata.name)).toEqual([])
})

it('says what to do when the Secret of the webhook was deleted', async () => {
  configuration = manifest('ValidatingWebhookConfiguration')
  await expect(current()).rejects.toThrow('Secret sojourn-webhook')
})
