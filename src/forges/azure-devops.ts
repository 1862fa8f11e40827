import { branchOf } from './bitbucket-server.ts'
import { checkedPull, checkState, type CommitCheck, type Forge, type PullRequest } from './forge.ts'
import { query, type ForgeApi } from './forge-api.ts'
import type { RepositoryAddress } from './repository-address.ts'

interface AzurePull {
  readonly pullRequestId: number
  readonly status: 'active' | 'abandoned' | 'completed'
  readonly sourceRefName: string
  readonly targetRefName: string
  readonly description?: string
  readonly mergeStatus?: string
  readonly lastMergeSourceCommit?: { readonly commitId?: string }
  readonly lastMergeCommit?: { readonly commitId?: string }
  readonly creationDate?: string
  readonly closedDate?: string
  readonly labels?: readonly { readonly name: string }[]
}

interface AzureThread {
  readonly id: number
  readonly comments?: readonly { readonly id: number; readonly content?: string; readonly isDeleted?: boolean }[]
}

interface AzurePage {
  readonly value: readonly AzurePull[]
}

interface AzureStatuses {
  readonly value: readonly {
    readonly state?: string
    readonly context?: { readonly name: string; readonly genre?: string }
  }[]
}

const version = { 'api-version': '7.1' }
const pageSize = 100
const maxDescription = 4000

/** Azure DevOps Services and Server. */
export function azureDevops(api: ForgeApi, { apiURL, project = '', name }: RepositoryAddress): Forge {
  const pulls = `/${encodeURIComponent(project)}/_apis/git/repositories/${encodeURIComponent(name)}/pullrequests`
  const web = `${apiURL}/${encodeURIComponent(project)}/_git/${encodeURIComponent(name)}/pullrequest`
  const to = (pull: AzurePull) => toPullRequest(pull, web)
  const one = (number: number) => query(`${pulls}/${number}`, version)
  const all = (filter: Readonly<Record<string, string>>) => {
    const page = (skip: number) => query(pulls, { ...filter, $top: pageSize, $skip: skip, ...version })
    let seen = 0
    return api.getAll<PullRequest, AzurePage>(page(0), ({ value }) => {
      seen += value.length
      return { items: value.map(to), next: value.length < pageSize ? undefined : page(seen) }
    })
  }
  return {
    async list({ head, base }) {
      const found = await all({
        'searchCriteria.status': 'all',
        'searchCriteria.sourceRefName': `refs/heads/${head}`,
        'searchCriteria.targetRefName': `refs/heads/${base}`,
      })
      return found.filter((pull) => pull.head === head && pull.base === base)
    },
    get: async (number) => to(await api.get<AzurePull>(one(number))),
    openPulls: () => all({ 'searchCriteria.status': 'active' }),
    async create({ head, base, title, body, labels }) {
      const request = {
        sourceRefName: `refs/heads/${head}`,
        targetRefName: `refs/heads/${base}`,
        title,
        description: body.slice(0, maxDescription),
        ...(labels.length > 0 ? { labels: labels.map((label) => ({ name: label })) } : {}),
      }
      return to(await api.send<AzurePull>('POST', query(pulls, version), request))
    },
    update: (number, { title, body }) =>
      api.send('PATCH', one(number), { title, description: body.slice(0, maxDescription) }),
    async comment(number, content) {
      const thread = await api.send<AzureThread>('POST', query(`${pulls}/${number}/threads`, version), {
        comments: [{ parentCommentId: 0, content, commentType: 1 }],
        status: 1,
      })
      return `${thread.id.toFixed()}/${thread.comments?.[0]?.id ?? 1}`
    },
    async comments(number) {
      const path = query(`${pulls}/${number}/threads`, version)
      const { value } = await api.get<{ readonly value: readonly AzureThread[] }>(path)
      return value.flatMap((thread) =>
        (thread.comments ?? [])
          .filter(({ isDeleted }) => !isDeleted)
          .map(({ id, content = '' }) => ({ id: `${thread.id}/${id}`, text: content })),
      )
    },
    editComment(number, id, content) {
      const [thread = '', comment = ''] = id.split('/')
      return api.send('PATCH', query(`${pulls}/${number}/threads/${thread}/comments/${comment}`, version), { content })
    },
    setStatus: ({ number }, { name: context, state, description, url }) =>
      api.send('POST', query(`${pulls}/${number}/statuses`, version), {
        context: { genre: 'sojourn', name: context },
        state: state === 'success' ? 'succeeded' : state === 'failure' ? 'failed' : 'pending',
        description,
        targetUrl: url,
      }),
    removeLabel: async (number, label) =>
      void (await api.attempt(
        'DELETE',
        query(`${pulls}/${number}/labels/${encodeURIComponent(label)}`, version),
        undefined,
        [404],
      )),
    close: (number) => api.send('PATCH', one(number), { status: 'abandoned' }),
    merge: (number, commitId) =>
      api.attempt('PATCH', one(number), { status: 'completed', lastMergeSourceCommit: { commitId } }, [400, 409]),
    checks: (sha) => checksOf(api, `${pulls.replace(/pullrequests$/, 'commits')}/${encodeURIComponent(sha)}/statuses`),
  }
}

async function checksOf(api: ForgeApi, path: string): Promise<readonly CommitCheck[]> {
  const { value } = await api.get<AzureStatuses>(query(path, { latestOnly: 'true', $top: 1000, ...version }))
  return value.map(({ context, state }) => ({
    name: context?.genre ? `${context.genre}/${context.name}` : (context?.name ?? ''),
    state: checkState(state ?? '', { good: ['succeeded', 'notApplicable'], open: ['pending', 'notSet'] }),
  }))
}

const states = { active: 'open', abandoned: 'closed', completed: 'merged' } as const

function toPullRequest(pull: AzurePull, web: string): PullRequest {
  const isMerged = pull.status === 'completed'
  return checkedPull({
    number: pull.pullRequestId,
    url: `${web}/${pull.pullRequestId}`,
    state: states[pull.status],
    head: branchOf(pull.sourceRefName),
    base: branchOf(pull.targetRefName),
    headSHA: pull.lastMergeSourceCommit?.commitId,
    mergeSHA: isMerged ? pull.lastMergeCommit?.commitId : undefined,
    body: pull.description ?? '',
    createdAt: pull.creationDate,
    closedAt: pull.closedDate,
    labels: (pull.labels ?? []).map(({ name }) => name),
    isConflicting: pull.mergeStatus === undefined ? undefined : pull.mergeStatus === 'conflicts',
  })
}
