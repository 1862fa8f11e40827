import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { forgeTypes } from '../../src/apis/pipeline.ts'
import { ForgeServer } from '../forge/forge-server.ts'
import { manifest, Stage } from './stage.ts'
import { targetOf } from './world.ts'

let forge: ForgeServer
let stage: Stage
let count = 0

beforeAll(async () => void (forge = await ForgeServer.start()))
beforeEach(() => forge.mend())
afterEach(() => stage.close())
afterAll(() => forge.close())

async function build(given: Partial<Parameters<typeof Stage.build>[0]> = {}): Promise<Stage> {
  stage = await Stage.build({ forge, repository: `repo-${++count}`, ...given })
  return stage
}

/** The first environment gets a newer revision. */
function release(revision = '1.1.0'): void {
  stage.world.runs({ dev: revision })
}

async function branchOf(environment = 'prod'): Promise<string> {
  return stage.world.promotion(environment)?.branch ?? ''
}

/** Something is done while branches can be listed, but not what they hold. */
async function withoutContent(act: () => Promise<unknown>): Promise<void> {
  const { interrupt } = forge
  let asked = 0
  forge.interrupt = ({ path }, when) => when === 'before' && path.endsWith('/git-upload-pack') && ++asked === 2
  await act()
  forge.interrupt = interrupt
  expect(asked).toBe(2)
}

describe.each(forgeTypes)('a promotion on %s', (type) => {
  it('C56 N18: is one commit and one pull request, merged and rolled out', async () => {
    await build({ type })
    release()
    await stage.settle()
    const [pull] = stage.pulls
    expect(stage.pulls).toHaveLength(1)
    expect(pull).toMatchObject({ base: 'main', state: 'open', title: 'Promote team/app in prod to 1.1.0' })
    expect(pull?.body).toContain('team/app/prod')
    expect(await stage.repository.ahead(pull!.head, 'main')).toBe(1)
    expect(await stage.repository.file(pull!.head, 'prod/app.yaml')).toBe(manifest('prod', '1.1.0'))
    await stage.mergeOpen()
    await stage.settle(3)
    expect(stage.world.phase('prod')).toBe('RollingOut')
    expect(stage.pulls).toHaveLength(1)
    expect(await stage.repository.branches()).toEqual(['main'])
    await stage.deploy()
    await stage.settle()
    expect(stage.world.status.run?.phase).toBe('Complete')
  })

  it('N13: replaces the open pull request when a newer revision comes, and says so in both', async () => {
    await build({ type })
    release()
    await stage.settle()
    release('1.2.0')
    await stage.settle()
    expect(stage.pulls.map(({ state }) => state)).toEqual(['closed', 'open'])
    expect(stage.pulls[0]?.comments.join()).toContain('Superseded by `1.2.0`')
    expect(stage.pulls[1]?.body).toContain(stage.world.status.environments!['prod']!.history![0]!.pullRequest)
    expect(await stage.repository.branches()).toHaveLength(2)
  })

  it('N16: is rejected when a human closes it, and reopened under a new id only when asked', async () => {
    await build({ type })
    release()
    await stage.settle()
    forge.pulls.close(stage.pulls[0]!)
    await stage.settle()
    expect(stage.world.promotion('prod')).toMatchObject({ phase: 'Rejected', because: 'PromotionRejected' })
    expect(stage.pulls).toHaveLength(1)
    stage.world.annotate({ 'sojourn.dev/retry': 'please' })
    await stage.settle()
    expect(stage.pulls.map(({ state }) => state)).toEqual(['closed', 'open'])
  })
})

