import { checkedPull, checkState, type Forge, type PullRequest } from './forge.ts'
import { nextLink, pagesOf, query, type ForgeApi } from './forge-api.ts'
import type { RepositoryAddress } from './repository-address.ts'

interface GithubPull {
  readonly number: number
  readonly html_url: string
  readonly state: 'open' | 'closed'
  readonly merged?: boolean
  readonly merged_at?: string | null
  readonly merge_commit_sha?: string | null
  readonly head: { readonly ref: string; readonly sha?: string }
  readonly base: { readonly ref: string }
  readonly body?: string | null
  readonly mergeable?: boolean | null
  readonly created_at?: string
  readonly closed_at?: string | null
  readonly labels?: readonly { readonly name: string }[] | null
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
export function github(api: ForgeApi, address: RepositoryAddress): Forge {
  const pulls = githubPulls(api, address, { per_page: 100 })
  const { repository } = pulls
  return {
    ...pulls,
    async list({ head, base }) {
      const found = await pulls.find({ state: 'all', head: `${address.owner}:${head}`, base })
      return found.filter((pull) => pull.head === head && pull.base === base)
    },
    async create({ labels, ...request }) {
      const pull = await pulls.open(request)
      if (labels.length > 0) await api.send('POST', `${repository}/issues/${pull.number}/labels`, { labels })
      return pull
    },
    async removeLabel(number, label) {
      const path = `${repository}/issues/${number}/labels/${encodeURIComponent(label)}`
      await api.attempt('DELETE', path, undefined, [404])
    },
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

/** What GitHub and Gitea have in common. `paging` asks for the first page of a list. */
export function githubPulls(
  api: ForgeApi,
  { owner, name }: RepositoryAddress,
  paging: Readonly<Record<string, number>>,
) {
  const repository = `/repos/${encodeURIComponent(owner)}/${encodeURIComponent(name)}`
  const issues = `${repository}/issues`
  const all = pagesOf(api)
  const find = (filter: Readonly<Record<string, string>>) =>
    all(query(`${repository}/pulls`, { ...filter, ...paging }), toPullRequest)
  return {
    repository,
    find,
    openPulls: () => find({ state: 'open' }),
    get: async (number) => toPullRequest(await api.get<GithubPull>(`${repository}/pulls/${number}`)),
    open: async (request: object) => toPullRequest(await api.send<GithubPull>('POST', `${repository}/pulls`, request)),
    update: (number, change) => api.send('PATCH', `${repository}/pulls/${number}`, change),
    comment: async (number, body) =>
      (await api.send<GithubComment>('POST', `${issues}/${number}/comments`, { body })).id.toFixed(),
    comments: (number) =>
      all(query(`${issues}/${number}/comments`, paging), ({ id, body = '' }: GithubComment) => ({
        id: id.toFixed(),
        text: body,
      })),
    editComment: (_, id, body) => api.send('PATCH', `${issues}/comments/${id}`, { body }),
    setStatus: ({ headSHA = '' }, { name: context, state, description, url }) =>
      api.send('POST', `${repository}/statuses/${headSHA}`, { context, state, description, target_url: url }),
    close: (number) => api.send('PATCH', `${repository}/pulls/${number}`, { state: 'closed' }),
  } satisfies Partial<Forge> & Record<string, unknown>
}

function toPullRequest(pull: GithubPull): PullRequest {
  const { merged = Boolean(pull.merged_at) } = pull
  return checkedPull({
    number: pull.number,
    url: pull.html_url,
    state: merged ? 'merged' : pull.state,
    head: pull.head.ref,
    base: pull.base.ref,
    headSHA: pull.head.sha,
    // Before the merge this is GitHub's test merge commit.
    mergeSHA: merged ? (pull.merge_commit_sha ?? undefined) : undefined,
    body: pull.body ?? '',
    createdAt: pull.created_at,
    closedAt: pull.merged_at ?? pull.closed_at ?? undefined,
    labels: (pull.labels ?? []).map(({ name }) => name),
    isConflicting: pull.mergeable === undefined || pull.mergeable === null ? undefined : !pull.mergeable,
  })
}
