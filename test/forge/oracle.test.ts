import { request as httpsRequest } from 'node:https'
import { setDefaultCACertificates, getCACertificates } from 'node:tls'
import { createBitbucketCloudClient } from '@coderabbitai/bitbucket/cloud'
import { createBitbucketServerClient } from '@coderabbitai/bitbucket/server'
import { Gitlab } from '@gitbeaker/rest'
import { Octokit } from '@octokit/rest'
import { getPersonalAccessTokenHandler, WebApi } from 'azure-devops-node-api'
import { PullRequestStatus } from 'azure-devops-node-api/interfaces/GitInterfaces.js'
import { giteaApi } from 'gitea-js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ForgeType } from '../../src/apis/pipeline.ts'
import { openForge } from '../../src/forges/open-forge.ts'
import { repositoryAddress } from '../../src/forges/repository-address.ts'
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
  setDefaultCACertificates([...getCACertificates(), forge.ca])
})
afterAll(async () => {
  close()
  await forge.close()
})

async function branch(): Promise<string> {
  const name = `feature/${++branches}`
  await repository.git('update-ref', `refs/heads/${name}`, 'refs/heads/main')
  await repository.commit(name, { [`${branches}.yaml`]: 'b: 1\n' })
  return name
}

/** What an official client sees: number, state, head, base and merge. */
interface Seen {
  readonly number: number
  readonly state: string
  readonly head: string
  readonly base: string
}

interface Oracle {
  create(head: string): Promise<Seen>
  list(): Promise<Seen[]>
  close(number: number): Promise<Seen>
  merge(number: number): Promise<Seen>
}

