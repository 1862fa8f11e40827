import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ForgeServer } from '../forge/forge-server.ts'
import { Stage } from './stage.ts'

const author = 'promoter@example.org'
const passphrase = 'open sesame'
let folder: string
let forge: ForgeServer
let stage: Stage
let count = 0

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sojourn-signing-'))
  forge = await ForgeServer.start()
})
afterAll(async () => {
  await forge.close()
  if (hasGpg) execFileSync('gpgconf', ['--homedir', folder, '--kill', 'all'])
  rmSync(folder, { recursive: true, force: true })
})
beforeEach(async () => {
  stage = await Stage.build({ forge, repository: `signed-${count++}` })
})
afterEach(() => stage.close())

const hasGpg = isThere('gpg')
if (!hasGpg) console.warn('\n*** Tests of OpenPGP signatures are SKIPPED: there is no gpg\n')

/** Promotes with a signing key, by pull request or straight to the base branch. */
async function promote(...given: Parameters<typeof prepare>): Promise<void> {
  prepare(...given)
  await stage.settle()
}

/** The same, up to where the commit is due. */
function prepare(secret: Record<string, string> | undefined, how: 'pull-request' | 'commit' = 'pull-request'): void {
  stage.secrets.set('signer', secret)
  const { type: _, ...repository } = stage.world.pipeline.spec.promotion!.strategy['pull-request']!
  const commit = { email: author, signingKeyRef: { name: 'signer' } }
  const strategy =
    how === 'commit'
      ? { commit: { ...repository, commit } }
      : { 'pull-request': { type: 'github' as const, ...repository, commit } }
  stage.world.edit({ promotion: { strategy } })
  stage.world.runs({ dev: '1.1.0' })
  stage.world.step()
}

function sshKey(name: string, type: string, password = ''): { identity: string; allowed: string } {
  const path = join(folder, name)
  const size = type === 'rsa' ? ['-b', '2048'] : []
  execFileSync('ssh-keygen', ['-q', '-t', type, ...size, '-N', password, '-C', '', '-f', path])
  const allowed = join(folder, `${name}.allowed`)
  writeFileSync(allowed, `${author} ${execFileSync('cat', [`${path}.pub`], { encoding: 'utf8' })}`)
  return { identity: execFileSync('cat', [path], { encoding: 'utf8' }), allowed }
}

const verify = (allowed: string, commit: string) =>
  stage.repository.git('-c', `gpg.ssh.allowedSignersFile=${allowed}`, 'verify-commit', '--raw', commit)

describe('a commit signed with an SSH key', () => {
  it.each(['ed25519', 'rsa', 'ecdsa'])('of kind %s is what git verifies', async (type) => {
    const { identity, allowed } = sshKey(type, type)
    await promote({ identity })
    const { head } = stage.pulls[0]!
    await verify(allowed, head)
    await stage.repository.git('fsck', '--strict')
    const stranger = sshKey(`stranger-${type}`, type)
    await expect(verify(stranger.allowed, head)).rejects.toThrow()
  })

  it('that has a password, straight to the base branch', async () => {
    const { identity, allowed } = sshKey('secret', 'ed25519', passphrase)
    await promote({ identity, password: passphrase }, 'commit')
    await verify(allowed, 'main')
    expect(stage.world.phase('prod')).toBe('RollingOut')
  })

  it.each([
    ['is the same commit', 'ed25519', true],
    ['is another commit', 'ecdsa', false],
  ])('%s when it is made again before it was pushed (%s)', async (_, type, isSame) => {
    prepare({ identity: sshKey(`again-${type}`, type).identity })
    const { effect } = stage.world.step()
    const first = await stage.perform(effect!)
    const branch = effect!.promotion.branch!
    await stage.repository.git('update-ref', '-d', `refs/heads/${branch}`)
    const second = await stage.perform(effect!)
    expect([first, second]).toMatchObject([{ result: 'pushed' }, { result: 'pushed' }])
    const shas = [first, second].map((result) => (result?.result === 'pushed' ? result.headSHA : ''))
    expect(shas[0] === shas[1]).toBe(isSame)
  })

  it.each(['ed25519', 'ecdsa'])('N23: is found again after a crash between push and record (%s)', async (type) => {
    prepare({ identity: sshKey(`crash-${type}`, type).identity })
    const { effect } = stage.world.step()
    expect(await stage.perform(effect!)).toMatchObject({ result: 'pushed' })
    await stage.settle()
    expect(stage.pulls).toMatchObject([{ state: 'open' }])
    expect(await stage.repository.ahead(stage.pulls[0]!.head, 'main')).toBe(1)
  })
})

