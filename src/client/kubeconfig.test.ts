import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { inClusterConfig } from './in-cluster.ts'
import { loadKubeconfig, parseKubeconfig } from './kubeconfig.ts'

let directory = ''
beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'kubeconfig-'))))
afterEach(() => rmSync(directory, { recursive: true }))

const options = { now: () => 0, env: { PATH: process.env.PATH } }

function file(name: string, content: unknown): string {
  const path = join(directory, name)
  writeFileSync(path, typeof content === 'string' ? content : stringify(content))
  return path
}

function kubeconfig(user: object, cluster: object = {}) {
  return {
    'current-context': 'here',
    contexts: [{ name: 'here', context: { cluster: 'c', user: 'u', namespace: 'team' } }],
    clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:6443', ...cluster } }],
    users: [{ name: 'u', user }],
  }
}

describe('loadKubeconfig', () => {
  it('reads server, namespace, authority and token', async () => {
    const ca = Buffer.from('PEM').toString('base64')
    const config = loadKubeconfig(
      [file('config', kubeconfig({ token: 'secret' }, { 'certificate-authority-data': ca }))],
      options,
    )
    expect(config).toMatchObject({ server: 'https://127.0.0.1:6443', namespace: 'team', context: 'here', ca: 'PEM' })
    expect(await config.credentials()).toEqual({ token: 'secret' })
  })

  it('reads a token file beside the kubeconfig, again when it was refused', async () => {
    const token = file('token', 'one\n')
    const config = loadKubeconfig([file('config', kubeconfig({ tokenFile: 'token' }))], options)
    expect(await config.credentials()).toEqual({ token: 'one' })
    writeFileSync(token, 'two\n')
    expect(await config.credentials()).toEqual({ token: 'one' })
    config.refresh?.()
    expect(await config.credentials()).toEqual({ token: 'two' })
  })

  it('runs an exec plugin and keeps its answer until it expires', async () => {
    let now = Date.parse('2026-01-01T00:00:00Z')
    const counter = file('count', '')
    const script = `echo x >> ${counter}; echo '{"status":{"token":"t'$(wc -l < ${counter} | tr -d ' ')'","expirationTimestamp":"2026-01-01T01:00:00Z"}}'`
    const config = loadKubeconfig([file('config', kubeconfig({ exec: { command: 'sh', args: ['-c', script] } }))], {
      ...options,
      now: () => now,
    })
    expect(await config.credentials()).toEqual({ token: 't1' })
    expect(await config.credentials()).toEqual({ token: 't1' })
    now += 3_600_000
    expect(await config.credentials()).toEqual({ token: 't2' })
  })

  it('lets the first of several files win', async () => {
    const first = file('a', { ...kubeconfig({ token: 'first' }), contexts: [] })
    const config = loadKubeconfig([first, file('b', kubeconfig({ token: 'second' }))], options)
    expect(await config.credentials()).toEqual({ token: 'first' })
  })

  it.each([
    ['an absent file', () => join(directory, 'absent'), /cannot read .*absent: ENOENT/],
    ['what is not YAML', () => file('x', 'a: [b'), /is not YAML/],
    ['what is not a mapping', () => file('x', '- a'), /not a kubeconfig/],
    ['a list that is none', () => file('x', { contexts: 'oops' }), /contexts is not a list/],
    ['no current context', () => file('x', { contexts: [] }), /no current-context/],
    [
      'an unknown context',
      () => file('x', { ...kubeconfig({}), 'current-context': 'there' }),
      /no context "there"; it has "here"/,
    ],
    [
      'an unknown cluster',
      () => file('x', { ...kubeconfig({}), clusters: [] }),
      /names cluster "c", which is not there/,
    ],
    ['an unknown user', () => file('x', { ...kubeconfig({}), users: [] }), /names user "u", which is not there/],
    ['a server that is no URL', () => file('x', kubeconfig({}, { server: 'localhost' })), /not an http\(s\) URL/],
  ])('says what is wrong with %s', (_, path, message) => {
    expect(() => loadKubeconfig([path()], options)).toThrow(
      expect.objectContaining({ name: 'ConfigError', message: expect.stringMatching(message) }),
    )
  })

  it('names a plugin that fails, with its first line', async () => {
    const config = loadKubeconfig(
      [
        file(
          'config',
          kubeconfig({ exec: { command: 'sh', args: ['-c', 'echo denied >&2; exit 3'], installHint: 'see the wiki' } }),
        ),
      ],
      options,
    )
    await expect(config.credentials()).rejects.toThrow('the credential plugin sh failed: denied (see the wiki)')
  })
})

describe('parseKubeconfig', () => {
  const parse = (text: string) => parseKubeconfig(text, { ...options, origin: 'Secret a/b' })

  it.each([
    ['28: exec plugins', { exec: { command: 'rm' } }, /exec plugins are not run/],
    ['29: a tokenFile', { tokenFile: '/etc/passwd' }, /file paths are not read/],
    ['29: a client key file', { 'client-key': '/etc/passwd' }, /file paths are not read/],
  ])("refuses %s from other people's text", async (_, user, message) => {
    await expect(parse(stringify(kubeconfig(user)))).rejects.toThrow(message)
  })

  it("refuses a proxy-url from other people's text", async () => {
    const { clusters, ...rest } = kubeconfig({ token: 't' })
    const proxied = clusters.map(({ name, cluster }) => ({
      name,
      cluster: { ...cluster, 'proxy-url': 'http://10.0.0.1' },
    }))
    await expect(parse(stringify({ ...rest, clusters: proxied }))).rejects.toThrow('proxy-url is not used')
  })

  it.each([
    ['82: a cycle', 'a: &a\n- *a\n', 'it has more than 0 aliases'],
    ['83: brackets', '['.repeat(1000), 'nesting exceeded'],
    ['more than 256 KiB', '#'.repeat(300_000), 'it is larger than 262144 bytes'],
    ['many values', '- 1\n'.repeat(5001), 'it has more than 5000 values'],
  ])("refuses %s from other people's text", async (_, text, message) => {
    await expect(parse(text)).rejects.toThrow(
      `Secret a/b is not read: ${message.startsWith('nesting') ? 'line 1: ' : ''}${message}`,
    )
  })
})

describe('inClusterConfig', () => {
  it('reads the mounted service account', async () => {
    file('token', 'pod-token')
    file('ca.crt', 'PEM')
    file('namespace', 'here\n')
    const config = inClusterConfig({
      env: { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' },
      now: () => 0,
      mount: directory,
    })
    expect(config).toMatchObject({ server: 'https://[fd00::1]:443', ca: 'PEM', namespace: 'here' })
    expect(await config.credentials()).toEqual({ token: 'pod-token' })
  })

  it('says so outside a cluster', () =>
    expect(() => inClusterConfig({ env: {}, now: () => 0 })).toThrow(/not in a cluster/))
})
