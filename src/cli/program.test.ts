import { configMaps, services, statefulSets } from '../kube/core-types.ts'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { createServer as createPlainServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cleaner, ownCleaner } from '../apis/cleaner.ts'
import { departure } from '../apis/departure.ts'
import { readConfig } from '../app/config/config.ts'
import { startUp, type Up } from '../app/embedded/up.ts'
import { loadCredentials } from '../apiserver/auth/credentials.ts'
import { kubeconfigText } from '../apiserver/auth/certificates/kubeconfig.ts'
import { startTestServer } from '../../test/apiserver/test-server.ts'
import { Client } from '../client/client.ts'
import { loadKubeconfig } from '../client/kubeconfig.ts'
import { networkTransport } from '../client/network-transport.ts'
import { systemClock } from '../runtime/time/clock.ts'
import { silentLogger } from '../runtime/observability/log.ts'
import { commands } from './commands.ts'
import { main } from './program.ts'

let directory: string
let up: Up

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'cli-'))
  const flags = { data: join(directory, 'data'), port: '0', only: 'api', durable: false }
  up = await startUp(readConfig({ flags, env: {} }), silentLogger)
})
afterAll(async () => {
  await up.stop()
  rmSync(directory, { recursive: true })
})

interface Said {
  readonly code: number
  readonly out: string
  readonly err: string
}

interface Given {
  readonly env?: Record<string, string>
  readonly isTerminal?: boolean
  readonly colours?: boolean
  readonly signal?: AbortSignal
  /** Called with the output so far. */
  readonly heard?: (out: string) => void
}

/** Runs the program as a shell would, with no terminal unless told otherwise. */
async function sojourn(words: readonly string[], given: Given = {}): Promise<Said> {
  let [out, err] = ['', '']
  const { isTerminal = false, colours = false, signal = new AbortController().signal } = given
  const code = await main(words, {
    out: (text) => {
      out += text
      given.heard?.(out)
    },
    err: (text) => void (err += text),
    env: { SOJOURN_DATA: join(directory, 'data'), ...given.env },
    now: () => Date.now(),
    isTerminal,
    isErrTerminal: isTerminal,
    colours,
    width: 100,
    height: 50,
    signal,
  })
  return { code, out, err }
}

function kubeconfig(name: string, text: string): string {
  const path = join(directory, name)
  writeFileSync(path, text)
  return path
}