describe('a pull request', () => {
  it('N22: is found again when its creation answered with an error', async () => {
    await build()
    release()
    forge.fail({ method: 'POST', path: /pulls$/, status: 502, afterDoing: true })
    await stage.settle()
    expect(stage.pulls).toHaveLength(1)
    expect(stage.world.phase('prod')).toBe('Proposed')
  })

  it('that was opened twice is kept once, the older one', async () => {
    await build()
    release()
    await stage.turn()
    forge.pulls.allowDuplicates = true
    const head = await branchOf()
    for (let index = 0; index < 2; index++)
      await forge.pulls.create({ repository: stage.name, head, base: 'main', title: 'twice', body: '' })
    forge.pulls.allowDuplicates = false
    await stage.settle()
    expect(stage.pulls.map(({ state }) => state)).toEqual(['open', 'closed'])
    expect(stage.world.promotion('prod')?.pullRequest?.number).toBe(stage.pulls[0]?.number)
  })

  it.each([true, false])('N18: is recognised as merged (squash: %s)', async (squash) => {
    await build()
    release()
    await stage.settle()
    forge.pulls.squash = squash
    await stage.mergeOpen()
    forge.pulls.squash = false
    await stage.turn(60_000)
    await stage.turn()
    expect(stage.world.promotion('prod')).toMatchObject({ phase: 'RollingOut', pullRequest: { state: 'merged' } })
    await stage.settle()
    expect(stage.pulls).toHaveLength(1)
  })

  it('closed by a human who has put the value on the base branch counts as merged', async () => {
    await build()
    release()
    await stage.settle()
    await stage.repository.commit('main', { 'prod/app.yaml': manifest('prod', '1.1.0') })
    forge.pulls.close(stage.pulls[0]!)
    await stage.turn(60_000)
    await stage.turn()
    expect(stage.world.phase('prod')).toBe('RollingOut')
  })

  it('closed by a human is not called rejected while the base branch cannot be read', async () => {
    await build()
    release()
    await stage.settle()
    await stage.repository.commit('main', { 'prod/app.yaml': manifest('prod', '1.1.0') })
    forge.pulls.close(stage.pulls[0]!)
    await withoutContent(() => stage.turn(60_000))
    expect(stage.world.phase('prod')).toBe('Proposed')
    await stage.settle()
    expect(stage.world.phase('prod')).toBe('RollingOut')
  })

  it('that a human has pushed to is told apart, not merged by us, and its branch is left alone', async () => {
    const strategy = { autoMerge: true }
    await build()
    release()
    await stage.settle()
    const head = await branchOf()
    await stage.repository.commit(head, { 'prod/more.yaml': 'a: 1\n' })
    const { promotion } = stage.world.pipeline.spec
    stage.world.edit({
      promotion: { strategy: { 'pull-request': { ...promotion!.strategy['pull-request']!, ...strategy } } },
    })
    await stage.turn(60_000)
    expect(stage.world.promotion('prod')).toMatchObject({
      phase: 'Proposed',
      because: 'PullRequestModified',
      pullRequest: { modified: true },
    })
    release('1.2.0')
    await stage.settle()
    expect(stage.pulls.map(({ state }) => state)).toEqual(['closed', 'merged'])
    expect(await stage.repository.branches()).toContain(head)
  })

  it('is merged by us where that is asked for, and only as we made it', async () => {
    const { promotion } = (await build()).world.pipeline.spec
    stage.world.edit({
      promotion: { strategy: { 'pull-request': { ...promotion!.strategy['pull-request']!, autoMerge: true } } },
    })
    release()
    await stage.settle()
    expect(stage.pulls).toMatchObject([{ state: 'merged' }])
    expect(await stage.repository.file('main', 'prod/app.yaml')).toBe(manifest('prod', '1.1.0'))
  })

  it.each(['suspended', 'frozen'] as const)('is looked at but not merged while promotions are %s', async (how) => {
    const { promotion } = (await build()).world.pipeline.spec
    const pullRequest = { ...promotion!.strategy['pull-request']!, autoMerge: true }
    release()
    await stage.turn()
    await stage.turn()
    stage.world.edit({ promotion: { strategy: { 'pull-request': pullRequest } }, suspend: how === 'suspended' })
    stage.world.frozen = how === 'frozen'
    expect(await stage.turn(600_000)).toMatchObject({ do: 'poll' })
    expect(stage.pulls).toMatchObject([{ state: 'open' }])
    stage.world.edit({ suspend: false })
    stage.world.frozen = false
    await stage.turn(600_000)
    expect(stage.pulls).toMatchObject([{ state: 'merged' }])
  })

  it('is not merged by us outside a window, though it was opened inside', async () => {
    const { promotion, environments: given } = (await build()).world.pipeline.spec
    const strategy = { 'pull-request': promotion!.strategy['pull-request']! }
    release()
    await stage.turn()
    await stage.turn()
    const [dev, prod] = given
    const windows = [{ kind: 'Deny' as const, schedule: '0 0 * * *', duration: '24h' }]
    const autoMerge = { strategy: { 'pull-request': { ...strategy['pull-request'], autoMerge: true } } }
    stage.world.edit({ promotion: autoMerge, environments: [dev!, { ...prod!, windows }] })
    expect(await stage.turn(600_000)).toMatchObject({ do: 'poll' })
    expect(stage.pulls).toMatchObject([{ state: 'open' }])
    expect(stage.world.status.environments?.['prod']?.gates).toContainEqual(
      expect.objectContaining({ name: 'window', state: 'Closed' }),
    )
    stage.world.edit({ environments: given })
    // What runs before is ill: nothing goes on from there.
    stage.world.targets['dev'] = [targetOf('1.1.0', { namespace: 'dev', ready: false })]
    expect(await stage.turn(600_000)).toMatchObject({ do: 'poll' })
    expect(stage.pulls).toMatchObject([{ state: 'open' }])
    release()
    await stage.turn(600_000)
    expect(stage.pulls).toMatchObject([{ state: 'merged' }])
  })

  it('is updated in place where that is asked for', async () => {
    const { promotion } = (await build()).world.pipeline.spec
    stage.world.edit({
      promotion: { strategy: { 'pull-request': { ...promotion!.strategy['pull-request']!, supersede: 'Update' } } },
    })
    release()
    await stage.settle()
    release('1.2.0')
    await stage.settle()
    expect(stage.pulls).toMatchObject([{ state: 'open', title: 'Promote team/app in prod to 1.2.0' }])
    expect(await stage.repository.file(stage.pulls[0]!.head, 'prod/app.yaml')).toBe(manifest('prod', '1.2.0'))
  })

  it('is updated in place by the newest of several revisions, though those between never got that far', async () => {
    const { promotion } = (await build()).world.pipeline.spec
    const pullRequest = { ...promotion!.strategy['pull-request']!, supersede: 'Update' as const }
    const strategy = { 'pull-request': pullRequest }
    stage.world.edit({ promotion: { strategy } })
    release()
    await stage.settle()
    stage.world.edit({ promotion: { strategy, manual: true } })
    release('1.2.0')
    await stage.settle()
    expect(stage.world.phase('prod')).toBe('AwaitingApproval')
    release('1.3.0')
    await stage.settle()
    stage.world.edit({ promotion: { strategy } })
    // The branch is pushed, and a newer revision comes before anything else.
    await stage.turn()
    expect(stage.world.phase('prod')).toBe('Pushed')
    release('1.4.0')
    await stage.settle()
    expect(stage.pulls).toMatchObject([{ state: 'open', title: 'Promote team/app in prod to 1.4.0' }])
    expect(await stage.repository.file(stage.pulls[0]!.head, 'prod/app.yaml')).toBe(manifest('prod', '1.4.0'))
  })

  it('to be updated in place is replaced where it cannot be known how far the one between got', async () => {
    const { promotion } = (await build()).world.pipeline.spec
    const pullRequest = { ...promotion!.strategy['pull-request']!, supersede: 'Update' as const }
    stage.world.edit({ promotion: { strategy: { 'pull-request': pullRequest } } })
    release()
    await stage.settle()
    release('1.2.0')
    forge.fail({ path: /git-receive-pack$/, method: 'POST', status: 502, times: 1 })
    await stage.turn()
    expect(stage.world.promotion('prod')).toMatchObject({ phase: 'Intended', attempt: 1 })
    release('1.3.0')
    await stage.settle()
    expect(stage.pulls.map(({ state }) => state)).toEqual(['closed', 'open'])
    expect(await stage.repository.file(stage.pulls[1]!.head, 'prod/app.yaml')).toBe(manifest('prod', '1.3.0'))
  })

  it('is left open beside the newer one where that is asked for', async () => {
    const { promotion } = (await build()).world.pipeline.spec
    stage.world.edit({
      promotion: { strategy: { 'pull-request': { ...promotion!.strategy['pull-request']!, supersede: 'Keep' } } },
    })
    release()
    await stage.settle()
    release('1.2.0')
    await stage.settle()
    expect(stage.pulls.map(({ state }) => state)).toEqual(['open', 'open'])
  })

  it('is merged while it is being replaced: the environment gets it first, then the newer one', async () => {
    await build()
    release()
    await stage.settle()
    await stage.mergeOpen()
    release('1.2.0')
    await stage.settle(4)
    expect(stage.world.phase('prod')).toBe('RollingOut')
    expect(stage.pulls).toHaveLength(1)
    await stage.deploy()
    await stage.settle()
    expect(stage.pulls.map(({ state }) => state)).toEqual(['merged', 'open'])
  })

  describe('whose promotion failed while it was open', () => {
    async function fail(): Promise<void> {
      await build()
      release()
      await stage.settle()
      const { token } = stage.secret
      stage.secret['token'] = 'expired'
      await stage.settle()
      expect(stage.world.promotion('prod')).toMatchObject({ phase: 'Failed', failedIn: 'Proposed' })
      stage.secret['token'] = token!
    }

    it('is closed before a newer revision gets its own', async () => {
      await fail()
      release('1.2.0')
      await stage.settle()
      expect(stage.pulls.map(({ state }) => state)).toEqual(['closed', 'open'])
      expect(await stage.repository.branches()).toHaveLength(2)
    })

    it('is closed with the Secret that the pipeline names by now', async () => {
      await fail()
      stage.secrets.set('git', undefined)
      release('1.2.0')
      await stage.settle(6)
      expect(stage.pulls).toMatchObject([{ state: 'open' }])
      const { promotion } = stage.world.pipeline.spec
      stage.secrets.set('other', stage.secret)
      const pullRequest = { ...promotion!.strategy['pull-request']!, secretRef: { name: 'other' } }
      stage.world.edit({ promotion: { strategy: { 'pull-request': pullRequest } } })
      await stage.settle(20, 600_000)
      expect(stage.pulls.map(({ state }) => state)).toEqual(['closed', 'open'])
    })

    it('is closed when the pipeline goes', async () => {
      await fail()
      const { metadata } = stage.world.pipeline
      stage.world.pipeline = {
        ...stage.world.pipeline,
        metadata: { ...metadata, deletionTimestamp: '2026-11-02T12:00:00Z' },
      }
      await stage.settle()
      expect(stage.world.last?.canBeDeleted).toBe(true)
      expect(stage.pulls).toMatchObject([{ state: 'closed' }])
      expect(await stage.repository.branches()).toEqual(['main'])
    })
  })

  it('N11: is closed with its branch when its environment goes', async () => {
    await build({ names: ['dev', 'staging', 'prod'] })
    release()
    await stage.settle()
    stage.world.edit({ environments: stage.world.pipeline.spec.environments.filter(({ name }) => name !== 'staging') })
    await stage.settle()
    expect(stage.pulls.map(({ state }) => state)).toEqual(['closed', 'open'])
    expect(stage.pulls[0]?.comments.join()).toContain('removed')
    expect(Object.keys(stage.world.status.environments ?? {})).toEqual(['dev', 'prod'])
  })

  it('N9: is closed in the old repository when the pipeline moves to another', async () => {
    await build()
    release()
    await stage.settle()
    const other = await forge.createRepository(`other-${count}`)
    await other.commit('main', { 'prod/app.yaml': manifest('prod', '1.0.0') })
    const { promotion } = stage.world.pipeline.spec
    stage.world.edit({
      promotion: {
        strategy: {
          'pull-request': { ...promotion!.strategy['pull-request']!, url: forge.url('github', `other-${count}`) },
        },
      },
    })
    await stage.settle()
    expect(stage.pulls).toMatchObject([{ state: 'closed' }])
    expect(forge.pulls.all.filter(({ repository }) => repository === `other-${count}`)).toMatchObject([
      { state: 'open' },
    ])
  })
})

