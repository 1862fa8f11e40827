import { checkState, type Forge, type PullRequest } from './forge.ts'
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
  readonly mergeable?: boolean | null
  readonly created_at?: string
  readonly closed_at?: string | null
  readonly labels?: readonly { readonly name: string }[]
}

interface GithubComment {
  readonly id: number
  readonly body?: string
}

interface GithubStatuses {
  readonly statuses: readonly { readonly context: string; readonly state: string }[]
}

interface GithubRun {
  readonly name: string
  readonly conclusion?: string | null
}

/** GitHub and GitHub Enterprise. */
export function github(api: ForgeApi, { owner, name }: RepositoryAddress): Forge {
  const repository = `/repos/${encodeURIComponent(owner)}/${encodeURIComponent(name)}`
  const issues = `${repository}/issues`
  const all = <T>(path: string) => api.getAll<T>(path, (items, response) => ({ items, next: nextLink(response) }))
  return {
    async list({ head, base }) {
      const path = query(`${repository}/pulls`, { state: 'all', head: `${owner}:${head}`, base, per_page: 100 })
      const pulls = await all<GithubPull>(path)
      return pulls.map(toPullRequest).filter((pull) => pull.head === head && pull.base === base)
    },
    get: async (number) => toPullRequest(await api.get<GithubPull>(`${repository}/pulls/${number}`)),
    openPulls: async () =>
      (await all<GithubPull>(query(`${repository}/pulls`, { state: 'open', per_page: 100 }))).map(toPullRequest),
    async create({ labels, ...request }) {
      const pull = await api.send<GithubPull>('POST', `${repository}/pulls`, request)
      if (labels.length > 0) await api.send('POST', `${repository}/issues/${pull.number}/labels`, { labels })
      return toPullRequest(pull)
    },
    update: (number, change) => api.send('PATCH', `${repository}/pulls/${number}`, change),
    comment: async (number, body) =>
      String((await api.send<GithubComment>('POST', `${issues}/${number}/comments`, { body })).id),
    comments: async (number) =>
      (await all<GithubComment>(query(`${issues}/${number}/comments`, { per_page: 100 }))).map(({ id, body = '' }) => ({
        id: String(id),
        text: body,
      })),
    editComment: (_, id, body) => api.send('PATCH', `${issues}/comments/${id}`, { body }),
    setStatus: ({ headSHA = '' }, { name: context, state, description, url }) =>
      api.send('POST', `${repository}/statuses/${headSHA}`, { context, state, description, target_url: url }),
    removeLabel: async (number, label) =>
      void (await api.attempt('DELETE', `${issues}/${number}/labels/${encodeURIComponent(label)}`, undefined, [404])),
    close: (number) => api.send('PATCH', `${repository}/pulls/${number}`, { state: 'closed' }),
    merge: (number, sha) => api.attempt('PUT', `${repository}/pulls/${number}/merge`, { sha }, [405, 409]),
    async checks(sha) {
      const commit = `${repository}/commits/${encodeURIComponent(sha)}`
      const statuses = await api.getAll<{ readonly context: string; readonly state: string }, GithubStatuses>(
        query(`${commit}/status`, { per_page: 100 }),
        (page, response) => ({ items: page.statuses, next: nextLink(response) }),
      )
      const runs = await api.getAll<GithubRun, { readonly check_runs: readonly GithubRun[] }>(
        query(`${commit}/check-runs`, { per_page: 100 }),
        (page, response) => ({ items: page.check_runs, next: nextLink(response) }),
      )
      const words = { good: ['success', 'neutral', 'skipped'], open: ['pending'] }
      return [
        ...statuses.map(({ context: name, state }) => ({ name, state: checkState(state, words) })),
        // A run that has not ended has no conclusion.
        ...runs.map(({ name, conclusion }) => ({ name, state: checkState(conclusion ?? 'pending', words) })),
      ]
    },
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
    createdAt: pull.created_at,
    closedAt: pull.closed_at ?? undefined,
    labels: (pull.labels ?? []).map(({ name }) => name),
    isConflicting: pull.mergeable === undefined || pull.mergeable === null ? undefined : !pull.mergeable,
  }
}