describe('arguments', () => {
  it.each([
    ['statsu', 'status'],
    ['forcast', 'forecast'],
    ['optout', 'opt-out'],
  ])('%s: the nearest command is suggested', async (typed, suggested) => {
    const { code, err } = await sojourn([typed])
    expect(err).toContain(`did you mean "${suggested}"?`)
    expect(code).toBe(2)
  })

  it('get no suggestion when no command is similar', async () =>
    expect((await sojourn(['xylophone'])).err).not.toContain('did you mean'))

  it('get the nearest flag suggested, too', async () => {
    const { code, err } = await sojourn(['forecast', '--asume', 'x'])
    expect(err).toContain('did you mean --assume?')
    expect(code).toBe(2)
  })

  it.each(commands.map(({ name }) => name))(
    '%s has help with a usage line and says what its flags are for',
    async (name) => {
      const { code, out } = await sojourn(['help', name])
      expect(code).toBe(0)
      expect(out).toContain(`Usage: sojourn ${name}`)
      expect((await sojourn([name, '--help'])).out).toBe(out)
    },
  )

  it.each(commands.map(({ name }) => name))(
    '%s has examples, each of which begins with a command of ours',
    async (name) => {
      const { out } = await sojourn(['help', name])
      const [, examples = ''] = out.split('Examples:\n')
      const lines = examples.split('\n\n')[0]?.trim().split('\n') ?? []
      expect(lines.some((line) => line.includes(`sojourn ${name}`))).toBe(true)
    },
  )

  it.each([
    [
      ['departures', '--system', 'janitr'],
      'it must be cleaner, collector, janitor, promoter, activator, environments or user; did you mean "janitor"?',
    ],
    [['forecast', '-o', 'icla'], 'it must be table, json, yaml or ical; did you mean "ical"?'],
    [['forecast', '--for', '-3d'], '--for needs a value: --for DURATION'],
    [['forecast', '--for', '99999999d'], 'the maximum is ten years'],
    [['status', '-n'], '--namespace needs a value: --namespace NAME'],
    [['departures', '--pause=yes'], '--pause takes no value'],
    [['departures', '--pause', '--resume'], '--pause and --resume exclude each other'],
    [['opt-out', 'cm/x', '--until', 'bogus'], 'it must be in the future, such as 14d'],
    [['opt-out', 'cm/x', '--until', '2020-01-01T00:00:00Z'], 'it must be in the future, such as 14d'],
  ])('%s: is refused before anything is done', async (words, said) => {
    const { code, err } = await sojourn(words)
    expect(err).toContain(said)
    expect(code).toBe(2)
  })

  it('with an unknown kind get the nearest kind suggested', async () =>
    expect((await sojourn(['explain', 'deplyoment/shop'])).err).toContain('did you mean "deployment"?'))

  it('with an unknown object get an error that names the namespace', async () =>
    expect((await sojourn(['explain', 'cm/none', '-n', 'default'])).err).toContain(
      'there is no ConfigMap "none" in namespace default; use -n for another',
    ))

  it('find an object of any group that has such a kind, and say what deleted one', async () => {
    const { transport } = networkTransport(loadKubeconfig([up.kubeconfig], { now: Date.now, env: {} }))
    const client = new Client(transport)
    const metadata = { name: 'ours', namespace: 'default' }
    const spec = { ttl: '24h', suspend: true }
    await client.create(ownCleaner.type, { apiVersion: ownCleaner.apiVersion, kind: 'Cleaner', metadata, spec })
    const { code, err } = await sojourn(['explain', 'cleaner/ours', '-n', 'default'])
    expect([code, err]).toEqual([0, ''])
    const { apiVersion, kind, type } = departure
    const object = { apiVersion: 'v1', kind: 'ConfigMap', name: 'past', namespace: 'default', uid: 'u' }
    const by = { system: 'cleaner', object: { apiVersion: 'sojourn.dev/v1alpha1', kind: 'Cleaner', name: 'preview' } }
    const recorded = { object: { ...object, resourceVersion: '1' }, because: 'target', by }
    const record = { ...recorded, recordedAt: '2026-11-01T00:00:00Z' }
    await client.create(type, { apiVersion, kind, metadata: { name: 'past', namespace: 'default' }, spec: record })
    expect((await sojourn(['explain', 'cm/past', '-n', 'default'])).err).toContain(
      'ConfigMap/default/past was deleted at 2026-11-01T00:00:00Z by the cleaner (Cleaner/preview): target; to restore it, run "sojourn restore cm/past -n default"',
    )
  })

  it('take KIND NAME as kubectl does', async () => {
    const namespace = ['-n', 'default']
    const { transport } = networkTransport(loadKubeconfig([up.kubeconfig], { now: Date.now, env: {} }))
    const kept = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'kept', namespace: 'default' } }
    await new Client(transport).create(configMaps, kept)
    for (const [words, said] of [
      [['opt-out', 'configmap', 'kept'], 'configmap/kept is opted out'],
      [['explain', 'configmap', 'kept'], 'opted out'],
      [['opt-in', 'configmap', 'kept'], ''],
    ] as const) {
      const { code, out, err } = await sojourn([...words, ...namespace])
      expect([code, err]).toEqual([0, ''])
      expect(out).toContain(said)
    }
  })

  it('of help: the exit codes are listed', async () =>
    expect((await sojourn([])).out).toContain('Exit codes: 0 fine, 1 failed, 2 wrong usage'))
})

it('prices a change before it is applied, and says what it compares', async () => {
  const file = join(directory, 'change.yaml')
  writeFileSync(file, 'apiVersion: v1\nkind: Namespace\nmetadata: { name: priced }\n')
  const { code, out } = await sojourn(['savings', '--what-if', file, '--for', '1d'])
  expect([code, out]).toEqual([0, expect.stringContaining('It would save nothing more until')])
  expect(out).toContain('nothing without it, nothing with it')
  const told = await sojourn(['savings', '--dry-run', '--for', '1d', '-o', 'json'])
  expect(JSON.parse(told.out)).toMatchObject({ kind: 'Savings', by: 'namespace', items: [], totals: [] })
}, 60_000)

