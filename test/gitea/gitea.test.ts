import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { pipeline as pipelineKind, type Pipeline, type PullRequestSpec } from '../../src/apis/pipeline.ts'
import type { Http } from '../../src/runtime/http/http.ts'
import { environments, pipelineOf } from '../promoter/world.ts'
import { conditionOf, TestCluster, TestPromoter } from '../promoter/cluster.ts'
import { manifest } from '../promoter/stage.ts'
import { giteaProgram } from './gitea-build.ts'
import { GiteaServer } from './gitea-server.ts'
import { localNetwork } from '../local-network.ts'

const place = { namespace: 'team', name: 'app' }
const promotionOf = ({ status }: Pipeline) => status?.environments?.['prod']?.promotion
const historyOf = ({ status }: Pipeline) => status?.environments?.['prod']?.history ?? []
const isProposed = (revision: string) => (pipeline: Pipeline) =>
  promotionOf(pipeline)?.phase === 'Proposed' && promotionOf(pipeline)?.revision === revision

// The lane's set-up has said why when there is none.
describe.skipIf(!existsSync(giteaProgram))('a promotion on a real Gitea', () => {
  let gitea: GiteaServer
  let home: TestCluster
  let test: TestPromoter
  let repository: string
  let count = 0

  beforeAll(async () => {
    gitea = await GiteaServer.start()
    setDefaultCACertificates([...getCACertificates(), gitea.ca])
  })
  beforeEach(async () => {
    home = await TestCluster.start()
    test = new TestPromoter(home)
    repository = `deploy-${++count}`
    await gitea.repository(repository, { 'prod/app.yaml': manifest('prod', '1.0.0') })
  })
  afterEach(async () => {
    await test.stop()
    await home.close()
  })
  afterAll(() => gitea?.stop())

  /** dev has a newer revision than prod; the pipeline is told where to open pull requests. */
  async function promote(over: Partial<PullRequestSpec> = {}): Promise<void> {
    const { name: username, password, token } = gitea.robot
    await home.secret('team', 'git', { username, password, token, caFile: gitea.ca })
    await home.release('dev', '1.1.0')
    await home.release('prod', '1.0.0')
    const strategy = {
      'pull-request': {
        type: 'gitea' as const,
        url: `${gitea.url}/${gitea.human.name}/${repository}`,
        baseBranch: 'main',
        secretRef: { name: 'git' },
        ...over,
      },
    }
    await test.pipeline('app', pipelineOf({ environments: environments('dev', 'prod'), promotion: { strategy } }).spec)
  }

  /** What a forge's webhook would do: ask the promoter to have a look. */
  async function look(): Promise<void> {
    const path = '/promotion/team/app/dev'
    const route = test.promoter.routes.find((each) => each.path.test(path))
    const involvedObject = {
      apiVersion: 'helm.toolkit.fluxcd.io/v2',
      kind: 'HelmRelease',
      name: 'app',
      namespace: 'dev',
    }
    const body = Buffer.from(JSON.stringify({ involvedObject, metadata: { revision: '1.1.0' } }))
    const answer = await route?.handle({ method: 'POST', path, headers: {}, body, remoteAddress: '127.0.0.1' })
    expect(answer?.status).toBe(202)
  }

  const human = () => gitea.human.api.repos
  const numberOf = async () => (await gitea.pulls(repository)).at(-1)?.number ?? 0

  /** Gitea answers 405 for as long as it has not found out whether a pull request can be merged. */
  const mergeByHuman = (number: number, how: 'merge' | 'squash' | 'rebase') =>
    vi.waitFor(() => human().repoMergePullRequest('human', repository, number, { Do: how }), {
      timeout: 40_000,
      interval: 500,
    })

  it.each(['merge', 'squash', 'rebase'] as const)(
    'C61 N18: is opened, merged by a human (%s) and rolled out',
    async (how) => {
      await promote()
      const proposed = await test.until('app', isProposed('1.1.0'))
      const [pull] = await gitea.pulls(repository)
      expect(pull).toMatchObject({
        state: 'open',
        title: 'Promote team/app in prod to 1.1.0',
        user: { login: 'robot' },
        base: { ref: 'main' },
        head: { ref: promotionOf(proposed)?.branch, sha: promotionOf(proposed)?.headSHA },
        html_url: promotionOf(proposed)?.pullRequest?.url,
      })
      await mergeByHuman(pull?.number ?? 0, how)
      await look()
      const merged = await test.until('app', (pipeline) => promotionOf(pipeline)?.phase === 'RollingOut')
      expect(promotionOf(merged)?.pullRequest).toMatchObject({ state: 'merged' })
      expect(await gitea.file(repository, 'prod/app.yaml')).toBe(manifest('prod', '1.1.0'))
      await home.release('prod', '1.1.0')
      await test.until('app', ({ status }) => status?.run?.phase === 'Complete')
      expect(await gitea.pulls(repository)).toMatchObject([{ state: 'closed', merged: true }])
      expect(await gitea.branches(repository)).toEqual(['main'])
    },
  )

  it('is rejected when a human closes it, and opened again under a new id only when asked', async () => {
    await promote()
    const proposed = await test.until('app', isProposed('1.1.0'))
    await human().repoEditPullRequest('human', repository, await numberOf(), { state: 'closed' })
    await look()
    const rejected = await test.until('app', (pipeline) => conditionOf(pipeline, 'Stalled'))
    expect(conditionOf(rejected, 'Stalled')).toMatchObject({ reason: 'PromotionRejected' })
    expect(promotionOf(rejected)?.phase).toBe('Rejected')
    await look()
    expect(await gitea.pulls(repository)).toHaveLength(1)
    const annotations = { 'sojourn.dev/retry': 'please' }
    await home.client.patch(pipelineKind.type, place, { type: 'merge', body: { metadata: { annotations } } })
    const again = await test.until('app', isProposed('1.1.0'))
    expect(promotionOf(again)?.id).not.toBe(promotionOf(proposed)?.id)
    expect(await gitea.pulls(repository)).toMatchObject([{ state: 'closed', merged: false }, { state: 'open' }])
  })

  it('that a human has pushed to is told apart, and the branch is theirs from then on', async () => {
    await promote()
    const branch = promotionOf(await test.until('app', isProposed('1.1.0')))?.branch ?? ''
    const content = Buffer.from('a: 1\n').toString('base64')
    await human().repoCreateFile('human', repository, 'prod/more.yaml', { branch, content, message: 'one more thing' })
    await look()
    const modified = await test.until('app', (pipeline) => promotionOf(pipeline)?.pullRequest?.modified)
    expect(promotionOf(modified)).toMatchObject({ phase: 'Proposed', because: 'PullRequestModified' })
    await home.release('dev', '1.2.0')
    await test.until('app', isProposed('1.2.0'))
    expect(await gitea.branches(repository)).toContain(branch)
  })

  it('gives way to a newer revision: closed with a comment and a link, its branch dropped', async () => {
    await promote()
    const old = promotionOf(await test.until('app', isProposed('1.1.0')))
    await home.release('dev', '1.2.0')
    const next = await test.until('app', isProposed('1.2.0'))
    const [first, second] = await gitea.pulls(repository)
    expect(first).toMatchObject({ state: 'closed', merged: false })
    expect(second).toMatchObject({ state: 'open', title: 'Promote team/app in prod to 1.2.0' })
    expect(second?.body).toContain(first?.html_url)
    const { data: comments } = await human().issueGetComments('human', repository, first?.number ?? 0)
    expect(comments.map(({ body }) => body).join()).toContain('Superseded by `1.2.0`')
    expect(await gitea.branches(repository)).toEqual(['main', promotionOf(next)?.branch])
    expect(historyOf(next)).toMatchObject([{ id: old?.id, phase: 'Superseded' }])
  })

  it('is merged by the promoter where that is asked for, and only as it was made', async () => {
    await promote({ autoMerge: true })
    await test.until('app', (pipeline) => promotionOf(pipeline)?.phase === 'RollingOut')
    expect(await gitea.pulls(repository)).toMatchObject([{ merged: true }])
    expect(await gitea.file(repository, 'prod/app.yaml')).toBe(manifest('prod', '1.1.0'))
  })

  it('gets the labels that the repository has', async () => {
    await human().issueCreateLabel('human', repository, { name: 'promotion', color: '#00aabb' })
    await promote({ labels: ['promotion', 'unknown'] })
    await test.until('app', isProposed('1.1.0'))
    const [pull] = await gitea.pulls(repository)
    expect(pull?.labels?.map(({ name }) => name)).toEqual(['promotion'])
  })

  it('is found again when the answer to its opening was lost', async () => {
    await test.stop()
    const network = localNetwork()
    let lost = 0
    const http: Http = async (request) => {
      const response = await network.http(request)
      if (request.method !== 'POST' || !request.url.endsWith('/pulls') || lost++ > 0) return response
      throw new Error('connection reset')
    }
    test = new TestPromoter(home, {}, { network: { ...network, http } })
    await promote()
    await test.until('app', isProposed('1.1.0'))
    expect(lost).toBe(1)
    expect(await gitea.pulls(repository)).toHaveLength(1)
    network.close()
  })

  it('goes over its SSH server, and Gitea knows whose signature the commit bears', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sojourn-keys-'))
    const gpg = (...args: string[]) =>
      execFileSync('gpg', ['--homedir', folder, '--batch', '--quiet', '--passphrase', '', ...args], {
        encoding: 'utf8',
      })
    try {
      const { api, token } = gitea.robot
      execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(folder, 'identity')])
      const identity = readFileSync(join(folder, 'identity'), 'utf8')
      const key = readFileSync(join(folder, 'identity.pub'), 'utf8')
      await api.user.userCurrentPostKey({ title: 'promoter', key })
      const email = 'robot@example.org'
      gpg('--quick-generate-key', `robot <${email}>`, 'ed25519', 'sign', 'never')
      await api.user.userCurrentPostGpgKey({ armored_public_key: gpg('--armor', '--export', email) })
      await home.secret('team', 'signer', { 'git.asc': gpg('--armor', '--export-secret-keys', email) })
      const known = await gitea.knownHosts()
      await home.secret('team', 'ssh', { identity, known_hosts: known, token, caFile: gitea.ca })
      await promote({
        url: `ssh://git@127.0.0.1:${gitea.sshPort}/human/${repository}.git`,
        apiURL: `${gitea.url}/api/v1`,
        secretRef: { name: 'ssh' },
        commit: { name: 'robot', email, signingKeyRef: { name: 'signer' } },
      })
      const proposed = await test.until('app', isProposed('1.1.0'))
      expect(await gitea.pulls(repository)).toMatchObject([{ state: 'open', user: { login: 'robot' } }])
      const { data } = await human().repoGetSingleCommit('human', repository, promotionOf(proposed)?.headSHA ?? '')
      expect(data.commit?.verification).toMatchObject({ verified: true, signer: { email } })
      await mergeByHuman(await numberOf(), 'merge')
      await look()
      await test.until('app', (pipeline) => promotionOf(pipeline)?.phase === 'RollingOut')
      expect(await gitea.branches(repository)).toEqual(['main'])
    } finally {
      execFileSync('gpgconf', ['--homedir', folder, '--kill', 'all'])
      rmSync(folder, { recursive: true, force: true })
    }
  })

  it('is taken back, branch and all, when the pipeline is deleted', async () => {
    await promote()
    await test.until('app', isProposed('1.1.0'))
    await home.client.deleteObject(pipelineKind.type, place)
    const left = async () => (await home.client.list(pipelineKind.type, { namespace: 'team' })).items.length
    await expect.poll(left, { timeout: 15_000 }).toBe(0)
    expect(await gitea.pulls(repository)).toMatchObject([{ state: 'closed', merged: false }])
    expect(await gitea.branches(repository)).toEqual(['main'])
  })

  it.each([
    ['a token', { token: 'wrong' }],
    ['a password', { password: 'wrong' }],
  ])('with %s that Gitea refuses is Stalled, and says nothing of the secret', async (_, wrong) => {
    await promote()
    await test.until('app', isProposed('1.1.0'))
    const { name: username, password, token } = gitea.robot
    await home.secret('team', 'git', { username, password, token, caFile: gitea.ca, ...wrong })
    await home.release('dev', '1.2.0')
    const stuck = await test.until('app', (pipeline) => promotionOf(pipeline)?.lastError)
    expect(promotionOf(stuck)?.lastError).toMatchObject({ reason: 'CredentialsRefused', httpStatus: 401 })
    expect(JSON.stringify(stuck)).not.toContain('"wrong"')
  })
})
