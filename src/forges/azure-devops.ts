import type { Forge, PullRequest } from './forge.ts'
import { query, type ForgeApi } from './forge-api.ts'
import type { RepositoryAddress } from './repository-address.ts'

interface AzurePull {
  readonly pullRequestId: number
  readonly status: 'active' | 'abandoned' | 'completed'
  readonly sourceRefName: string
  readonly targetRefName: string
  readonly description?: string
  readonly lastMergeSourceCommit?: { readonly commitId?: string }
  readonly lastMergeCommit?: { readonly commitId?: string }
}

interface AzurePage {
  readonly value: readonly AzurePull[]
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
  return {
    async list({ head, base }) {
      const page = (skip: number) =>
        query(pulls, {
          'searchCriteria.status': 'all',
          'searchCriteria.sourceRefName': `refs/heads/${head}`,
          'searchCriteria.targetRefName': `refs/heads/${base}`,
          $top: pageSize,
          $skip: skip,
          ...version,
        })
      let seen = 0
      const found = await api.getAll<AzurePull, AzurePage>(page(0), ({ value }) => {
        seen += value.length
        return { items: value, next: value.length < pageSize ? undefined : page(seen) }
      })
      return found.map(to).filter((pull) => pull.head === head && pull.base === base)
    },
    get: async (number) => to(await api.get<AzurePull>(one(number))),
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
    comment: (number, content) =>
      api.send('POST', query(`${pulls}/${number}/threads`, version), {
        comments: [{ parentCommentId: 0, content, commentType: 1 }],
        status: 1,
      }),
    close: (number) => api.send('PATCH', one(number), { status: 'abandoned' }),
    merge: (number, commitId) =>
      api.attempt('PATCH', one(number), { status: 'completed', lastMergeSourceCommit: { commitId } }, [400, 409]),
  }
}

const states = { active: 'open', abandoned: 'closed', completed: 'merged' } as const

function toPullRequest(pull: AzurePull, web: string): PullRequest {
  const isMerged = pull.status === 'completed'
  return {
    number: pull.pullRequestId,
    url: `${web}/${pull.pullRequestId}`,
    state: states[pull.status],
    head: branchOf(pull.sourceRefName),
    base: branchOf(pull.targetRefName),
    headSHA: pull.lastMergeSourceCommit?.commitId,
    mergeSHA: isMerged ? pull.lastMergeCommit?.commitId : undefined,
    body: pull.description ?? '',
  }
}

function branchOf(ref: string): string {
  return ref.replace(/^refs\/heads\//, '')
}