describe('what pipeline-controller has left open', () => {
  async function leave(version: string): Promise<void> {
    await stage.repository.git('update-ref', 'refs/heads/promotion-team-app-prod', 'refs/heads/main')
    await stage.repository.commit(
      'promotion-team-app-prod',
      { 'prod/app.yaml': manifest('prod', version) },
      'promoting version',
    )
    await forge.pulls.create({
      repository: stage.name,
      head: 'promotion-team-app-prod',
      base: 'main',
      title: 'old',
      body: 'team/app/prod',
    })
  }

  it('is taken over when it carries the revision', async () => {
    await build()
    await leave('1.1.0')
    release()
    await stage.settle()
    expect(stage.pulls).toMatchObject([{ state: 'open', title: 'Promote team/app in prod to 1.1.0' }])
    expect(stage.world.promotion('prod')).toMatchObject({ phase: 'Proposed', branch: 'promotion-team-app-prod' })
  })

  it('stays unchanged while its content cannot be read', async () => {
    await build()
    await leave('1.1.0')
    release()
    await withoutContent(() => stage.turn())
    expect(stage.pulls).toMatchObject([{ state: 'open', comments: [] }])
    await stage.settle()
    expect(stage.pulls).toMatchObject([{ state: 'open', title: 'Promote team/app in prod to 1.1.0' }])
  })

  it('gives way when it carries another', async () => {
    await build()
    await leave('1.0.5')
    release()
    await stage.settle()
    expect(stage.pulls.map(({ state }) => state)).toEqual(['closed', 'open'])
  })
})