const oracles: Partial<Record<ForgeType, () => Promise<Oracle>>> = {
  github: async () => {
    const { rest } = new Octokit({ auth: forgeToken, baseUrl: `${forge.origin}/api/v3` })
    const place = { owner: 'acme', repo: 'deploy' }
    const seen = (pull: {
      number: number
      state: string
      merged_at?: string | null
      head: { ref: string }
      base: { ref: string }
    }) => ({
      number: pull.number,
      state: pull.merged_at ? 'merged' : pull.state,
      head: pull.head.ref,
      base: pull.base.ref,
    })
    return {
      create: async (head) =>
        seen((await rest.pulls.create({ ...place, head, base: 'main', title: 't', body: 'b' })).data),
      list: async () => (await rest.pulls.list({ ...place, state: 'all', per_page: 100 })).data.map(seen),
      close: async (pull_number) => seen((await rest.pulls.update({ ...place, pull_number, state: 'closed' })).data),
      merge: async (pull_number) => {
        expect((await rest.pulls.merge({ ...place, pull_number })).data.merged).toBe(true)
        return seen((await rest.pulls.get({ ...place, pull_number })).data)
      },
    }
  },
  gitlab: async () => {
    const { MergeRequests } = new Gitlab({ host: forge.origin, token: forgeToken })
    const project = 'acme/deploy'
    const seen = (request: { iid: number; state: string; source_branch: string; target_branch: string }) => ({
      number: request.iid,
      state: request.state === 'opened' ? 'open' : request.state,
      head: request.source_branch,
      base: request.target_branch,
    })
    return {
      create: async (head) => seen((await MergeRequests.create(project, head, 'main', 't')) as never),
      list: async () => ((await MergeRequests.all({ projectId: project })) as never[]).map(seen),
      close: async (iid) => seen((await MergeRequests.edit(project, iid, { stateEvent: 'close' })) as never),
      merge: async (iid) => seen((await MergeRequests.merge(project, iid)) as never),
    }
  },
  gitea: async () => {
    const { repos } = giteaApi(forge.origin, { token: forgeToken })
    const seen = (pull: {
      number?: number
      state?: string
      merged?: boolean
      head?: { ref?: string }
      base?: { ref?: string }
    }) => ({
      number: pull.number ?? 0,
      state: pull.merged ? 'merged' : (pull.state ?? ''),
      head: pull.head?.ref ?? '',
      base: pull.base?.ref ?? '',
    })
    return {
      create: async (head) =>
        seen((await repos.repoCreatePullRequest('acme', 'deploy', { head, base: 'main', title: 't' })).data as never),
      list: async () =>
        (await repos.repoListPullRequests('acme', 'deploy', { state: 'all' })).data.map((pull) => seen(pull as never)),
      close: async (number) =>
        seen((await repos.repoEditPullRequest('acme', 'deploy', number, { state: 'closed' })).data as never),
      merge: async (number) => {
        await repos.repoMergePullRequest('acme', 'deploy', number, { Do: 'merge' })
        return seen((await repos.repoGetPullRequest('acme', 'deploy', number)).data as never)
      },
    }
  },
  'bitbucket-cloud': async () => {
    const { GET, POST } = createBitbucketCloudClient({ baseUrl: `${forge.origin}/2.0`, headers: bearer })
    const place = { workspace: 'acme', repo_slug: 'deploy' }
    const one = (pull_request_id: number) => ({ params: { path: { ...place, pull_request_id } } })
    const paths = {
      all: '/repositories/{workspace}/{repo_slug}/pullrequests',
      decline: '/repositories/{workspace}/{repo_slug}/pullrequests/{pull_request_id}/decline',
      merge: '/repositories/{workspace}/{repo_slug}/pullrequests/{pull_request_id}/merge',
    } as const
    return {
      create: async (head) => {
        const body = { title: 't', source: { branch: { name: head } }, destination: { branch: { name: 'main' } } }
        return cloudPull((await POST(paths.all, { params: { path: place }, body: body as never })).data)
      },
      list: async () => {
        const found = await Promise.all(
          (['OPEN', 'MERGED', 'DECLINED'] as const).map((state) =>
            GET(paths.all, { params: { path: place, query: { state } } }),
          ),
        )
        return found.flatMap(({ data }) => (data?.values ?? []).map(cloudPull))
      },
      close: async (number) => cloudPull((await POST(paths.decline, one(number))).data),
      merge: async (number) => cloudPull((await POST(paths.merge, one(number))).data),
    }
  },
  'bitbucket-server': async () => {
    const { GET, POST } = createBitbucketServerClient({ baseUrl: `${forge.origin}/rest`, headers: bearer })
    const place = { projectKey: 'acme', repositorySlug: 'deploy' }
    const paths = {
      all: '/api/latest/projects/{projectKey}/repos/{repositorySlug}/pull-requests',
      one: '/api/latest/projects/{projectKey}/repos/{repositorySlug}/pull-requests/{pullRequestId}',
      decline: '/api/latest/projects/{projectKey}/repos/{repositorySlug}/pull-requests/{pullRequestId}/decline',
      merge: '/api/latest/projects/{projectKey}/repos/{repositorySlug}/pull-requests/{pullRequestId}/merge',
    } as const
    const at = async (number: number) => {
      const path = { ...place, pullRequestId: String(number) }
      const { data } = await GET(paths.one, { params: { path } })
      return { path, query: { version: String(data?.version) } }
    }
    return {
      create: async (head) => {
        const body = { title: 't', fromRef: { id: `refs/heads/${head}` }, toRef: { id: 'refs/heads/main' } }
        return serverPull((await POST(paths.all, { params: { path: place }, body: body as never })).data)
      },
      list: async () => {
        const { data } = await GET(paths.all, { params: { path: place, query: { state: 'ALL', limit: 100 } } })
        return (data?.values ?? []).map(serverPull)
      },
      close: async (number) => serverPull((await POST(paths.decline, { params: await at(number) })).data),
      merge: async (number) => serverPull((await POST(paths.merge, { params: await at(number) })).data),
    }
  },
}

const bearer = { authorization: `Bearer ${forgeToken}` }
const states: Record<string, string> = { OPEN: 'open', MERGED: 'merged', DECLINED: 'closed' }

function cloudPull(pull: unknown): Seen {
  type Side = { branch: { name: string } }
  const { id, state, source, destination } = pull as { id: number; state: string; source: Side; destination: Side }
  return { number: id, state: states[state] ?? '', head: source.branch.name, base: destination.branch.name }
}

function serverPull(pull: unknown): Seen {
  type Side = { displayId: string }
  const { id, state, fromRef, toRef } = pull as { id: number; state: string; fromRef: Side; toRef: Side }
  return { number: id, state: states[state] ?? '', head: fromRef.displayId, base: toRef.displayId }
}

