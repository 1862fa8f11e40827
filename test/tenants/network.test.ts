import { createServer, type IncomingMessage } from 'node:http'
import { createServer as createTcpServer, type AddressInfo } from 'node:net'
import ssh2, { type ParsedKey } from 'ssh2'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createNetworks } from '../../src/app/core/networks.ts'
import { loadKubeconfig } from '../../src/client/kubeconfig.ts'
import { parseRepositoryURL } from '../../src/git/repository-url.ts'
import { SshTransport } from '../../src/git/ssh-transport.ts'
import { events } from '../../src/kube/core-types.ts'
import { isDeniedAddress } from '../../src/runtime/http/outgoing.ts'
import { knownSecrets } from '../../src/runtime/observability/known-secrets.ts'
import { openSession } from '../../src/systems/janitor/aws/read/session.ts'
import { openChannel } from '../../src/notices/open-channel.ts'
import type { Notice } from '../../src/notices/notice.ts'
import { systemClock } from '../../src/runtime/time/clock.ts'
import { cleaner } from './manifests.ts'
import { until, worlds, type TenantWorld } from './tenant-world.ts'

const listen = async (server: ReturnType<typeof createTcpServer>) => {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

/** The message of a Cleaner's Event about its sink. */
const delivery = (world: TenantWorld, name: string) =>
  until(async () => {
    const { items } = await world.as('administrator').list(events, { namespace: 'a' })
    const found = (items as readonly unknown[]).find((item) => {
      const { involvedObject, reason } = item as { involvedObject: { name: string }; reason: string }
      return involvedObject.name === name && reason.startsWith('EventDeliver')
    })
    return (found as { readonly message: string } | undefined)?.message
  })

const sinkOf = (name: string, cloudEventSink: string) =>
  cleaner('a', name, { spec: { cloudEventSink, cloudEventRequired: true } })

describe.each(worlds)('addresses that a tenant names: $name', ({ start }) => {
  let world: TenantWorld
  let port: number
  const received: IncomingMessage[] = []
  const inside = createServer((request, response) => {
    received.push(request)
    response.end()
  })
  beforeAll(async () => {
    port = await listen(inside)
    world = await start({ flags: { 'allow-outgoing': 'none' } })
  })
  afterAll(async () => {
    inside.close()
    await world?.[Symbol.asyncDispose]()
  })

  it.each([
    ['60: loopback', 'http://127.0.0.1:PORT/'],
    ['61: mapped into IPv6', 'http://[::ffff:7f00:1]:PORT/'],
    ['62: a decimal address', 'http://2130706433:PORT/'],
    ['63: the unspecified address', 'http://0.0.0.0:PORT/'],
    ['64: instance metadata', 'http://169.254.169.254/latest/meta-data'],
    ['65: a name of this machine', 'http://localhost:PORT/'],
    ['66: loopback over https', 'https://127.0.0.1:PORT/'],
    ['68: NAT64', 'http://[64:ff9b::7f00:1]:PORT/'],
  ])('%s is not connected to', async (attack, url) => {
    const name = `c${attack.slice(0, 2)}`
    await world.create('tenant', sinkOf(name, url.replace('PORT', String(port))))
    expect(await delivery(world, name)).toContain('are not allowed')
    expect(received).toEqual([])
  })

  it('71: a connection that is kept alive to an allowed name serves no other name of it', async () => {
    await using allowing = await start({ flags: { 'allow-outgoing': `localhost:${port}` } })
    const before = received.length
    await allowing.create('tenant', sinkOf('c71-allowed', `http://localhost:${port}/`))
    await until(() => Promise.resolve(received.length > before || undefined))
    const reached = received.length
    await allowing.create('tenant', sinkOf('c71', `http://127.0.0.1:${port}/`))
    expect(await delivery(allowing, 'c71')).toContain('are not allowed')
    expect(received).toHaveLength(reached)
    received.length = before
  })

  it('69: the API server is not reached, though the operator allows its address', async () => {
    await using allowing = await start({ flags: { 'allow-outgoing': '127.0.0.1' } })
    const { server } = loadKubeconfig([world.kubeconfig], { now: () => Date.now(), env: {} })
    const own = loadKubeconfig([allowing.kubeconfig], { now: () => Date.now(), env: {} })
    expect(own.server).not.toBe(server)
    await allowing.create('tenant', sinkOf('c69', `${own.server}/api`))
    expect(await delivery(allowing, 'c69')).toContain('are not allowed')
  })
})

describe.each(worlds)('answers of servers that a tenant names: $name', ({ start }) => {
  let world: TenantWorld
  let base: string
  const paths: string[] = []
  const server = createServer((request, response) => {
    paths.push(request.url ?? '')
    if (request.url === '/redirect') response.writeHead(302, { location: '/inside' })
    if (request.url === '/body') response.writeHead(500)
    response.end('text-of-the-answer')
  })
  beforeAll(async () => {
    base = `http://127.0.0.1:${await listen(server)}`
    world = await start({ flags: { 'allow-outgoing': '127.0.0.1' } })
  })
  afterAll(async () => {
    server.close()
    await world?.[Symbol.asyncDispose]()
  })

  it('67: a redirect is not followed', async () => {
    await world.create('tenant', sinkOf('c67', `${base}/redirect`))
    expect(await delivery(world, 'c67')).toContain('the sink answered 302')
    expect(paths).not.toContain('/inside')
  })

  it('72: the body of an answer is shown nowhere', async () => {
    await world.create('tenant', sinkOf('c72', `${base}/body`))
    const message = await delivery(world, 'c72')
    expect(message).toContain('the sink answered 500')
    expect(message).not.toContain('text-of-the-answer')
    expect(world.logged()).not.toContain('text-of-the-answer')
  })
})

describe('protocols other than HTTP', () => {
  const item = {
    candidate: 'c',
    generation: 1,
    kind: 'ConfigMap',
    name: 'x',
    place: 'a',
    reasons: [],
    deletionAt: 0,
    optOutUrl: 'https://example.org/keep?signature=1',
    keepCommand: 'sojourn opt-out ConfigMap/x',
    resourceUrl: '',
    otherPolicies: [],
  } as const
  const notice: Notice = {
    kind: 'notice',
    policy: 'p',
    to: ['owner@example.org'],
    items: [item],
    part: 1,
    parts: 1,
    messageId: '<1@sojourn>',
    docsUrl: '',
    timeZone: 'UTC',
  }
  const never = new AbortController().signal
  const failure = (work: Promise<unknown>) =>
    work.then(
      () => 'connected',
      (error: unknown) => error,
    )

  it('70: ssh reaches no address of this machine', async () => {
    const inside = createTcpServer((socket) => socket.destroy())
    const port = await listen(inside)
    const networks = createNetworks([])
    const keys = ssh2.utils.generateKeyPairSync('ed25519')
    const url = parseRepositoryURL(`ssh://git@127.0.0.1:${port}/repository.git`)
    const ssh = new SshTransport({
      url: url as Extract<typeof url, { over: 'ssh' }>,
      key: ssh2.utils.parseKey(keys.private) as ParsedKey,
      knownHosts: `[127.0.0.1]:${port} ${keys.public}\n`,
      takeToken: () => {},
      signal: never,
      connect: networks.tenants.connect,
    })
    const error = await failure(ssh.advertisement('git-upload-pack'))
    inside.close()
    networks.close()
    expect(String((error as Error).message)).toContain('are not allowed')
  })

  const spec = {
    type: 'smtp',
    smtp: { host: '169.254.169.254', port: 25, from: 'a@example.org', to: ['b@example.org'] },
  }
  const channel = (network: Parameters<typeof openChannel>[1]['network']) =>
    openChannel({ metadata: { name: 'mail' }, spec } as never, {
      client: undefined as never,
      clock: systemClock,
      network,
    })

  it('70: mail reaches no link-local address', async () => {
    const networks = createNetworks([])
    const error = await failure(channel(networks.administrators).send(notice, never))
    networks.close()
    expect(String((error as Error).message)).toContain('are not allowed')
  })

  it('64: the endpoint of a ProviderAccount is no link-local address', async () => {
    const networks = createNetworks([])
    const opened = openSession({
      account: 'main',
      spec: { provider: 'aws', regions: ['eu-west-1'], endpoint: 'http://169.254.169.254', secretRef: { name: 'x' } },
      region: 'eu-west-1',
      keys: () => Promise.resolve({ accessKeyId: 'a', secretAccessKey: 'b' }),
      clock: systemClock,
      network: networks.administrators,
    } as unknown as Parameters<typeof openSession>[0])
    const error = await failure(opened)
    networks.close()
    expect(isDeniedAddress(error) || String((error as Error).message).includes('are not allowed')).toBe(true)
  })

  it('27: a notice holds no value of a Secret', async () => {
    const password = 'known-password-of-a-secret'
    knownSecrets.add({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, data: { password: btoa(password) } })
    const bodies: string[] = []
    const hook = openChannel(
      { metadata: { name: 'hook' }, spec: { type: 'webhook', webhook: { url: 'https://example.org/' } } } as never,
      {
        client: undefined as never,
        clock: systemClock,
        network: {
          connect: () => expect.unreachable(),
          http: (request) => {
            bodies.push(Buffer.from(request.body ?? '').toString())
            return Promise.resolve({ status: 200, headers: {}, body: Buffer.alloc(0) })
          },
        },
      },
    )
    // Names, tags and facts of cloud resources are of others, too.
    const leaky = {
      ...item,
      name: `x-${password}`,
      place: `at ${password}`,
      about: `tag ${password}`,
      reasons: [`it holds ${password}`],
    }
    await hook.send({ ...notice, items: [leaky] }, never)
    for (const text of ['it holds <redacted>', 'tag <redacted>']) expect(bodies.join('')).toContain(text)
    expect(bodies.join('')).not.toContain(password)
    expect(bodies.join('')).toContain('keep?signature=1')
  })
})
