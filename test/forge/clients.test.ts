import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { forgeTypes } from '../../src/apis/pipeline.ts'
import { RateLimiter } from '../../src/forges/rate-limiter.ts'
import { type Forge, type PullRequest, upsertComment } from '../../src/forges/forge.ts'
import { ResponseCache } from '../../src/forges/forge-api.ts'
import { openForge } from '../../src/forges/open-forge.ts'
import { repositoryAddress } from '../../src/forges/repository-address.ts'
import type { Http, HttpResponse } from '../../src/runtime/http/http.ts'
import { ForgeServer, forgeToken } from './forge-server.ts'
import type { Repository } from './repository.ts'
import { localNetwork } from '../local-network.ts'

const { http, close } = localNetwork()
let forge: ForgeServer
let repository: Repository
let branches = 0

beforeAll(async () => {
  forge = await ForgeServer.start()
  repository = await forge.createRepository('deploy')
  await repository.commit('main', { 'a.yaml': 'a: 1\n' })
})
beforeEach(() => {
  forge.mend()
  forge.pageSize = 100
})
afterAll(async () => {
  close()
  await forge.close()
})

async function branch(): Promise<string> {
  const name = `promotion/team.app/prod-${++branches}`
  await repository.git('update-ref', `refs/heads/${name}`, 'refs/heads/main')
  await repository.commit(name, { [`${branches}.yaml`]: 'b: 1\n' })
  return name
}

/** A value with each of its parts replaced once by each sort of nonsense. */
function* spoiltForms(value: unknown): Generator<unknown> {
  yield* [{}, [], true, -1.5, 1e300, null, 'x'.repeat(10_000), 'javascript:alert(1)', '\u001b[2J\n']
  if (typeof value !== 'object' || value === null) return
  for (const [key, part] of Object.entries(value))
    for (const spoilt of spoiltForms(part))
      yield Array.isArray(value) ? value.with(Number(key), spoilt) : { ...value, [key]: spoilt }
}

/** Whether a status takes it, and people can be shown it. */
function expectRecordable(pull: PullRequest): void {
  const { number, url, headSHA = 'a', mergeSHA = 'a', body, labels, head, base } = pull
  expect(Number.isSafeInteger(number) && number > 0).toBe(true)
  expect(url).toMatch(/^https?:\/\/[^\s\p{C}]+$/u)
  expect(url.length + head.length + base.length).toBeLessThan(6000)
  for (const hash of [headSHA, mergeSHA]) expect(hash).toMatch(/^[0-9a-f]{1,64}$/)
  for (const text of [body, pull.createdAt ?? '', pull.closedAt ?? '', ...labels]) expect(text).toBeTypeOf('string')
}

