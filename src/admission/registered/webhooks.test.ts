import { randomBytes, randomUUID } from 'node:crypto'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { startTestServer, type TestServer } from '../../../test/apiserver/test-server.ts'
import { issueCertificate } from '../../apiserver/auth/certificates/certificate.ts'
import { openMemoryStore } from '../../apiserver/store/sqlite-store.ts'
import { Client } from '../../client/client.ts'
import { configMaps, services } from '../../kube/core-types.ts'
import type { KubeObject, ResourceType, StoredObject } from '../../kube/object.ts'
import { networkHttp } from '../../runtime/http/http.ts'
import { Outgoing } from '../../runtime/http/outgoing.ts'
import { systemClock } from '../../runtime/time/clock.ts'
import { KubernetesAdmission } from './kubernetes-admission.ts'
import { webhookCaller } from './webhook-call.ts'

interface Asked {
  readonly path: string
  readonly uid: string
  readonly operation: string
  readonly dryRun: boolean
  readonly object: KubeObject | null
  readonly oldObject: KubeObject | null
  readonly userInfo: { readonly username: string }
}

const configuration = (kind: 'Validating' | 'Mutating'): ResourceType => ({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: `${kind}WebhookConfiguration`,
  plural: `${kind.toLowerCase()}webhookconfigurations`,
  namespaced: false,
})
const endpointSlices: ResourceType = {
  group: 'discovery.k8s.io',
  version: 'v1',
  kind: 'EndpointSlice',
  plural: 'endpointslices',
  namespaced: true,
}
const rules = [
  { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE', 'DELETE'], resources: ['configmaps'] },
]
const patch = (...operations: readonly object[]) => ({
  patchType: 'JSONPatch',
  patch: Buffer.from(JSON.stringify(operations)).toString('base64'),
})
const map = (name: string, data: Record<string, string> = {}, labels: Record<string, string> = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default', labels },
  data,
})

