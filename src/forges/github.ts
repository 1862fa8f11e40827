import type { Forge, PullRequest } from './forge.ts'
import { nextLink, query, type ForgeApi } from './forge-api.ts'
import type { RepositoryAddress } from './repository-address.ts'

interface GithubPull {
  readonly number: number
  readonly html_url: string
  readonly state: 'open' | 'closed'
  readonly merged_at?: string | null
  readonly merge_commit_sha?: string | null
  readonly head: { readonly ref: string; readonly sha: string }
  readonly base: { readonly ref: string }
  readonly body?: string | null
}

/** GitHub and GitHub Enterprise. */
export function github(api: ForgeApi, { owner, name }: RepositoryAddress): Forge {
  const repository = `/repos/${encodeURIComponent(owner)}/${encodeURIComponent(name)}`
  return {
    async list({ head, base }) {
      const path = query(`${repository}/pulls`, { state: 'all', head: `${owner}:${head}`, base, per_page: 100 })
      const pulls = await api.getAll<GithubPull>(path, (items, response) => ({ items, next: nextLink(response) }))
      return pulls.map(toPullRequest).filter((pull) => pull.head === head && pull.base === base)
    },
    get: async (number) => toPullRequest(await api.get<GithubPull>(`${repository}/pulls/${number}`)),
    async create({ labels, ...request }) {
      const pull = await api.send<GithubPull>('POST', `${repository}/pulls`, request)
      if (labels.length > 0) await api.send('POST', `${repository}/issues/${pull.number}/labels`, { labels })
      return toPullRequest(pull)
    },
    update: (number, change) => api.send('PATCH', `${repository}/pulls/${number}`, change),
    comment: (number, body) => api.send('POST', `${repository}/issues/${number}/comments`, { body }),
    close: (number) => api.send('PATCH', `${repository}/pulls/${number}`, { state: 'closed' }),
    merge: (number, sha) => api.attempt('PUT', `${repository}/pulls/${number}/merge`, { sha }, [405, 409]),
  }
}

function toPullRequest(pull: GithubPull): PullRequest {
  const isMerged = Boolean(pull.merged_at)
  return {
    number: pull.number,
    url: pull.html_url,
    state: isMerged ? 'merged' : pull.state,
    head: pull.head.ref,
    base: pull.base.ref,
    headSHA: pull.head.sha,
    // Before the merge this is GitHub's test merge commit.
    mergeSHA: isMerged ? (pull.merge_commit_sha ?? undefined) : undefined,
    body: pull.body ?? '',
  }
}