describe.each(forgeTypes)('the client for %s', (type) => {
  const open = (token = forgeToken): Forge =>
    openForge(type, repositoryAddress(type, forge.url(type, 'deploy')), { http, token, ca: forge.ca })

  it('reads the statuses and check runs of a commit', async () => {
    const sha = 'c'.repeat(40)
    expect(await open().checks(sha)).toEqual([])
    const checks = (['success', 'failure', 'pending', 'success'] as const).map((state, index) => ({
      name: `check ${index}`,
      state,
    }))
    forge.pulls.checks.set(sha, checks)
    const found = await open().checks(sha)
    expect(found.toSorted((left, right) => left.name.localeCompare(right.name))).toEqual(checks)
    forge.pulls.checks.delete(sha)
  })

  it.each(['', 'null', '"page"', '{}', '[{}]', '{"value": [{}], "values": [{}], "id": {}, "number": "1"}'])(
    'takes an answer that is none of a forge (%j) for no answer',
    async (body) => {
      const head = await branch()
      const { number } = await open().create({ head, base: 'main', title: 'Try', body: '', labels: [] })
      forge.fail({ status: 200, body, times: 100 })
      const unavailable = { kind: 'Transient', message: expect.stringMatching(/^127\.0\.0\.1:\d+ did not answer as /) }
      await expect(open().get(number)).rejects.toMatchObject(unavailable)
      await expect(open().openPulls()).rejects.toMatchObject(unavailable)
      await expect(open().comment(number, 'kept')).rejects.toMatchObject(unavailable)
      await expect(open().list({ head, base: 'main' })).rejects.toMatchObject(unavailable)
      // No checks, where the form allows that, keep a gate closed.
      const checks = await open()
        .checks('c'.repeat(40))
        .catch((error: unknown) => error)
      if (!Array.isArray(checks)) expect(checks).toMatchObject(unavailable)
      forge.mend()
      await open().close(number)
    },
  )

  it('takes a pull request with a spoilt field for no answer, unless it can do without that field', async () => {
    const head = await branch()
    const { number } = await open().create({ head, base: 'main', title: 'Try', body: 'text', labels: [] })
    const answers = new Map<string, HttpResponse>()
    const listening: Http = async (request) => {
      const response = await http(request)
      answers.set(request.url, response)
      return response
    }
    const address = repositoryAddress(type, forge.url(type, 'deploy'))
    const through = (send: Http) => openForge(type, address, { http: send, token: forgeToken, ca: forge.ca })
    await through(listening).get(number)
    let accepted = 0
    for (const [url, answer] of answers)
      for (const spoilt of spoiltForms(JSON.parse(answer.body.toString()))) {
        const lie = { ...answer, body: Buffer.from(JSON.stringify(spoilt)) }
        const lying: Http = (request) => Promise.resolve(request.url === url ? lie : answers.get(request.url)!)
        const pull = await through(lying)
          .get(number)
          .catch((error: unknown) => error)
        if (pull instanceof Error) {
          expect(pull).toMatchObject({ kind: 'Transient', message: expect.stringMatching(/did not answer as /) })
          continue
        }
        accepted++
        expectRecordable(pull as PullRequest)
      }
    expect(accepted).toBeGreaterThan(0)
    await open().close(number)
  })

  it('opens, finds, changes, comments on and closes a pull request', async () => {
    const client = open()
    const head = await branch()
    expect(await client.list({ head, base: 'main' })).toEqual([])
    const opened = await client.create({
      head,
      base: 'main',
      title: 'Promote',
      body: 'text <!-- mark -->',
      labels: ['promotion'],
    })
    expect(opened).toMatchObject({ state: 'open', head, base: 'main', body: 'text <!-- mark -->' })
    expect(opened.url).toMatch(/^https:/)
    expect((await repository.tip(head))?.startsWith(opened.headSHA ?? 'none')).toBe(true)
    await client.update(opened.number, { title: 'Other', body: 'other' })
    await client.comment(opened.number, 'bye')
    await client.close(opened.number)
    expect(await client.list({ head, base: 'main' })).toMatchObject([
      { number: opened.number, state: 'closed', body: 'other' },
    ])
    expect(forge.pulls.all.find(({ number }) => number === opened.number)).toMatchObject({
      title: 'Other',
      comments: ['bye'],
    })
  })

  it('writes one comment, edits it in place, and leaves one alone that a person deleted', async () => {
    const client = open()
    const { number } = await client.create({ head: await branch(), base: 'main', title: 'Try', body: '', labels: [] })
    const mine = { marker: '[//]: # (mine)', text: 'awake' }
    const id = await upsertComment(client, number, { ...mine, id: undefined })
    expect(await upsertComment(client, number, { ...mine, text: 'asleep', id })).toBe(id)
    // The id was lost: the comment is found by its marker.
    expect(await upsertComment(client, number, { ...mine, text: 'gone', id: undefined })).toBe(id)
    const pull = forge.pulls.all.find((each) => each.number === number)!
    expect(pull.comments).toEqual(['gone\n\n[//]: # (mine)'])
    pull.comments[0] = ''
    expect(await upsertComment(client, number, { ...mine, id })).toBe('deleted')
    expect(pull.comments).toEqual([''])
  })

  it('lists open pull requests, says when one was closed, and sets the status of its commit', async () => {
    const client = open()
    const head = await branch()
    const { number, headSHA } = await client.create({
      head,
      base: 'main',
      title: 'Try',
      body: '',
      labels: ['promotion'],
    })
    expect((await client.openPulls()).map((pull) => pull.number)).toContain(number)
    await client.setStatus(
      { number, headSHA },
      { name: 'sojourn/a', state: 'success', description: 'awake', url: 'https://a.test' },
    )
    expect(forge.pulls.statuses.at(-1)).toMatchObject({ name: 'sojourn/a', description: 'awake' })
    await client.removeLabel(number, 'promotion')
    expect((await client.get(number)).labels).toEqual([])
    await client.close(number)
    expect((await client.openPulls()).map((pull) => pull.number)).not.toContain(number)
    const { closedAt } = await client.get(number)
    if (type !== 'bitbucket-cloud') expect(Date.parse(closedAt ?? '')).toBeGreaterThan(0)
  })

  it('merges only the commit it was told to', async () => {
    const client = open()
    const head = await branch()
    const { number } = await client.create({ head, base: 'main', title: 'Promote', body: '', labels: [] })
    expect(await client.merge(number, 'f'.repeat(40))).toBe(false)
    expect(await client.get(number)).toMatchObject({ state: 'open', mergeSHA: undefined })
    expect(await client.merge(number, (await repository.tip(head)) ?? '')).toBe(true)
    const merged = await client.get(number)
    expect(merged.state).toBe('merged')
    expect((await repository.tip('main'))?.startsWith(merged.mergeSHA ?? 'none')).toBe(true)
  })

  it('follows the pages of a list to their end', async () => {
    // A repository of its own: some forges list all pull requests there are.
    repository = await forge.createRepository(`pages-${type}`)
    await repository.commit('main', { 'a.yaml': 'a: 1\n' })
    const client = openForge(type, repositoryAddress(type, forge.url(type, `pages-${type}`)), {
      http,
      token: forgeToken,
      ca: forge.ca,
    })
    const head = await branch()
    forge.pulls.allowDuplicates = true
    for (let index = 0; index < 5; index++)
      await client.create({ head, base: 'main', title: `${index}`, body: '', labels: [] })
    forge.pulls.allowDuplicates = false
    forge.pageSize = 2
    expect(await client.list({ head, base: 'main' })).toHaveLength(5)
    repository = forge.pulls.repository('deploy')
  })

  it('says what will not mend itself', async () => {
    await expect(open('wrong').list({ head: 'x', base: 'main' })).rejects.toMatchObject({
      kind: 'Permanent',
      because: 'CredentialsRefused',
      httpStatus: 401,
    })
    await expect(open().get(99_999)).rejects.toMatchObject({ kind: 'Permanent', because: 'RepositoryNotFound' })
  })

  it.each([500, 502, 504])('reports a %i as transient', async (status) => {
    forge.fail({ status })
    await expect(open().get(1)).rejects.toMatchObject({ kind: 'Transient', httpStatus: status })
  })
})