describe('what a repository may hold', () => {
  it('N33: already: nothing is opened', async () => {
    await build()
    await stage.repository.commit('main', { 'prod/app.yaml': manifest('prod', '1.1.0') })
    release()
    await stage.settle()
    expect(stage.pulls).toEqual([])
    expect(stage.world.promotion('prod')).toMatchObject({ phase: 'RollingOut', because: 'AlreadyApplied' })
  })

  it('N31: no marker: nothing is pushed, and the file that could not be read is named', async () => {
    await build()
    await stage.repository.commit('main', {
      'prod/app.yaml': manifest('staging', '1.0.0'),
      'chart/templates/x.yaml': `{{ if x }}\nversion: 1 # {"$promotion": "team:app:prod"}\n{{ end }}\n`,
    })
    release()
    await stage.settle()
    expect(await stage.repository.branches()).toEqual(['main'])
    expect(stage.world.condition('Stalled')).toMatchObject({ reason: 'MarkerNotFound' })
    expect(stage.world.condition('Stalled')?.message).toContain('chart/templates/x.yaml')
  })

  it('N31: a marker in one file that can be changed and one that cannot: half a promotion is none, and the file is named', async () => {
    await build()
    const broken = `a: [1\nversion: 1.0.0 # {"$promotion": "team:app:prod"}\n`
    await stage.repository.commit('main', { 'prod/db.yaml': broken })
    release()
    await stage.settle()
    expect(await stage.repository.branches()).toEqual(['main'])
    expect(stage.world.condition('Stalled')).toMatchObject({ reason: 'MarkerUnusable' })
    expect(stage.world.condition('Stalled')?.message).toMatch(/prod\/db\.yaml is not valid YAML: .*"paths"/)
    await stage.repository.commit('main', { 'prod/db.yaml': broken.replace('[1', '[1]') })
    stage.world.annotate({ 'sojourn.dev/retry': 'mended' })
    await stage.settle()
    const [pull] = stage.pulls
    expect(await stage.repository.file(pull!.head, 'prod/db.yaml')).toContain('version: 1.1.0 #')
    expect(await stage.repository.file(pull!.head, 'prod/app.yaml')).toBe(manifest('prod', '1.1.0'))
  })

  it('a branch of that name which is not ours: it is not overwritten', async () => {
    await build()
    release()
    stage.killAt = { request: 0, when: 'before' }
    await stage.turn()
    const branch = await branchOf()
    const theirs = await stage.repository.commit(branch, { 'x.yaml': 'a: 1\n' }, 'theirs')
    await stage.settle()
    expect(await stage.repository.tip(branch)).toBe(theirs)
    expect(stage.world.condition('Stalled')).toMatchObject({ reason: 'BranchNotOurs' })
  })

  it('N34: a base branch that moves between push and pull request: it is opened all the same', async () => {
    await build()
    release()
    await stage.turn()
    await stage.repository.commit('main', { 'README.md': 'moved' })
    await stage.settle()
    expect(stage.pulls).toMatchObject([{ state: 'open' }])
  })

  it('N34: a base branch that goes between push and pull request: it is refused in words, and nothing is tried again', async () => {
    await build()
    release()
    await stage.turn()
    await stage.repository.git('update-ref', '-d', 'refs/heads/main')
    await stage.settle()
    expect(stage.world.promotion('prod')).toMatchObject({ phase: 'Failed', lastError: { class: 'Permanent' } })
    expect(stage.world.condition('Stalled')?.message).toContain('branch does not exist: main')
    expect(stage.pulls).toEqual([])
  })

  it('N34: no base branch: Stalled with the branch named', async () => {
    await build()
    const { promotion } = stage.world.pipeline.spec
    stage.world.edit({
      promotion: { strategy: { 'pull-request': { ...promotion!.strategy['pull-request']!, baseBranch: 'gone' } } },
    })
    release()
    await stage.settle()
    expect(stage.world.condition('Stalled')).toMatchObject({
      reason: 'BaseBranchNotFound',
      message: 'prod: the base branch does not exist: gone',
    })
  })
})