describe('webhooks', () => {
  let server: TestServer
  let webhook: Server
  let client: Client
  let port: number
  let asked: Asked[] = []
  let answer: (request: Asked) => object | undefined = () => ({})
  const registered: string[] = []
  const remove = (path: string) => client.request({ method: 'DELETE', path })
  const network = networkHttp({ outgoing: new Outgoing({ for: 'administrators' }) })
  const certificate = issueCertificate({
    commonName: 'hooks',
    hosts: ['127.0.0.1', 'hooks.default.svc'],
    usage: 'server',
    now: systemClock.now(),
    days: 1,
    serial: randomBytes(16),
  })
  const caBundle = Buffer.from(certificate.certificate).toString('base64')

  beforeAll(async () => {
    webhook = createServer({ key: certificate.key, cert: certificate.certificate }, (request, response) => {
      let text = ''
      request.on('data', (chunk: Buffer) => (text += chunk.toString()))
      request.on('end', () => {
        const review = JSON.parse(text) as { request: Asked }
        const heard = { ...review.request, path: request.url ?? '' }
        asked.push(heard)
        const given = answer(heard)
        if (!given) return
        const body = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' }
        response.end(JSON.stringify({ ...body, response: { uid: heard.uid, allowed: true, ...given } }))
      })
    })
    await new Promise<void>((resolve) => webhook.listen(0, '127.0.0.1', resolve))
    port = (webhook.address() as AddressInfo).port
    const store = openMemoryStore(systemClock)
    const kubernetes = new KubernetesAdmission(store)
    server = await startTestServer({ clock: systemClock, store, admission: [kubernetes.hook] })
    kubernetes.start({
      server,
      uid: randomUUID,
      clock: systemClock,
      onError: console.error,
      call: webhookCaller({ http: network.http, store }),
    })
    client = new Client(server.transport)
    // A controller writes it at any moment after the start.
    await vi.waitFor(() => client.get(configMaps, { namespace: 'default', name: 'kube-root-ca.crt' }), 20_000)
  })
  afterEach(async () => {
    for (const path of registered.splice(0)) await remove(path)
    asked = []
    answer = () => ({})
  })
  afterAll(async () => {
    await server.close()
    network.close()
    webhook.closeAllConnections()
    webhook.close()
  })

  /** Registers webhooks of one configuration: each is called at `/name`. */
  async function register(kind: 'Validating' | 'Mutating', ...webhooks: readonly Record<string, unknown>[]) {
    const name = `hooks-${randomUUID()}`
    await client.create(configuration(kind), {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: `${kind}WebhookConfiguration`,
      metadata: { name },
      webhooks: webhooks.map((each, index) => ({
        name: `hook${index}.example.com`,
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        clientConfig: { url: `https://127.0.0.1:${port}/${index}`, caBundle },
        rules,
        ...each,
      })),
    })
    registered.push(`/apis/admissionregistration.k8s.io/v1/${configuration(kind).plural}/${name}`)
  }
  const paths = () => asked.map(({ path }) => path)
  const refusal = (work: Promise<unknown>) =>
    work.then(
      () => 'allowed',
      (error: Error) => error.message,
    )

  it('refuses what a validating webhook refuses, in its words', async () => {
    await register('Validating', {})
    answer = () => ({ allowed: false, status: { code: 403, message: 'not today' } })
    expect(await refusal(client.create(configMaps, map('refused')))).toBe(
      'admission webhook "hook0.example.com" denied the request: not today',
    )
    expect(asked.find(({ object }) => object?.metadata.name === 'refused')).toMatchObject({
      operation: 'CREATE',
      oldObject: null,
      userInfo: { username: 'system:admin' },
    })
    expect(await refusal(client.get(configMaps, { namespace: 'default', name: 'refused' }))).toContain('not found')
  })

  it('stores the object whose uid the webhook saw, and passes its warnings on', async () => {
    await register('Validating', {})
    answer = () => ({ warnings: ['mind the gap'] })
    const made = await client.create(configMaps, {
      ...map(''),
      metadata: { generateName: 'made-', namespace: 'default' },
    } as never)
    expect(asked[0]?.object?.metadata).toMatchObject({ uid: made.metadata.uid, name: made.metadata.name })
  })

  it('stores the addresses that the webhook saw', async () => {
    await register('Validating', { rules: [{ ...rules[0], resources: ['services'] }] })
    const metadata = { name: 'shown', namespace: 'default' }
    const { spec } = await client.create<StoredObject>(services, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: {
        type: 'NodePort',
        ports: [
          { port: 80, name: 'a' },
          { port: 81, name: 'b' },
        ],
      },
    } as KubeObject)
    expect(asked.map(({ object }) => (object as StoredObject).spec)).toEqual([spec])
    expect(spec).toMatchObject({ clusterIP: expect.stringMatching(/^10\.96/) as string })
  })

  it('applies patches in order and calls again what asks for it', async () => {
    await register('Mutating', { reinvocationPolicy: 'IfNeeded' }, {}, {})
    answer = ({ path }) => (path === '/1' ? patch({ op: 'add', path: '/data/added', value: 'one' }) : {})
    const made = await client.create(configMaps, map('patched', { own: 'x' }))
    expect(made.data).toEqual({ own: 'x', added: 'one' })
    expect(paths()).toEqual(['/0', '/1', '/2', '/0'])
  })

  it('calls on update and delete with the old object, and only what rules and selectors select', async () => {
    const objectSelector = { matchLabels: { watched: 'yes' } }
    const conditions = [{ name: 'not-system', expression: "request.userInfo.username != 'system:other'" }]
    await register('Validating', { objectSelector, matchConditions: conditions })
    await client.create(configMaps, map('unwatched'))
    expect(paths()).toEqual([])
    await client.create(configMaps, map('watched', {}, { watched: 'yes' }))
    const body = { data: { a: 'b' } }
    await client.patch(configMaps, { namespace: 'default', name: 'watched' }, { type: 'merge', body })
    await remove('/api/v1/namespaces/default/configmaps/watched')
    expect(asked.map(({ operation, object, oldObject }) => [operation, object === null, oldObject === null])).toEqual([
      ['CREATE', false, true],
      ['UPDATE', false, false],
      ['DELETE', true, false],
    ])
  })

  it('decides by the failure policy when a webhook does not answer in time or cannot be reached', async () => {
    const late = { timeoutSeconds: 1 }
    await register('Validating', { ...late, failurePolicy: 'Ignore' })
    answer = () => undefined
    await client.create(configMaps, map('ignored'))
    await register('Validating', { ...late, failurePolicy: 'Fail' })
    expect(await refusal(client.create(configMaps, map('failed')))).toMatch(
      /^Internal error occurred: failed calling webhook "hook0.example.com": .*did not answer within 1 s/,
    )
  })

  it('trusts only the certificates of caBundle', async () => {
    await register('Validating', { clientConfig: { url: `https://127.0.0.1:${port}/` } })
    expect(await refusal(client.create(configMaps, map('untrusted')))).toContain('self-signed certificate')
  })

  it('reaches a Service by its endpoints, under its name', async () => {
    await client.create(services, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'hooks', namespace: 'default' },
      spec: { ports: [{ name: 'https', port: 8443 }] },
    })
    await client.create(endpointSlices, {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: 'hooks', namespace: 'default', labels: { 'kubernetes.io/service-name': 'hooks' } },
      addressType: 'IPv4',
      ports: [{ name: 'https', port }],
      endpoints: [{ addresses: ['127.0.0.1'], conditions: { ready: true } }],
    })
    const service = { name: 'hooks', namespace: 'default', path: '/by-service', port: 8443 }
    await register('Validating', { clientConfig: { service, caBundle } })
    await client.create(configMaps, map('by-service'))
    expect(paths()).toEqual(['/by-service'])
  })

  it('passes a dry run on, and refuses it where a webhook has side effects', async () => {
    await register('Validating', { sideEffects: 'NoneOnDryRun' })
    await client.create(configMaps, map('dry'), { dryRun: true } as never)
    expect(asked[0]?.dryRun).toBe(true)
  })

  it('never calls a webhook for the configuration of admission', async () => {
    const everything = [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*/*'] }]
    await register('Validating', { rules: everything, clientConfig: { url: 'https://127.0.0.1:1/', caBundle } })
    expect(await refusal(client.create(configMaps, map('blocked')))).toContain('failed calling webhook')
    await register('Validating', { rules })
    await remove(registered.shift() ?? '')
    await client.create(configMaps, map('unblocked'))
  })

  it('decides again with the object as it is, when it changes while a webhook thinks', async () => {
    await client.create(configMaps, map('racing', { count: '0' }))
    await register('Validating', {})
    const heard = Promise.withResolvers<void>()
    answer = () => {
      heard.resolve()
      return {}
    }
    const place = { namespace: 'default', name: 'racing' }
    const change = (data: object) => client.patch(configMaps, place, { type: 'merge', body: { data } })
    await Promise.all([change({ a: '1' }), heard.promise.then(() => change({ b: '2' }))])
    const { data } = await client.get(configMaps, place)
    expect(data).toEqual({ count: '0', a: '1', b: '2' })
  })

  it('refuses configurations that it could not call', async () => {
    const bad = [{ sideEffects: 'Some' }, { clientConfig: { url: 'http://127.0.0.1/' } }, { timeoutSeconds: 31 }]
    for (const each of bad) expect(await refusal(register('Validating', each))).toContain('is invalid')
  })
})