it('asks a forge that tells versions whether anything is new, rather than for all of it again', async () => {
  const answers: number[] = []
  const heard: Http = async (request) => {
    const response = await http(request)
    answers.push(response.status)
    return response
  }
  const address = repositoryAddress('github', forge.url('github', 'deploy'))
  const client = openForge('github', address, {
    http: heard,
    token: forgeToken,
    ca: forge.ca,
    cache: new ResponseCache(),
  })
  const { number } = await client.create({ head: await branch(), base: 'main', title: 'one', body: '', labels: [] })
  answers.length = 0
  const first = await client.get(number)
  expect(await client.get(number)).toEqual(first)
  expect(answers).toEqual([200, 304])
  await client.update(number, { title: 'two', body: 'other' })
  expect(await client.get(number)).toMatchObject({ body: 'other' })
})

describe('the rate limit of a host', () => {
  const limited = (now: () => number) => {
    const limiter = new RateLimiter({ now, burst: 100, perSecond: 10 })
    const wrapped = limiter.wrap(http, 'credential')
    return {
      limiter,
      client: openForge('github', repositoryAddress('github', forge.url('github', 'deploy')), {
        http: wrapped,
        token: forgeToken,
        ca: forge.ca,
      }),
    }
  }
  const now = Date.UTC(2026, 10, 2, 12)

  it.each([
    ['seconds', { status: 429, headers: { 'retry-after': '90' } }, now + 90_000],
    ['a date', { status: 403, headers: { 'retry-after': 'Mon, 02 Nov 2026 12:10:00 GMT' } }, now + 600_000],
    [
      'a reset',
      { status: 403, headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(now / 1000 + 300) } },
      now + 300_000,
    ],
    [
      'seconds that are left, as proxies count them',
      { status: 429, headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '30' } },
      now + 30_000,
    ],
    [
      'milliseconds',
      { status: 429, headers: { 'ratelimit-remaining': '0', 'ratelimit-reset': String(now + 45_000) } },
      now + 45_000,
    ],
    ['nothing', { status: 429 }, now + 60_000],
    [
      'words alone',
      { status: 403, body: '{"message":"You have exceeded a secondary rate limit. Please wait a few minutes"}' },
      now + 60_000,
    ],
    ['numbers beyond any calendar', { status: 429, headers: { 'retry-after': '9'.repeat(20) } }, now + 86_400_000],
  ])('N21: waits exactly as long as the forge says in %s, without asking again', async (_, fault, retryAt) => {
    let clock = now
    const { client } = limited(() => clock)
    forge.fail(fault)
    const before = forge.requests.length
    await expect(client.get(1)).rejects.toMatchObject({ kind: 'RateLimited', retryAt })
    clock = retryAt - 1
    await expect(client.get(1)).rejects.toMatchObject({ kind: 'RateLimited', retryAt })
    expect(forge.requests.length).toBe(before + 1)
    clock = retryAt
    await expect(client.get(1)).resolves.toBeTruthy()
  })

  it('lets only so many requests go out at once', async () => {
    let clock = now
    const limiter = new RateLimiter({ now: () => clock, burst: 3, perSecond: 1 })
    const send = limiter.wrap(() => Promise.resolve({ status: 200, headers: {}, body: Buffer.alloc(0) }), 'c')
    const request = { method: 'GET', url: 'https://a.test/' } as const
    for (let index = 0; index < 3; index++) await send(request)
    await expect(send(request)).rejects.toMatchObject({ retryAt: now + 1000 })
    await expect(send({ ...request, url: 'https://b.test/' })).resolves.toBeTruthy()
    clock += 1000
    await expect(send(request)).resolves.toBeTruthy()
  })
})