describe('a revision', () => {
  it.each([
    ['with a slash and a hash', 'feature/x@sha1:0123456789abcdef'],
    ['with shell and HTML', '$(rm -rf /) `id` <img src=x onerror=alert(1)> & @everyone #1'],
    ['with quotes', `a "b" 'c' \\ --upload-pack=x`],
    ['of three hundred characters', 'v'.repeat(300)],
    ['with line feeds', 'a\nb\r\n---\nc'],
  ])('N37: %s makes a valid branch, a safe text and the exact value', async (_, revision) => {
    await build()
    release(revision)
    await stage.settle()
    const [pull] = stage.pulls
    expect(pull?.head).toMatch(/^promotion\/team\.app\/prod-[0-9a-f]{8}$/)
    expect(pull?.title.length).toBeLessThanOrEqual(250)
    expect(pull?.title).not.toMatch(/[\r\n]/)
    expect(pull?.body).not.toMatch(/<img|@everyone/)
    const content = await stage.repository.file(pull!.head, 'prod/app.yaml')
    const { parse } = await import('yaml')
    expect(parse(content)).toMatchObject({ spec: { chart: { version: revision } } })
  })
})

describe('trouble', () => {
  it.each([
    ['no Secret', () => void (stage.secret = {}), 'CredentialsMissing'],
    ['no token', () => void delete stage.secret['token'], 'CredentialsMissing'],
    ['a wrong password', () => void (stage.secret['password'] = 'wrong'), 'CredentialsRefused'],
    ['a wrong token', () => void (stage.secret['token'] = 'wrong'), 'CredentialsRefused'],
  ])(
    'C55: with credentials (%s) is Stalled, and mended by the next version of the Secret',
    async (_, spoil, reason) => {
      await build()
      const good = { ...stage.secret }
      spoil()
      release()
      await stage.settle()
      expect(stage.world.condition('Stalled')).toMatchObject({ reason })
      expect(JSON.stringify(stage.world.status)).not.toMatch(/git-password|api-token|"wrong"/)
      stage.secret = good
      stage.world.secretVersions = { prod: '2' }
      await stage.settle()
      expect(stage.pulls).toMatchObject([{ state: 'open' }])
    },
  )

  it('C55: of an unreachable address is transient, and names it', async () => {
    await build()
    const { promotion } = stage.world.pipeline.spec
    const url = 'https://127.0.0.1:1/acme/deploy'
    stage.world.edit({ promotion: { strategy: { 'pull-request': { ...promotion!.strategy['pull-request']!, url } } } })
    release()
    await stage.turn()
    expect(stage.world.promotion('prod')?.lastError).toMatchObject({
      class: 'Transient',
      reason: 'GitProviderUnavailable',
      message: expect.stringContaining('127.0.0.1:1') as string,
    })
  })

  it('of an unknown certificate is not taken for anything else, and passes once the certificate is known', async () => {
    await build()
    const { caFile } = stage.secret
    delete stage.secret['caFile']
    release()
    await stage.turn()
    expect(stage.world.promotion('prod')?.lastError?.class).toBe('Transient')
    stage.secret['caFile'] = caFile!
    await stage.settle()
    expect(stage.pulls).toMatchObject([{ state: 'open' }])
  })

  it.each([
    ['500', { status: 500, times: 3 }],
    ['502', { status: 502, times: 3 }],
    ['504', { status: 504, times: 3 }],
    ['cut connections', { drop: true, times: 3 }],
  ])('N20: that passes (%s) ends in one commit and one pull request', async (_, fault) => {
    await build()
    release()
    forge.fail(fault)
    await stage.settle(30, 600_000)
    expect(stage.pulls).toMatchObject([{ state: 'open' }])
    expect(await stage.repository.ahead(stage.pulls[0]!.head, 'main')).toBe(1)
  })

  it('N21: with a limit is waited out exactly', async () => {
    await build()
    release()
    forge.fail({ path: /api/, status: 429, headers: { 'retry-after': '120' } })
    await stage.turn()
    await stage.turn()
    const { nextAttemptAt } = stage.world.promotion('prod')!
    expect(Date.parse(nextAttemptAt!)).toBe(stage.world.now + 120_000)
    expect(await stage.turn(119_000)).toBeUndefined()
    expect(await stage.turn(1000)).toMatchObject({ do: 'propose' })
    expect(stage.pulls).toHaveLength(1)
  })
})

