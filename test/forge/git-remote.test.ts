import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { prepareChange, type ChangeRequest } from '../../src/systems/promoter/repository/change.ts'
import { HttpTransport } from '../../src/git/http-transport.ts'
import { GitRemote, noObject } from '../../src/git/remote.ts'
import { changeRequest } from './change-request.ts'
import { ForgeServer, forgePassword, forgeUser } from './forge-server.ts'
import type { Repository } from './repository.ts'
import { localNetwork } from '../local-network.ts'

const mark = '# {"$promotion": "team:app:prod"}'
const { http, close } = localNetwork()
let forge: ForgeServer
let repository: Repository

beforeAll(async () => {
  forge = await ForgeServer.start()
  repository = await forge.createRepository('git')
  await repository.commit('main', {
    'apps/prod/release.yaml': `kind: HelmRelease\nspec:\n  version: 1.0.0 ${mark}\n`,
    'apps/prod/ümlaut.yml': `- 1.0.0 ${mark}\n`,
    'apps/dev/release.yaml': 'spec:\n  version: 1.0.0 # {"$promotion": "team:app:dev"}\n',
    'README.md': `not YAML: 1 ${mark}\n`,
    'broken.yaml': `a: [ ${mark}\n`,
  })
  for (let index = 0; index < 40; index++)
    await repository.commit('main', { [`other/${index}.txt`]: `${'x'.repeat(500)}${index}` })
  await repository.git('gc', '--quiet')
})
afterAll(async () => {
  close()
  await forge.close()
})

function remote(over: { password?: string; url?: string } = {}): GitRemote {
  return new GitRemote(
    new HttpTransport({
      url: over.url ?? forge.url('github', 'git'),
      username: forgeUser,
      password: over.password ?? forgePassword,
      ca: forge.ca,
      http,
    }),
  )
}

function request(value = '1.1.0', paths: string[] = ['apps', 'other']): ChangeRequest {
  return changeRequest(value, paths)
}

describe.each([
  ['version 2', false],
  ['the original protocol', true],
])('over %s', (_, oldGit) => {
  beforeAll(() => void (forge.oldGit = oldGit))

  it('reads branches', async () => {
    const tip = await repository.tip('main')
    expect(await remote().branches('main', 'none')).toEqual(new Map([['main', tip]]))
  })

  it('makes the same commit of the same base and pushes it with every other byte unchanged', async () => {
    const branch = oldGit ? 'b/old' : 'b/new'
    const base = (await repository.tip('main')) ?? ''
    const change = await prepareChange(remote(), base, request())
    const again = await prepareChange(remote(), base, request())
    expect(change).toEqual(again)
    if (change.change !== 'ready') throw new Error(change.change)
    expect(await remote().push({ branch, from: noObject, to: change.commit, objects: change.objects })).toBeUndefined()
    expect(await repository.tip(branch)).toBe(change.commit)
    expect(await repository.git('diff', '--stat', `main..${branch}`)).toContain(
      '2 files changed, 2 insertions(+), 2 deletions(-)',
    )
    expect(await repository.file(branch, 'apps/prod/release.yaml')).toBe(
      `kind: HelmRelease\nspec:\n  version: 1.1.0 ${mark}\n`,
    )
    await repository.git('fsck', '--strict')
  })

  it('is refused when the branch is not where it was', async () => {
    const branch = oldGit ? 'b/old' : 'b/new'
    const base = (await repository.tip('main')) ?? ''
    const change = await prepareChange(remote(), base, request('1.2.0'))
    if (change.change !== 'ready') throw new Error(change.change)
    expect(await remote().push({ branch, from: noObject, to: change.commit, objects: change.objects })).toMatch(
      /^(?:failed to|fetch first|non-fast-forward|stale)/,
    )
    expect(await remote().push({ branch, from: base, to: noObject, objects: [] })).toMatch(
      /^(?:failed to|fetch first|non-fast-forward|stale)/,
    )
    const tip = (await repository.tip(branch)) ?? ''
    expect(await remote().push({ branch, from: tip, to: noObject, objects: [] })).toBeUndefined()
    expect(await repository.tip(branch)).toBeUndefined()
  })
})