describe('the address of a repository', () => {
  it.each([
    [
      'github',
      'https://github.com/acme/app',
      { apiURL: 'https://api.github.com', owner: 'acme', name: 'app', cloneURL: 'https://github.com/acme/app.git' },
    ],
    [
      'github',
      'https://ghe.acme.test/acme/app.git',
      { apiURL: 'https://ghe.acme.test/api/v3', owner: 'acme', name: 'app' },
    ],
    [
      'gitlab',
      'https://gitlab.com/acme/sub/team/app.git',
      { apiURL: 'https://gitlab.com/api/v4', owner: 'acme/sub/team', name: 'app' },
    ],
    [
      'gitlab',
      'https://git.acme.test:8443/acme/app',
      { apiURL: 'https://git.acme.test:8443/api/v4', owner: 'acme', name: 'app' },
    ],
    ['forgejo', 'https://codeberg.org/acme/app', { apiURL: 'https://codeberg.org/api/v1', owner: 'acme', name: 'app' }],
    [
      'bitbucket-server',
      'https://bb.acme.test/scm/KEY/app',
      {
        apiURL: 'https://bb.acme.test/rest/api/1.0',
        owner: 'KEY',
        name: 'app',
        cloneURL: 'https://bb.acme.test/scm/KEY/app.git',
      },
    ],
    [
      'bitbucket-server',
      'https://acme.test/bitbucket/projects/KEY/repos/app/browse',
      { apiURL: 'https://acme.test/bitbucket/rest/api/1.0', owner: 'KEY', name: 'app' },
    ],
    [
      'bitbucket-cloud',
      'https://bitbucket.org/acme/app.git',
      { apiURL: 'https://api.bitbucket.org/2.0', owner: 'acme', name: 'app' },
    ],
    [
      'azure-devops',
      'https://dev.azure.com/acme/My%20Project/_git/app',
      { apiURL: 'https://dev.azure.com/acme', owner: 'acme', project: 'My Project', name: 'app' },
    ],
    [
      'azure-devops',
      'https://acme.visualstudio.com/proj/_git/app',
      { apiURL: 'https://acme.visualstudio.com', owner: 'acme', project: 'proj', name: 'app' },
    ],
    ['github', 'git@github.com:acme/app.git', { apiURL: 'https://api.github.com', owner: 'acme', name: 'app' }],
    ['github', 'ssh://git@ssh.github.com:443/acme/app.git', { apiURL: 'https://api.github.com', name: 'app' }],
    ['gitlab', 'git@git.acme.test:a/b/app.git', { apiURL: 'https://git.acme.test/api/v4', owner: 'a/b', name: 'app' }],
    [
      'gitea',
      'ssh://git@gitea.test:2222/acme/app',
      { apiURL: 'https://gitea.test/api/v1', owner: 'acme', name: 'app' },
    ],
    ['gitea', 'ssh://git@[::1]:2222/acme/app', { apiURL: 'https://[::1]/api/v1', owner: 'acme', name: 'app' }],
    [
      'bitbucket-server',
      'ssh://git@bb.acme.test:7999/key/app.git',
      { apiURL: 'https://bb.acme.test/rest/api/1.0', owner: 'key', name: 'app' },
    ],
    ['bitbucket-cloud', 'git@bitbucket.org:acme/app.git', { apiURL: 'https://api.bitbucket.org/2.0', name: 'app' }],
    [
      'azure-devops',
      'git@ssh.dev.azure.com:v3/acme/project/app',
      { apiURL: 'https://dev.azure.com/acme', owner: 'acme', project: 'project', name: 'app' },
    ],
    [
      'azure-devops',
      'ssh://acme@vs-ssh.visualstudio.com/v3/acme/My%20Project/app',
      { apiURL: 'https://dev.azure.com/acme', owner: 'acme', project: 'My Project', name: 'app' },
    ],
  ] as const)('C58 C59: on %s, %s, is understood', (type, url, expected) => {
    expect(repositoryAddress(type, url)).toMatchObject(expected)
  })

  it.each([
    ['github', 'http://github.com/acme/app'],
    ['github', 'https://github.com/acme'],
    ['github', 'https://github.com/acme/app/tree/main'],
    ['gitlab', 'https://gitlab.com/app'],
    ['bitbucket-server', 'https://bb.acme.test/acme/app'],
    ['azure-devops', 'https://dev.azure.com/acme/app'],
    ['gitea', 'git@gitea.test:app.git'],
    ['github', 'ssh://git:password@github.com/acme/app'],
    ['github', 'https://user@github.com/acme/app'],
    ['github', 'github.com:acme/app'],
    ['github', 'git://github.com/acme/app'],
    ['github', 'file:///acme/app'],
  ] as const)('C55 C58: on %s, %s, is refused in words', (type, url) => {
    expect(() => repositoryAddress(type, url)).toThrow(/is not (an|the) /)
  })
})