it('gives pipelines whose names run together branches of their own', async () => {
  const { branchName } = await import('../../src/systems/promoter/model/identity.ts')
  const of = (namespace: string, name: string) =>
    branchName({ namespace, name, environment: 'prod', id: '0123456789abcdef' }, 'own')
  expect(of('a-b', 'c')).not.toBe(of('a', 'b-c'))
})

describe('two promotions of adjacent lines', () => {
  const both = (prod: string, other: string) =>
    `a: ${prod} # {"$promotion": "team:app:prod"}\nb: ${other} # {"$promotion": "team:other:prod"}\n`

  it.each(forgeTypes.filter((type) => type !== 'bitbucket-cloud'))(
    'the second is put on top of the first once that is merged, on %s',
    async (type) => {
      await build({ type })
      await stage.repository.commit('main', { 'prod/app.yaml': both('1.0.0', '1.0.0') })
      release()
      await stage.settle()
      await stage.repository.commit('main', { 'prod/app.yaml': both('1.0.0', '1.1.0') })
      await stage.settle()
      expect(stage.pulls).toMatchObject([{ state: 'open' }])
      expect(await stage.repository.conflicts(stage.pulls[0]!.head, 'main')).toBe(false)
      expect(await stage.repository.file(stage.pulls[0]!.head, 'prod/app.yaml')).toBe(both('1.1.0', '1.1.0'))
      expect(await stage.repository.ahead(stage.pulls[0]!.head, 'main')).toBe(1)
      expect(stage.world.promotion('prod')).toMatchObject({ phase: 'Proposed', because: 'PullRequestOpen' })
    },
  )

  it('is adopted when the process was killed after it had been put on top', async () => {
    await build({ spec: {} })
    await stage.repository.commit('main', { 'prod/app.yaml': both('1.0.0', '1.0.0') })
    release()
    await stage.settle()
    const before = stage.world.status
    await stage.repository.commit('main', { 'prod/app.yaml': both('1.0.0', '1.1.0') })
    await stage.turn(60_000)
    expect(stage.world.promotion('prod')?.phase).toBe('Pushed')
    stage.world.pipeline = { ...stage.world.pipeline, status: before }
    stage.world.polledAt.clear()
    await stage.settle()
    const [pull] = stage.pulls
    expect(stage.world.promotion('prod')).toMatchObject({ because: 'PullRequestOpen', headSHA: pull!.headSHA })
  })

  it('with commits of others on it is left alone, and people are told to resolve it', async () => {
    await build()
    await stage.repository.commit('main', { 'prod/app.yaml': both('1.0.0', '1.0.0') })
    release()
    await stage.settle()
    await stage.repository.commit(stage.pulls[0]!.head, { 'note.txt': 'mine' })
    const tip = await stage.repository.tip(stage.pulls[0]!.head)
    await stage.repository.commit('main', { 'prod/app.yaml': both('1.0.0', '1.1.0') })
    await stage.settle()
    expect(await stage.repository.tip(stage.pulls[0]!.head)).toBe(tip)
    expect(stage.world.condition('Stalled')).toMatchObject({ reason: 'PullRequestConflict' })
    expect(stage.world.condition('Stalled')?.message).toContain(`resolve the conflicts of https:`)
  })
})