describe.skipIf(!hasGpg)('a commit signed with an OpenPGP key', () => {
  const gpg = (...args: string[]) =>
    execFileSync('gpg', ['--homedir', folder, '--batch', '--quiet', '--pinentry-mode', 'loopback', ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    })

  it.each([
    ['ed25519', ''],
    ['rsa2048', ''],
    ['ed25519', passphrase],
  ])('of kind %s (passphrase: "%s") is what git and gpg verify', async (kind, secret) => {
    const who = `Promoter ${kind} ${secret.length} <${author}>`
    gpg('--passphrase', secret, '--quick-generate-key', who, kind, 'sign', 'never')
    const armored = gpg('--passphrase', secret, '--armor', '--export-secret-keys', who)
    await promote({ 'git.asc': armored, ...(secret ? { passphrase: secret } : {}) })
    const program = join(folder, 'gpg-here')
    writeFileSync(program, `#!/bin/sh\nexec gpg --homedir '${folder}' "$@"\n`, { mode: 0o755 })
    await stage.repository.git('-c', `gpg.program=${program}`, 'verify-commit', stage.pulls[0]!.head)
    await stage.repository.git('fsck', '--strict')
  })

  it('with a wrong passphrase is not made', async () => {
    const who = `Locked <locked@example.org>`
    gpg('--passphrase', passphrase, '--quick-generate-key', who, 'ed25519', 'sign', 'never')
    const armored = gpg('--passphrase', passphrase, '--armor', '--export-secret-keys', who)
    await promote({ 'git.asc': armored, passphrase: 'wrong one' })
    expect(stage.world.condition('Stalled')).toMatchObject({
      reason: 'KeyInvalid',
      message: expect.stringContaining(
        'commit.signingKeyRef: git.asc of Secret team/signer cannot be decrypted with the passphrase of the Secret',
      ) as string,
    })
    expect(JSON.stringify(stage.world.status)).not.toMatch(/wrong one|BEGIN PGP/)
  })
})

describe('a key that cannot sign', () => {
  it.each([
    ['is not there', undefined, 'CredentialsMissing', 'Secret team/signer was not found'],
    ['is of no kind', { token: 'x' }, 'CredentialsMissing', 'must have either identity (an SSH key) or git.asc'],
    ['is of both kinds', { identity: 'a', 'git.asc': 'b' }, 'CredentialsMissing', 'must have either identity'],
    [
      'is no SSH key',
      { identity: 'hunter2hunter2' },
      'KeyInvalid',
      'identity of Secret team/signer is not a private key',
    ],
    ['is no OpenPGP key', { 'git.asc': 'hunter2hunter2' }, 'KeyInvalid', 'is not an armored OpenPGP private key'],
  ])(
    '(it %s) makes the pipeline Stalled, names the field, and nothing is pushed',
    async (_, secret, reason, message) => {
      await promote(secret)
      expect(stage.world.condition('Stalled')).toMatchObject({ reason })
      expect(stage.world.condition('Stalled')?.message).toContain(`commit.signingKeyRef: `)
      expect(stage.world.condition('Stalled')?.message).toContain(message)
      expect(JSON.stringify(stage.world.status)).not.toContain('hunter2')
      expect(await stage.repository.branches()).toEqual(['main'])
      const { identity, allowed } = sshKey(`mended-${count}`, 'ed25519')
      stage.secrets.set('signer', { identity })
      stage.world.secretVersions = { prod: '2' }
      await stage.settle()
      await verify(allowed, stage.pulls[0]!.head)
    },
  )
})

function isThere(program: string): boolean {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