describe.each(Object.keys(oracles) as ForgeType[])('the stand-in speaking %s', (type) => {
  it('is understood by a client that others wrote, and both clients see the same', async () => {
    const oracle = await oracles[type]!()
    const address = repositoryAddress(type, forge.url(type, 'deploy'))
    const ours = openForge(type, address, { http, token: forgeToken, ca: forge.ca })
    const [first, second, third] = [await branch(), await branch(), await branch()]
    const opened = await oracle.create(first)
    expect(opened).toMatchObject({ state: 'open', head: first, base: 'main' })
    const mine = await ours.create({ head: second, base: 'main', title: 'mine', body: 'text', labels: [] })
    const closed = await oracle.create(third)
    expect(await oracle.merge(mine.number)).toMatchObject({ state: 'merged', head: second })
    expect(await oracle.close(closed.number)).toMatchObject({ state: 'closed', head: third })
    for (const seen of await oracle.list()) {
      const pull = await ours.get(seen.number)
      expect({ number: pull.number, state: pull.state, head: pull.head, base: pull.base }).toEqual(seen)
    }
    expect(await ours.merge(opened.number, '0'.repeat(40))).toBe(false)
    expect(await ours.merge(opened.number, (await repository.tip(first)) ?? '')).toBe(true)
    expect((await oracle.list()).find(({ number }) => number === opened.number)?.state).toBe('merged')
  })
})

it('the official client of GitHub sees the same statuses and check runs, on all pages', async () => {
  const sha = 'd'.repeat(40)
  const states = ['success', 'failure', 'pending'] as const
  forge.pulls.checks.set(
    sha,
    Array.from({ length: 9 }, (_, index) => ({ name: `check ${index}`, state: states[index % 3]! })),
  )
  forge.pageSize = 2
  const octokit = new Octokit({ auth: forgeToken, baseUrl: `${forge.origin}/api/v3` })
  const place = { owner: 'acme', repo: 'deploy', ref: sha, per_page: 2 }
  const runs = await octokit.paginate(octokit.rest.checks.listForRef, place)
  const statuses = await octokit.paginate(
    octokit.rest.repos.getCombinedStatusForRef,
    place,
    ({ data }) => (data as unknown as { statuses: { context: string; state: string }[] }).statuses,
  )
  const address = repositoryAddress('github', forge.url('github', 'deploy'))
  const ours = await openForge('github', address, { http, token: forgeToken, ca: forge.ca }).checks(sha)
  forge.pageSize = 100
  const theirs = [
    ...statuses.map(({ context, state }) => `${context} ${state}`),
    ...runs.map(({ name, status, conclusion }) => `${name} ${status === 'completed' ? conclusion : 'pending'}`),
  ]
  expect(ours.map(({ name, state }) => `${name} ${state}`).toSorted()).toEqual(theirs.toSorted())
  expect(ours).toHaveLength(9)
})

it('the stand-in speaking Azure DevOps is understood by the official client', async () => {
  const routed = await azure()
  const address = repositoryAddress('azure-devops', forge.url('azure-devops', 'deploy'))
  const ours = openForge('azure-devops', address, { http, token: forgeToken, ca: forge.ca })
  const mine = await ours.create({
    head: await branch(),
    base: 'main',
    title: 'mine',
    body: 'text',
    labels: ['promotion'],
  })
  const pulls = (await routed('GET', '?searchCriteria.status=all')) as {
    value: { pullRequestId: number; status: string }[]
  }
  expect(pulls.value.find(({ pullRequestId }) => pullRequestId === mine.number)?.status).toBe('active')
  await ours.close(mine.number)
  const closed = (await routed('GET', `/${mine.number}`)) as { status: keyof typeof PullRequestStatus }
  expect(PullRequestStatus[upper(closed.status)]).toBe(PullRequestStatus.Abandoned)
})

function upper(status: string): 'Abandoned' {
  return (status[0]!.toUpperCase() + status.slice(1)) as 'Abandoned'
}

/** The SDK finds its routes by asking the server for them; its own REST client then carries the request. */
async function azure(): Promise<(method: string, path: string) => Promise<unknown>> {
  const api = new WebApi(`${forge.origin}/acme`, getPersonalAccessTokenHandler(forgeToken), { ignoreSslError: true })
  const base = `${forge.origin}/acme/project/_apis/git/repositories/deploy/pullrequests`
  return async (_method, path) => (await api.rest.get(`${base}${path}`)).result
}

it('refuses a client it does not know', async () => {
  const status = await new Promise((resolve, reject) => {
    httpsRequest(`${forge.origin}/api/v3/repos/acme/deploy/pulls`, { ca: forge.ca }, (response) =>
      resolve(response.statusCode),
    )
      .on('error', reject)
      .end()
  })
  expect(status).toBe(401)
})