it('shows why the forge did not merge, and the checks of the pull request', async () => {
  await build()
  const { strategy } = stage.world.pipeline.spec.promotion!
  stage.world.edit({
    promotion: { strategy: { 'pull-request': { ...strategy['pull-request']!, autoMerge: true } } },
  })
  release()
  await stage.turn()
  await stage.turn()
  const { headSHA = '' } = stage.world.promotion('prod')!
  forge.pulls.checks.set(headSHA, [
    { name: 'build', state: 'success' },
    { name: 'scan', state: 'failure' },
  ])
  forge.fail({ method: 'PUT', path: /merge$/, status: 405 })
  await stage.turn(60_000)
  stage.world.step()
  expect(stage.world.promotion('prod')).toMatchObject({
    phase: 'Proposed',
    lastError: { reason: 'MergeRefused' },
    pullRequest: { checks: '1 of 2 checks passed, failed: scan' },
  })
})

it('is proposed again when the person who closed its pull request opens that again', async () => {
  await build()
  release()
  await stage.settle()
  const [pull] = stage.pulls
  forge.pulls.close(pull!)
  await stage.turn(60_000)
  for (let look = 0; look < 3; look++) await stage.turn(300_000)
  expect(stage.world.promotion('prod')).toMatchObject({ phase: 'Rejected', because: 'PromotionRejected' })
  forge.pulls.reopen(pull!)
  await stage.turn(300_000)
  expect(stage.world.promotion('prod')).toMatchObject({ phase: 'Proposed', because: 'PullRequestOpen' })
  release('1.2.0')
  await stage.settle()
  expect(stage.pulls).toMatchObject([{ state: 'closed' }, { state: 'open' }])
})

it('is not doubled when the person who opens it again asks for a retry at once', async () => {
  await build()
  release()
  await stage.settle()
  const [pull] = stage.pulls
  forge.pulls.close(pull!)
  await stage.settle()
  expect(stage.world.phase('prod')).toBe('Rejected')
  forge.pulls.reopen(pull!)
  stage.world.request('Retry', 'prod')
  stage.world.polledAt.clear()
  for (let turn = 0; turn < 5; turn++) await stage.turn(1000)
  expect(stage.pulls).toMatchObject([{ state: 'open' }])
  expect(stage.world.promotion('prod')).toMatchObject({ phase: 'Proposed', because: 'PullRequestOpen' })
  expect(stage.world.status.requests).toMatchObject([{ decision: 'Retry', result: 'NothingToRetry' }])
})

it('says that the repository has moved', async () => {
  await build()
  release()
  await stage.turn()
  forge.fail({ path: /pulls$/, status: 301, times: 10 })
  await stage.turn()
  stage.world.step()
  expect(stage.world.condition('Stalled')).toMatchObject({ reason: 'RepositoryNotFound' })
  expect(stage.world.condition('Stalled')?.message).toContain('has moved; change its URL')
})

describe('a pull request that is no longer there', () => {
  it.each(forgeTypes)('deleted on %s, counts as closed, and a retry opens another', async (type) => {
    await build({ type })
    release()
    await stage.settle()
    forge.pulls.remove(stage.pulls[0]!)
    await stage.settle()
    expect(stage.world.promotion('prod')).toMatchObject({ phase: 'Rejected', because: 'PromotionRejected' })
    expect(stage.world.condition('Stalled')).toMatchObject({ reason: 'PromotionRejected' })
    stage.world.request('Retry', 'prod')
    await stage.settle()
    expect(stage.pulls).toMatchObject([{ state: 'open' }])
    await stage.mergeOpen()
    await stage.turn(60_000)
    await stage.deploy()
    stage.world.step()
    expect(stage.world.phase('prod')).toBe('Succeeded')
  })

  it('because the repository is gone stays recorded, until the repository is back', async () => {
    await build()
    release()
    await stage.settle()
    forge.fail({ path: new RegExp(stage.name), status: 404, times: 1000 })
    await stage.turn(60_000)
    stage.world.step()
    expect(stage.world.condition('Stalled')).toMatchObject({ reason: 'RepositoryNotFound' })
    forge.mend()
    await stage.mergeOpen()
    await stage.turn(600_000)
    await stage.deploy()
    stage.world.step()
    expect(stage.world.phase('prod')).toBe('Succeeded')
  })

  it('is not mistaken for one of others that has its number in a new repository of the same name', async () => {
    await build()
    release()
    await stage.settle()
    const [ours] = stage.pulls
    await stage.repository.commit('feature', { 'note.txt': 'mine' })
    const theirs = await forge.pulls.create({
      repository: stage.name,
      head: 'feature',
      base: 'main',
      title: 'Mine',
      body: 'Mine',
    })
    forge.pulls.remove(ours!)
    Object.assign(theirs, { number: ours!.number })
    release('1.2.0')
    await stage.settle()
    expect(theirs).toMatchObject({ state: 'open', title: 'Mine', comments: [] })
    expect(stage.world.promotion('prod')).toMatchObject({ revision: '1.2.0', phase: 'Proposed' })
  })
})

