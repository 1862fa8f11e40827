import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { ForgeServer, forgeToken } from '../forge/forge-server.ts'
import { missingSshd, SshServer, type KeyPair } from '../forge/ssh-server.ts'
import { manifest, Stage } from './stage.ts'

describe.skipIf(missingSshd)('a pipeline whose repository is reached by SSH', () => {
  let forge: ForgeServer
  let server: SshServer
  let key: KeyPair
  let stage: Stage
  let count = 0

  beforeAll(async () => {
    forge = await ForgeServer.start()
    server = await SshServer.start()
    key = await server.keyPair('robot', { password: 'open sesame' })
    await server.allow(key)
  })
  afterAll(async () => {
    stage.close()
    await server.close()
    await forge.close()
  })

  beforeEach(async () => {
    const name = `ssh-${count++}`
    stage = await Stage.build({ forge, repository: name })
    await server.serve(stage.repository)
    const { promotion } = stage.world.pipeline.spec
    const pullRequest = promotion!.strategy['pull-request']!
    stage.world.edit({
      promotion: {
        strategy: { 'pull-request': { ...pullRequest, url: server.url(name), apiURL: `${forge.origin}/api/v3` } },
      },
    })
    stage.secret = {
      identity: key.identity,
      'identity.pub': key.open,
      known_hosts: server.knownHosts,
      password: 'open sesame',
      token: forgeToken,
      caFile: forge.ca,
    }
    stage.world.runs({ dev: '1.1.0' })
    stage.world.step()
    stage.world.step(60_000)
  })

  it('gets its pull request, merged and cleaned up after, with nothing said over HTTPS but to the API', async () => {
    forge.requests.length = 0
    await stage.settle()
    expect(stage.pulls).toMatchObject([{ state: 'open', title: 'Promote team/app in prod to 1.1.0' }])
    expect(await stage.repository.ahead(stage.pulls[0]!.head, 'main')).toBe(1)
    await stage.mergeOpen()
    await stage.turn(600_000)
    expect(await stage.repository.branches()).toEqual(['main'])
    expect(await stage.repository.file('main', 'prod/app.yaml')).toBe(manifest('prod', '1.1.0'))
    expect(new Set(stage.sshRequests)).toEqual(
      new Set(['127.0.0.1 git-upload-pack ok', '127.0.0.1 git-receive-pack ok']),
    )
    expect(forge.requests.filter(({ path }) => !path.startsWith('/api/v3/'))).toEqual([])
    // The server may be told of the end a moment after the client has gone on.
    await vi.waitFor(async () => expect(await server.connections()).toBe(0), 20_000)
  })

  it.each([
    ['no key', () => void delete stage.secret['identity'], 'CredentialsMissing', /Secret team\/git has no identity/],
    ['no known_hosts', () => void delete stage.secret['known_hosts'], 'CredentialsMissing', /has no known_hosts/],
    [
      'no password',
      () => void delete stage.secret['password'],
      'KeyInvalid',
      /identity of Secret team\/git .*password/,
    ],
    ['a wrong password', () => void (stage.secret['password'] = 'close sesame'), 'KeyInvalid', /its password is wrong/],
    ['a broken key', () => void (stage.secret['identity'] = 'not a key'), 'KeyInvalid', /is not a private key/],
    ['a public key', () => void (stage.secret['identity'] = key.open), 'KeyInvalid', /is a public key/],
    [
      'another host in known_hosts',
      () => void (stage.secret['known_hosts'] = 'github.com ssh-ed25519 AAAA'),
      'HostKeyRefused',
      /is not in known_hosts/,
    ],
  ])('is Stalled with %s, says so without the secret, and mended by the next version of it', async (...given) => {
    const [, spoil, reason, message] = given
    const good = { ...stage.secret }
    spoil()
    await stage.settle()
    expect(stage.world.condition('Stalled')).toMatchObject({ reason })
    if (reason === 'HostKeyRefused') expect(stage.sshRequests).toEqual(['127.0.0.1 git-upload-pack HostKeyRefused'])
    expect(stage.world.condition('Stalled')?.message).toMatch(message)
    const status = JSON.stringify(stage.world.status)
    for (const line of key.identity.split('\n').slice(1, 3)) expect(status).not.toContain(line)
    expect(status).not.toMatch(/(open|close) sesame/)
    expect(await stage.repository.branches()).toEqual(['main'])
    stage.secret = good
    stage.world.secretVersions = { prod: '2' }
    await stage.settle()
    expect(stage.pulls).toMatchObject([{ state: 'open' }])
  })

  it('N23: finds its commit again after a crash between push and record', async () => {
    const { effect } = stage.world.step()
    expect(effect).toMatchObject({ do: 'push' })
    expect(await stage.perform(effect!)).toMatchObject({ result: 'pushed' })
    await stage.settle()
    expect(stage.pulls).toMatchObject([{ state: 'open' }])
    expect(await stage.repository.ahead(stage.pulls[0]!.head, 'main')).toBe(1)
  })

  it('waits for a server that is away, and goes on with the same promotion', async () => {
    await server.down()
    await stage.turn()
    expect(stage.world.promotion('prod')?.lastError).toMatchObject({ class: 'Transient' })
    const { id } = stage.world.promotion('prod')!
    await server.up()
    await stage.settle(20, 600_000)
    expect(stage.pulls).toMatchObject([{ state: 'open' }])
    expect(stage.world.promotion('prod')?.id).toBe(id)
  })
})
