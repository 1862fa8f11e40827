import { checkedPull, checkState, type Forge, type PullRequest } from './forge.ts'
import { pagesOf, query, type ForgeApi } from './forge-api.ts'
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
  readonly has_conflicts?: boolean
  readonly created_at?: string
  readonly closed_at?: string | null
  readonly merged_at?: string | null
  readonly labels?: readonly string[]
}

interface GitlabNote {
  readonly id: number
  readonly body?: string
}

/** GitLab.com and self-managed GitLab; groups may be nested. */
export function gitlab(api: ForgeApi, { owner, name }: RepositoryAddress): Forge {
  const project = `/projects/${encodeURIComponent(`${owner}/${name}`)}`
  const requests = `${project}/merge_requests`
  const all = pagesOf(api)
  return {
    async list({ head, base }) {
      const path = query(requests, { state: 'all', source_branch: head, target_branch: base, per_page: 100 })
      const found = await all(path, toPullRequest)
      return found.filter((request) => request.head === head && request.base === base)
    },
    get: async (number) => toPullRequest(await api.get<GitlabMergeRequest>(`${requests}/${number}`)),
    openPulls: () => all(query(requests, { state: 'opened', per_page: 100 }), toPullRequest),
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
    comment: async (number, body) =>
      (await api.send<GitlabNote>('POST', `${requests}/${number}/notes`, { body })).id.toFixed(),
    comments: (number) =>
      all(query(`${requests}/${number}/notes`, { per_page: 100 }), ({ id, body = '' }: GitlabNote) => ({
        id: id.toFixed(),
        text: body,
      })),
    editComment: (number, id, body) => api.send('PUT', `${requests}/${number}/notes/${id}`, { body }),
    async setStatus({ headSHA = '' }, { name: context, state, description, url }) {
      const status = { name: context, state: state === 'failure' ? 'failed' : state, description, target_url: url }
      // GitLab answers 400 to a status that is set already.
      await api.attempt('POST', `${project}/statuses/${headSHA}`, status, [400])
    },
    removeLabel: (number, label) => api.send('PUT', `${requests}/${number}`, { remove_labels: label }),
    close: (number) => api.send('PUT', `${requests}/${number}`, { state_event: 'close' }),
    merge: (number, sha) => api.attempt('PUT', `${requests}/${number}/merge`, { sha }, [405, 406, 409, 422]),
    checks(sha) {
      const path = query(`${project}/repository/commits/${encodeURIComponent(sha)}/statuses`, { per_page: 100 })
      return all(path, ({ name: check, status }: { readonly name: string; readonly status: string }) => ({
        name: check,
        state: checkState(status, checkWords),
      }))
    },
  }
}

const checkWords = {
  good: ['success', 'skipped'],
  open: ['created', 'waiting_for_resource', 'preparing', 'pending', 'running', 'scheduled', 'manual'],
}

function toPullRequest(request: GitlabMergeRequest): PullRequest {
  const { state } = request
  return checkedPull({
    number: request.iid,
    url: request.web_url,
    // `locked` means that a merge is in progress.
    state: state === 'merged' ? 'merged' : state === 'closed' ? 'closed' : 'open',
    head: request.source_branch,
    base: request.target_branch,
    headSHA: request.sha ?? undefined,
    mergeSHA: request.merge_commit_sha ?? request.squash_commit_sha ?? undefined,
    body: request.description ?? '',
    createdAt: request.created_at,
    closedAt: request.merged_at ?? request.closed_at ?? undefined,
    labels: request.labels ?? [],
    isConflicting: request.has_conflicts,
  })
}