it('gets its branch back where a person has deleted that, and the forge leaves it open', async () => {
  await build({ type: 'gitlab' })
  release()
  await stage.settle()
  const { head } = stage.pulls[0]!
  const tip = await stage.repository.tip(head)
  await stage.repository.git('update-ref', '-d', `refs/heads/${head}`)
  await stage.settle()
  expect(await stage.repository.tip(head)).toBe(tip)
  expect(stage.pulls).toMatchObject([{ state: 'open', isConflicting: false }])
  expect(stage.world.promotion('prod')).toMatchObject({ phase: 'Proposed', because: 'PullRequestOpen' })
})

it('does not take a draft on Gitea for a conflict', async () => {
  await build({ type: 'gitea' })
  release()
  await stage.settle()
  const [pull] = stage.pulls
  pull!.isDraft = true
  const pushes = forge.count('POST', /git-receive-pack/)
  for (let look = 0; look < 3; look++) await stage.turn(120_000)
  expect(stage.world.promotion('prod')).toMatchObject({ phase: 'Proposed', because: 'PullRequestOpen' })
  expect(stage.world.promotion('prod')?.pullRequest?.isConflicting).toBeUndefined()
  expect(forge.count('POST', /git-receive-pack/)).toBe(pushes)
})

it('says that the base branch is gone rather than that the change was reverted', async () => {
  await build()
  release()
  await stage.settle()
  await stage.mergeOpen()
  await stage.turn(60_000)
  await stage.repository.git('branch', '-m', 'main', 'trunk')
  await stage.turn(60_000)
  await stage.turn(60_000)
  stage.world.step()
  expect(stage.world.promotion('prod')).toMatchObject({ phase: 'RollingOut' })
  expect(stage.world.condition('Stalled')).toMatchObject({ reason: 'BaseBranchNotFound' })
})

describe('a first environment that follows the branch to which promotions are written', () => {
  it('starts no run for commits of promotions to any of several repositories', async () => {
    await build({ names: ['dev', 'staging', 'prod'] })
    const other = await forge.createRepository(`${stage.name}-prod`)
    await other.commit('main', { 'prod/app.yaml': manifest('prod', '1.0.0') })
    const { promotion, environments } = stage.world.pipeline.spec
    const strategy = {
      'pull-request': { ...promotion!.strategy['pull-request']!, url: forge.url('github', `${stage.name}-prod`) },
    }
    stage.world.edit({
      environments: environments.map((each) => (each.name === 'prod' ? { ...each, promotion: { strategy } } : each)),
    })
    const before = `main@sha1:${await other.tip('main')}`
    release(before)
    stage.world.runs({ staging: before })
    await stage.settle()
    const { sequence } = stage.world.status.run!
    const [pull] = forge.pulls.all.filter(
      ({ repository, state }) => repository === `${stage.name}-prod` && state === 'open',
    )
    await forge.pulls.merge(pull!)
    await stage.turn(60_000)
    release(`main@sha1:${await other.tip('main')}`)
    await stage.settle()
    expect(stage.world.status.run?.sequence).toBe(sequence)
  })

  it('starts no run for commits of promotions, and one for any other', async () => {
    await build()
    const revision = async () => `main@sha1:${await stage.repository.tip('main')}`
    release(await revision())
    await stage.settle()
    const { sequence } = stage.world.status.run!
    await stage.mergeOpen()
    await stage.turn(60_000)
    release(await revision())
    await stage.settle()
    expect(stage.world.status.run?.sequence).toBe(sequence)
    expect(stage.pulls).toHaveLength(1)
    await stage.repository.commit('main', { 'dev/app.yaml': 'changed: true\n' })
    release(await revision())
    await stage.settle()
    expect(stage.world.status.run?.sequence).toBe(sequence + 1)
  })

  it('starts no run for a commit of a promotion while the credentials to look at it are refused', async () => {
    await build()
    const revision = async () => `main@sha1:${await stage.repository.tip('main')}`
    release(await revision())
    await stage.settle()
    const { sequence } = stage.world.status.run!
    await stage.mergeOpen()
    await stage.turn(60_000)
    const { password } = stage.secret
    stage.secret['password'] = 'expired'
    release(await revision())
    await stage.settle()
    expect(stage.world.status.run?.sequence).toBe(sequence)
    expect(stage.world.condition('Stalled')).toMatchObject({ reason: 'CredentialsRefused' })
    stage.secret['password'] = password!
    await stage.settle()
    expect(stage.world.status.run).toMatchObject({ sequence, aliases: [await revision()] })
  })

  it('writes the hash of a commit, and shows it readably in the pull request', async () => {
    await build()
    const tip = await stage.repository.tip('main')
    release(`main@sha1:${tip}`)
    await stage.settle()
    expect(await stage.repository.file(stage.pulls[0]!.head, 'prod/app.yaml')).toContain(tip)
    expect(await stage.repository.file(stage.pulls[0]!.head, 'prod/app.yaml')).not.toContain('main@')
    expect(stage.pulls[0]!.body).toContain(`to \`main@sha1:${tip}\`.`)
    expect(stage.pulls[0]!.title).toBe(`Promote team/app in prod to main@sha1:${tip!.slice(0, 7)}`)
  })
})