describe('exit codes', () => {
  it('0 when all is fine', async () => expect((await sojourn(['status', '-A'])).code).toBe(0))
  it('1 when it failed', async () => expect((await sojourn(['explain', 'configmap/none'])).code).toBe(1))
  it('2 when it was used wrongly', async () => {
    expect((await sojourn(['explain'])).code).toBe(2)
    expect((await sojourn(['status', '-o', 'xml'])).code).toBe(2)
    expect((await sojourn(['forecast', '--for', 'ever'])).code).toBe(2)
    expect((await sojourn(['forecast', '--assume', 'no-such.yaml'])).code).toBe(2)
    expect(await sojourn(['savings', '--what-if', 'no-such.yaml'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('--what-if no-such.yaml: not a readable file') as unknown,
    })
    expect((await sojourn(['savings', '--for', '7d'])).err).toContain('--for cannot be used without --what-if')
    expect((await sojourn(['savings', '--dry-run', '--since', '7d'])).err).toContain('--since cannot be used with')
  })
  it(
    '130 when it was interrupted',
    async () => expect((await sojourn(['forecast'], { signal: AbortSignal.abort() })).code).toBe(130),
    30_000,
  )
})

describe('errors of the cluster say what to do', () => {
  it('when there is none', async () => {
    const { code, err } = await sojourn(['status'], { env: { SOJOURN_DATA: join(directory, 'nowhere') } })
    expect(err).toContain('no cluster found: start one here with "sojourn up", or name one with --kubeconfig')
    expect(code).toBe(2)
  })

  it('when the kubeconfig does not exist', async () =>
    expect((await sojourn(['status'], { env: { KUBECONFIG: '/no/such' } })).err).toContain(
      'which does not exist: correct it',
    ))

  it('when nothing listens', async () => {
    const text = readFileSync(up.kubeconfig, 'utf8').replace(/127\.0\.0\.1:\d+/, '127.0.0.1:1')
    const { code, err } = await sojourn(['status', '--kubeconfig', kubeconfig('closed', text)])
    expect(err).toContain('Nothing listens there: is "sojourn up" running')
    expect(code).toBe(1)
  })

  it('when the server does not speak TLS', async () => {
    const server = createPlainServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const text = readFileSync(up.kubeconfig, 'utf8').replace(/127\.0\.0\.1:\d+/, `127.0.0.1:${port}`)
    const { code, err } = await sojourn(['status', '--kubeconfig', kubeconfig('plain-http', text)])
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    expect(err).toContain('the server does not speak TLS: check "server" in the kubeconfig')
    expect(code).toBe(1)
  })

  it('when there is no such pipeline', async () => {
    const { code, err } = await sojourn(['approve', 'shop', 'prod', '1.0.0', '-n', 'default'])
    expect(err).toContain('there is no Pipeline "shop" in namespace default; run "sojourn status -A" for all')
    expect(code).toBe(1)
  })

  it.each([
    [[], 'there is no departure "settings"; run "sojourn departures -A" for all'],
    [['-n', 'team'], 'there is no departure "settings" in namespace team; run "sojourn departures -A" for all'],
  ])('when there is no record of that name (%s)', async (where, advice) => {
    const { code, err } = await sojourn(['restore', 'settings', ...where])
    expect([code, err]).toEqual([1, expect.stringContaining(advice)])
  })

  it.each([
    ['configmap/never', 'no deletion of ConfigMap/default/never is recorded'],
    ['cm/', '"cm/" must be KIND/NAME'],
    ['nothing/x', 'the server has no kind "nothing"'],
  ])('when there is no record of a deleted object (%s)', async (word, advice) => {
    const { err } = await sojourn(['restore', word, '-n', 'default'])
    expect(err).toContain(advice)
  })

  it('when records in several namespaces have that name', async () => {
    const network = networkTransport(loadKubeconfig([up.kubeconfig], { now: () => Date.now(), env: {} }))
    const client = new Client(network.transport)
    const object = { apiVersion: 'v1', kind: 'ConfigMap', name: 'twice', uid: 'u', resourceVersion: '1' }
    const spec = { object, because: 'test', by: { system: 'user' }, recordedAt: new Date().toISOString() }
    for (const namespace of ['default', 'kube-public']) {
      const { apiVersion, kind, type } = departure
      await client.create(type, { apiVersion, kind, metadata: { name: 'twice', namespace }, spec })
    }
    network.close()
    const { code, err } = await sojourn(['restore', 'twice'])
    expect([code, err]).toEqual([1, expect.stringContaining('choose one with -n: default, kube-public')])
  })

  it('when the token is not valid', async () => {
    const text = readFileSync(up.kubeconfig, 'utf8').replace(/token: .*/, 'token: made-up')
    const { code, err } = await sojourn(['status', '--kubeconfig', kubeconfig('bad-token', text)])
    expect(err).toContain('the token or certificate in the kubeconfig is invalid or expired. Get a new kubeconfig')
    expect(code).toBe(1)
  })

  it.each([
    ['has expired', -3 * 365, 'has expired: renew it'],
    ['is not valid yet', 3 * 365, 'is the clock of this machine correct?'],
  ])('when the certificate of the server %s', async (_, days, advice) => {
    const { server: pair, authority } = loadCredentials({
      hosts: ['127.0.0.1'],
      now: Date.now() + days * 86_400_000,
    })
    const server = createServer({ cert: pair.certificate, key: pair.key }, (_request, response) => response.end('{}'))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const text = kubeconfigText({ server: `https://127.0.0.1:${port}`, authority, user: 'me', token: 'x' })
    const { code, err } = await sojourn(['status', '--kubeconfig', kubeconfig('expired', text)])
    await new Promise((resolve) => server.close(resolve))
    expect(err).toContain(advice)
    expect(code).toBe(1)
  })

  it.each([
    ['has expired', -3 * 365, 'its client certificate expired on 20', 2],
    ['is no longer taken', 0, 'is invalid or expired. Get a new kubeconfig', 1],
  ])('when the client certificate %s', async (_, days, advice, expected) => {
    const { server: mine } = loadCredentials({ hosts: ['me'], now: Date.now() + days * 86_400_000 })
    const base64 = (text: string) => Buffer.from(text).toString('base64')
    const own = `client-certificate-data: ${base64(mine.certificate)}\n      client-key-data: ${base64(mine.key)}`
    const text = readFileSync(up.kubeconfig, 'utf8').replace(/token: .*/, own)
    const { code, err } = await sojourn(['status', '--kubeconfig', kubeconfig('mine', text)])
    expect(err).toContain(advice)
    expect(code).toBe(expected)
  })

  it('not while the server is starting: the request is retried', async () => {
    const { server: pair, authority } = loadCredentials({ hosts: ['127.0.0.1'], now: Date.now() })
    let asked = 0
    const busy = {
      message: 'storage is (re)initializing',
      reason: 'TooManyRequests',
      details: { retryAfterSeconds: 0.01 },
    }
    const server = createServer({ cert: pair.certificate, key: pair.key }, (_request, response) => {
      response.writeHead(++asked < 3 ? 429 : 404, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ kind: 'Status', ...(asked < 3 ? busy : {}) }))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const text = kubeconfigText({ server: `https://127.0.0.1:${port}`, authority, user: 'me', token: 'x' })
    const { err } = await sojourn(['status', '--kubeconfig', kubeconfig('busy', text)])
    await new Promise((resolve) => server.close(resolve))
    expect(err).toContain("does not serve Sojourn's kinds")
    expect(asked).toBe(3)
  })

  it('when a foreign authority signed the certificate', async () => {
    const { authority } = loadCredentials({ hosts: [], now: Date.now() })
    const text = kubeconfigText({ server: up.api, authority, user: 'me', token: 'x' })
    expect((await sojourn(['status', '--kubeconfig', kubeconfig('stranger', text)])).err).toContain(
      'use the kubeconfig that belongs to it',
    )
  })

  it('when it does not serve Sojourn’s kinds', async () => {
    await using server = await startTestServer({ clock: systemClock })
    const { url } = await server.listen({ port: 0 })
    const { code, err } = await sojourn(['status', '--kubeconfig', kubeconfig('plain', server.kubeconfig(url))])
    expect(err).toContain('kinds: run "sojourn install --crds-only | kubectl apply --server-side -f -"')
    expect(code).toBe(2)
  })

  it('when its version differs', async () => {
    const network = networkTransport(loadKubeconfig([up.kubeconfig], { now: () => Date.now(), env: {} }))
    const client = new Client(network.transport)
    const place = { namespace: 'sojourn-system', name: 'sojourn-endpoints' }
    const say = (version: string) => client.patch(configMaps, place, { type: 'merge', body: { data: { version } } })
    const { data } = (await client.get(configMaps, place)) as { data?: { version?: string } }
    await say('7.3.0')
    const { code, err } = await sojourn(['status', '-A'])
    await say(data?.version ?? '')
    network.close()
    expect(err).toContain('the server is version 7.3.0')
    expect(err).toContain('use the same version on both sides')
    expect(code).toBe(0)
    expect((await sojourn(['status', '-A'])).err).toBe('')
  })
})

describe('output', () => {
  beforeAll(async () => {
    const network = networkTransport(loadKubeconfig([up.kubeconfig], { now: () => Date.now(), env: {} }))
    const client = new Client(network.transport)
    await client.create(cleaner.type, {
      apiVersion: cleaner.apiVersion,
      kind: cleaner.kind,
      metadata: { name: 'tomorrow', namespace: 'default' },
      spec: { ttl: '24h' },
    })
    await client.create(services, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'shop', namespace: 'default', annotations: { 'proxless/deployment': 'shop' } },
      spec: { ports: [{ port: 80 }] },
    })
    const asking = { 'proxless/deployment': 'shop', 'sojourn.dev/takeover': 'true' }
    await client.create(services, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'asking', namespace: 'default', annotations: asking },
      spec: { ports: [{ port: 80 }] },
    })
    network.close()
  })

  it('of explain is whole sentences with one full stop each', async () => {
    const { out } = await sojourn(['explain', 'service/shop', '-n', 'default'])
    expect(out).toContain('The activator says Unknown: Deployment shop does not exist.\n')
    expect(out).not.toContain('..')
  })

  it('of explain finds the Service of a workload, also under another name', async () => {
    const labels = { app: 'till' }
    const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'none' }] } }
    const network = networkTransport(loadKubeconfig([up.kubeconfig], { now: () => Date.now(), env: {} }))
    const client = new Client(network.transport)
    await client.create(statefulSets, {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name: 'till', namespace: 'default' },
      spec: { replicas: 0, serviceName: 'front', selector: { matchLabels: labels }, template },
    })
    await client.create(services, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'front', namespace: 'default', annotations: { 'sojourn.dev/target': 'StatefulSet/till' } },
      spec: { ports: [{ port: 80 }] },
    })
    network.close()
    const { out } = await sojourn(['explain', 'statefulset/till', '-n', 'default'])
    expect(out).toContain('The activator says of service/front Asleep: It is idle; the next request wakes it.\n')
  })

  it.each([['status'], ['explain', 'service/asking']])(
    'of %s says how callers reach a Service that is to be taken over',
    async (...words) =>
      expect((await sojourn([...words, '-n', 'default'])).out).toContain('No proxy has taken it over yet. Deployment'),
  )

  it.each(['table', 'json', 'yaml'])(
    'as %s',
    async (format) => {
      for (const words of [['status'], ['explain', 'cleaner/tomorrow'], ['forecast', '--for', '2d']]) {
        const { code, out } = await sojourn([...words, '-n', 'default', '-o', format])
        expect(code).toBe(0)
        expect(out).toContain(format === 'table' && words[0] === 'explain' ? 'cleaner' : 'tomorrow')
        if (format === 'json') expect(JSON.parse(out)).toBeTypeOf('object')
      }
    },
    60_000,
  )

  it('has no colours and no progress bar without a terminal', async () => {
    const { out, err } = await sojourn(['forecast', '--for', '2d'])
    expect(out + err).not.toContain('\u001B')
    expect(err).toBe('reading …\nlooking ahead …\n')
  }, 30_000)

  it('of status --watch is redrawn, and clears the screen only on a terminal', async () => {
    for (const isTerminal of [true, false]) {
      const stop = new AbortController()
      const isTwice = (out: string) => out.split('cleaner/tomorrow').length > 2
      const { code, out } = await sojourn(['status', '-n', 'default', '-w'], {
        isTerminal,
        signal: stop.signal,
        heard: (said) => void (isTwice(said) && stop.abort(new Error('enough'))),
      })
      expect(code).toBe(0)
      expect(out.includes('\u001B[H\u001B[2J')).toBe(isTerminal)
    }
  }, 30_000)

  it('shows a progress bar on a terminal, and removes it', async () => {
    const { err, out } = await sojourn(['forecast', '--for', '2d'], { isTerminal: true })
    expect(err).toContain('looking ahead  [#')
    expect(err.endsWith('\r\u001B[K')).toBe(true)
    expect(out).not.toContain('\u001B')
  }, 30_000)
})
