import type { Forge, PullRequest } from './forge.ts'
import { nextLink, query, type ForgeApi } from './forge-api.ts'
import type { RepositoryAddress } from './repository-address.ts'

interface GitlabMergeRequest {
  readonly iid: number
  readonly web_url: string
  readonly state: 'opened' | 'closed' | 'locked' | 'merged'
  readonly source_branch: string
  readonly target_branch: string
  readonly sha?: string | null
  readonly merge_commit_sha?: string | null
  readonly squash_commit_sha?: string | null
  readonly description?: string | null
}

/** GitLab.com and self-managed GitLab; groups may be nested. */
export function gitlab(api: ForgeApi, { owner, name }: RepositoryAddress): Forge {
  const requests = `/projects/${encodeURIComponent(`${owner}/${name}`)}/merge_requests`
  return {
    async list({ head, base }) {
      const path = query(requests, { state: 'all', source_branch: head, target_branch: base, per_page: 100 })
      const found = await api.getAll<GitlabMergeRequest>(path, (items, response) => ({
        items,
        next: nextLink(response),
      }))
      return found.map(toPullRequest).filter((request) => request.head === head && request.base === base)
    },
    get: async (number) => toPullRequest(await api.get<GitlabMergeRequest>(`${requests}/${number}`)),
    async create({ head, base, title, body, labels }) {
      const request = {
        source_branch: head,
        target_branch: base,
        title,
        description: body,
        ...(labels.length > 0 ? { labels: labels.join(',') } : {}),
      }
      return toPullRequest(await api.send<GitlabMergeRequest>('POST', requests, request))
    },
    update: (number, { title, body }) => api.send('PUT', `${requests}/${number}`, { title, description: body }),
    comment: (number, body) => api.send('POST', `${requests}/${number}/notes`, { body }),
    close: (number) => api.send('PUT', `${requests}/${number}`, { state_event: 'close' }),
    merge: (number, sha) => api.attempt('PUT', `${requests}/${number}/merge`, { sha }, [405, 406, 409, 422]),
  }
}

function toPullRequest(request: GitlabMergeRequest): PullRequest {
  const { state } = request
  return {
    number: request.iid,
    url: request.web_url,
    // `locked` means that a merge is in progress.
    state: state === 'merged' ? 'merged' : state === 'closed' ? 'closed' : 'open',
    head: request.source_branch,
    base: request.target_branch,
    headSHA: request.sha ?? undefined,
    mergeSHA: request.merge_commit_sha ?? request.squash_commit_sha ?? undefined,
    body: request.description ?? '',
  }
}
