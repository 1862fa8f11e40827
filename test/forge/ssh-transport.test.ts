import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { changeRequest } from './change-request.ts'
import { prepareChange } from '../../src/systems/promoter/repository/change.ts'
import { GitRemote, noObject } from '../../src/git/remote.ts'
import { parseRepositoryURL } from '../../src/git/repository-url.ts'
import { readSshKey } from '../../src/git/ssh-key.ts'
import { SshTransport, type SshTransportOptions } from '../../src/git/ssh-transport.ts'
import type { Repository } from './repository.ts'
import { missingSshd, SshServer, type KeyPair } from './ssh-server.ts'
import { localNetwork } from '../local-network.ts'

const mark = '# {"$promotion": "team:app:prod"}'

describe.skipIf(missingSshd)('git over SSH', () => {
  let server: SshServer
  let old: SshServer
  let repository: Repository
  let key: KeyPair
  const opened: GitRemote[] = []

  beforeAll(async () => {
    server = await SshServer.start()
    old = await SshServer.start({ version2: false })
    repository = await server.repository('git')
    await old.serve(repository)
    key = await server.keyPair('robot')
    await server.allow(key)
    await old.allow(key)
    await repository.commit('main', {
      'prod/app.yaml': `version: 1.0.0 ${mark}\n`,
      'big.txt': Array.from({ length: 200_000 }, (_, index) => `${index * 7919}\n`).join(''),
    })
    for (let index = 0; index < 20; index++) await repository.commit('main', { [`other/${index}`]: String(index) })
  })
  afterAll(async () => {
    for (const remote of opened) remote.close()
    await server.close()
    await old.close()
  })

  function remote(over: Partial<SshTransportOptions> & { url?: never; path?: string; at?: SshServer } = {}): GitRemote {
    const at = over.at ?? server
    const url = parseRepositoryURL(at.url('git'))
    if (url?.over !== 'ssh') throw new Error('no SSH address')
    const made = new GitRemote(
      new SshTransport({
        key: readSshKey(key.identity, undefined),
        knownHosts: at.knownHosts,
        takeToken: () => undefined,
        signal: new AbortController().signal,
        connect: localNetwork().connect,
        ...over,
        url: { ...url, ...(over.path === undefined ? {} : { path: over.path }) },
      }),
    )
    opened.push(made)
    return made
  }

  it.each([
    ['version 2', () => server],
    ['the original protocol', () => old],
  ])('reads, commits, pushes with a lease and deletes, over %s', async (name, at) => {
    const branch = `b/${name.replaceAll(' ', '-')}`
    const git = remote({ at: at() })
    const base = (await repository.tip('main')) ?? ''
    expect(await git.branches('main', 'none')).toEqual(new Map([['main', base]]))
    expect(await git.canFilter()).toBe(at() === server)
    const change = await prepareChange(git, base, changeRequest())
    if (change.change !== 'ready') throw new Error(change.change)
    const { commit: to, objects } = change
    expect(await git.push({ branch, from: noObject, to, objects })).toBeUndefined()
    expect(await repository.tip(branch)).toBe(to)
    expect(await repository.file(branch, 'prod/app.yaml')).toBe(`version: 1.1.0 ${mark}\n`)
    await repository.git('fsck', '--strict')
    const other = await prepareChange(git, base, changeRequest('1.2.0'))
    if (other.change !== 'ready') throw new Error(other.change)
    expect(await git.push({ branch, from: noObject, to: other.commit, objects: other.objects })).toMatch(
      /^(?:failed to|fetch first|non-fast-forward|stale)/,
    )
    expect(await repository.tip(branch)).toBe(to)
    expect(await git.push({ branch, from: to, to: noObject, objects: [] })).toBeUndefined()
    expect(await repository.tip(branch)).toBeUndefined()
  })

  it('takes the path of a short address as it is, and never for a command', async () => {
    expect(await remote({ path: 'acme/git.git' }).branches('main')).toHaveProperty('size', 1)
    const path = `x'; touch ${repository.path}/owned; '$(touch ${repository.path}/owned).git`
    await expect(remote({ path }).branches('main')).rejects.toMatchObject({ because: 'RepositoryNotFound' })
    expect((await server.commands()).at(-1)).toContain(String.raw`git-upload-pack 'x'\''; touch`)
    await expect(repository.git('rev-parse', '--verify', '--quiet', 'owned')).rejects.toThrow()
    expect(execFileSync('ls', [repository.path], { encoding: 'utf8' })).not.toContain('owned')
  })

  it.each([
    ['an RSA key', { type: 'rsa' }],
    ['an ECDSA key', { type: 'ecdsa' }],
    ['a key in PEM', { type: 'rsa', format: 'PEM' }],
    ['a key in PKCS #8', { type: 'rsa', format: 'PKCS8' }],
    ['an elliptic key in PKCS #8, as Flux makes it', { type: 'ecdsa', format: 'PKCS8' }],
    ['a key with a password', { password: 'open sesame' }],
    ['a key in PKCS #8 with a password', { type: 'rsa', format: 'PKCS8', password: 'open sesame' }],
  ])('is let in with %s', async (name, how) => {
    const other = await server.keyPair(name.replaceAll(/\W/g, '-'), how)
    await server.allow(other)
    const password = 'password' in how ? how.password : undefined
    expect(await remote({ key: readSshKey(other.identity, password) }).branches('main')).toHaveProperty('size', 1)
  })

  it('is let in with an Ed25519 key in PKCS #8, as Flux makes it', async () => {
    const identity = execFileSync('openssl', ['genpkey', '-algorithm', 'ed25519'], { encoding: 'utf8' })
    const ready = readSshKey(identity, undefined)
    await server.allow({ open: `ssh-ed25519 ${ready.getPublicSSH().toString('base64')} flux` })
    expect(await remote({ key: ready }).branches('main')).toHaveProperty('size', 1)
  })

  it.each(['rsa', 'ecdsa'])('knows a host by its %s key', async (hostKey) => {
    const host = await SshServer.start({ hostKey })
    try {
      await host.serve(repository)
      await host.allow(key)
      expect(await remote({ at: host }).branches('main')).toHaveProperty('size', 1)
      const knownHosts = `${server.knownHosts.replace(String(server.port), String(host.port))}`
      await expect(remote({ at: host, knownHosts }).branches('main')).rejects.toMatchObject({
        kind: 'Permanent',
        because: 'HostKeyRefused',
        message: `[127.0.0.1]:${host.port} presents no key of a type in known_hosts`,
      })
    } finally {
      await host.close()
    }
  })

  it('knows a host whose name is hashed', async () => {
    const knownHosts = await server.hashedKnownHosts()
    expect(knownHosts).toMatch(/^\|1\|/)
    expect(await remote({ knownHosts }).branches('main')).toHaveProperty('size', 1)
  })

  it.each([
    ['is not in known_hosts', () => 'github.com ssh-ed25519 AAAA\n', /is not in known_hosts/],
    [
      'has another key than it had',
      async () => `[127.0.0.1]:${server.port} ${(await server.keyPair('other-host')).open}`,
      /presents the key SHA256:\S{43}, which is not in known_hosts/,
    ],
    [
      'has a key that was revoked',
      () => `${server.knownHosts}@revoked ${server.knownHosts}`,
      /presents the key SHA256:\S{43}, which known_hosts marks as revoked/,
    ],
  ])('refuses a host that %s', async (_, knownHosts, message) => {
    const before = (await server.commands()).length
    await expect(remote({ knownHosts: await knownHosts() }).branches('main')).rejects.toMatchObject({
      kind: 'Permanent',
      because: 'HostKeyRefused',
      message: expect.stringMatching(message) as string,
    })
    expect(await server.commands()).toHaveLength(before)
  })

  it('reports an unknown key, a read-only key and an unknown repository as permanent errors', async () => {
    const stranger = await server.keyPair('stranger')
    await expect(remote({ key: readSshKey(stranger.identity, undefined) }).branches('main')).rejects.toMatchObject({
      kind: 'Permanent',
      because: 'CredentialsRefused',
      message: `127.0.0.1 refused the key for user ${server.user}`,
    })
    const reader = await server.keyPair('reader')
    await server.allow(reader, 'read')
    const reading = remote({ key: readSshKey(reader.identity, undefined) })
    const from = (await reading.branches('main')).get('main') ?? ''
    await expect(reading.push({ branch: 'main', from, to: noObject, objects: [] })).rejects.toMatchObject({
      kind: 'Permanent',
      because: 'CredentialsRefused',
      message: '127.0.0.1 refused access: the key is read-only',
    })
    await expect(remote({ path: '/acme/nowhere.git' }).branches('main')).rejects.toMatchObject({
      kind: 'Permanent',
      because: 'RepositoryNotFound',
    })
  })

  it('says that a server which is away may come back', async () => {
    const away = await SshServer.start()
    await away.serve(repository)
    await away.allow(key)
    const git = remote({ at: away })
    await git.branches('main')
    await away.down()
    await expect(remote({ at: away }).branches('main')).rejects.toMatchObject({
      kind: 'Transient',
      because: 'GitProviderUnavailable',
    })
    await away.up()
    expect(await remote({ at: away }).branches('main')).toHaveProperty('size', 1)
    await away.close()
  })

  it('does not begin when it was told to end, and does not wait for a server that says nothing', async () => {
    const stop = new AbortController()
    const before = (await server.commands()).length
    const failed = remote({ path: '/acme/silent.git', signal: stop.signal })
      .branches('main')
      .catch((error: unknown) => error)
    await vi.waitFor(async () => expect(await server.commands()).toHaveLength(before + 1), 20_000)
    stop.abort()
    expect(await failed).toMatchObject({ kind: 'Transient' })
    await expect(remote({ signal: stop.signal }).branches('main')).rejects.toMatchObject({ kind: 'Transient' })
    expect(await server.commands()).toHaveLength(before + 1)
  })
})