describe('a change', () => {
  it('is none when the values are there already', async () => {
    const base = (await repository.tip('main')) ?? ''
    expect(await prepareChange(remote(), base, request('1.0.0'))).toMatchObject({ change: 'same' })
  })

  it('is not half made when one of the marked files cannot be edited', async () => {
    const base = (await repository.tip('main')) ?? ''
    await expect(prepareChange(remote(), base, request('1.1.0', []))).rejects.toMatchObject({
      because: 'MarkerUnusable',
      message: expect.stringContaining('broken.yaml is not valid YAML'),
    })
  })

  it('names the file that could not be edited when no marker is found', async () => {
    const base = (await repository.tip('main')) ?? ''
    await expect(prepareChange(remote(), base, request('1', ['other', 'broken.yaml']))).rejects.toMatchObject({
      because: 'MarkerNotFound',
      message: expect.stringContaining('broken.yaml is not valid YAML'),
    })
  })

  it('says what to do about a file that is too large to be read', async () => {
    await repository.commit('large', { 'large.yaml': 'a'.repeat(17 * 1024 * 1024), 'a.yaml': `v: 1.0.0 ${mark}\n` })
    const base = (await repository.tip('large')) ?? ''
    const isRefusedWith = (remedy: RegExp) =>
      expect(prepareChange(remote(), base, request('1.1.0', []))).rejects.toMatchObject({
        because: 'MarkerUnusable',
        message: expect.stringMatching(remedy),
      })
    forge.oldGit = true
    await isRefusedWith(/^an object of the pack is larger than \d+ bytes: .* allow filters on it/)
    forge.oldGit = false
    await isRefusedWith(/^an object of the pack is larger than \d+ bytes: list the folders .* in "paths"$/)
    expect(await prepareChange(remote(), base, request('1.1.0', ['a.yaml']))).toMatchObject({ change: 'ready' })
  })

  it('searches only the given paths', async () => {
    const base = (await repository.tip('main')) ?? ''
    const change = await prepareChange(remote(), base, request('2.0.0', ['apps/prod/release.yaml']))
    if (change.change !== 'ready') throw new Error(change.change)
    const files = change.objects.filter(({ type }) => type === 'blob')
    expect(files.map(({ content }) => content.toString())).toEqual([
      `kind: HelmRelease\nspec:\n  version: 2.0.0 ${mark}\n`,
    ])
  })
})

it.each([
  ['wrong credentials', { password: 'wrong' }, 'CredentialsRefused'],
  ['an unknown repository', { url: () => forge.url('github', 'nowhere') }, 'RepositoryNotFound'],
])('reports %s as a permanent error', async (_, over, because) => {
  const url = 'url' in over ? over.url() : undefined
  const failing = remote({
    ...('password' in over ? { password: over.password } : {}),
    ...(url ? { url } : {}),
  }).branches('main')
  await expect(failing).rejects.toMatchObject({ kind: 'Permanent', because })
})

it.each([
  ['nothing', /info\/refs/, ''],
  ['no capabilities', /info\/refs/, '001e# service=git-upload-pack\n0000'],
  ['a half', /info\/refs/, '001e# service=git-upload-pack\n0000000eversion 2\n'],
  ['no refs and no end', /git-upload-pack$/, ''],
  ['part of a line', /git-upload-pack$/, '003'],
])('takes an answer with %s for none: a branch is missing only where the server says so', async (_, path, body) => {
  forge.oldGit = false
  forge.fail({ path, status: 200, body })
  await expect(remote().branches('main')).rejects.toThrow('the git server sent an incomplete answer')
  forge.mend()
})
