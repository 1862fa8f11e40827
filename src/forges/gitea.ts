import { PromotionError } from '../git/promotion-error.ts'
import { checkState, type Forge, type PullRequest } from './forge.ts'
import { nextLink, query, type ForgeApi } from './forge-api.ts'
import type { RepositoryAddress } from './repository-address.ts'

interface GiteaPull {
  readonly number: number
  readonly html_url: string
  readonly state: 'open' | 'closed'
  readonly merged?: boolean
  readonly merge_commit_sha?: string | null
  readonly head: { readonly ref: string; readonly sha?: string }
  readonly base: { readonly ref: string }
  readonly body?: string
  readonly mergeable?: boolean
  readonly created_at?: string
  readonly closed_at?: string | null
  readonly merged_at?: string | null
  readonly labels?: readonly { readonly name: string }[] | null
}

interface GiteaComment {
  readonly id: number
  readonly body?: string
}

interface GiteaStatuses {
  readonly statuses?: readonly { readonly context: string; readonly status: string }[] | null
}

/** Gitea and Forgejo. */
export function gitea(api: ForgeApi, { owner, name }: RepositoryAddress): Forge {
  const repository = `/repos/${encodeURIComponent(owner)}/${encodeURIComponent(name)}`
  const issues = `${repository}/issues`
  const all = <T>(path: string) => api.getAll<T>(path, (items, response) => ({ items, next: nextLink(response) }))
  return {
    async list({ head, base }) {
      // The list has no filter by branch. Looking up the pair first saves reading all pages when there is no match.
      if (!(await exists(api, `${repository}/pulls/${encodeURIComponent(base)}/${encodeURIComponent(head)}`))) return []
      const path = query(`${repository}/pulls`, { state: 'all', limit: 50, page: 1 })
      const pulls = await all<GiteaPull>(path)
      return pulls.map(toPullRequest).filter((pull) => pull.head === head && pull.base === base)
    },
    get: async (number) => toPullRequest(await api.get<GiteaPull>(`${repository}/pulls/${number}`)),
    openPulls: async () =>
      (await all<GiteaPull>(query(`${repository}/pulls`, { state: 'open', limit: 50, page: 1 }))).map(toPullRequest),
    async create({ labels, ...request }) {
      const ids = labels.length > 0 ? await labelIds(api, repository, labels) : []
      return toPullRequest(await api.send<GiteaPull>('POST', `${repository}/pulls`, { ...request, labels: ids }))
    },
    update: (number, change) => api.send('PATCH', `${repository}/pulls/${number}`, change),
    comment: async (number, body) =>
      String((await api.send<GiteaComment>('POST', `${issues}/${number}/comments`, { body })).id),
    comments: async (number) =>
      (await all<GiteaComment>(`${issues}/${number}/comments`)).map(({ id, body = '' }) => ({
        id: String(id),
        text: body,
      })),
    editComment: (_, id, body) => api.send('PATCH', `${issues}/comments/${id}`, { body }),
    setStatus: ({ headSHA = '' }, { name: context, state, description, url }) =>
      api.send('POST', `${repository}/statuses/${headSHA}`, { context, state, description, target_url: url }),
    async removeLabel(number, label) {
      for (const id of await labelIds(api, repository, [label]))
        await api.attempt('DELETE', `${issues}/${number}/labels/${id}`, undefined, [404])
    },
    close: (number) => api.send('PATCH', `${repository}/pulls/${number}`, { state: 'closed' }),
    merge: (number, sha) =>
      api.attempt('POST', `${repository}/pulls/${number}/merge`, { Do: 'merge', head_commit_id: sha }, [405, 409, 423]),
    async checks(sha) {
      // The combined status has the newest of each context, on one page.
      const { statuses } = await api.get<GiteaStatuses>(`${repository}/commits/${encodeURIComponent(sha)}/status`)
      return (statuses ?? []).map(({ context, status }) => ({
        name: context,
        state: checkState(status, { good: ['success', 'skipped'], open: ['pending'] }),
      }))
    },
  }
}

async function exists(api: ForgeApi, path: string): Promise<boolean> {
  try {
    await api.get(path)
    return true
  } catch (error) {
    if (error instanceof PromotionError && error.httpStatus === 404) return false
    throw error
  }
}

/** Gitea takes label ids, not names; unknown names are dropped. */
async function labelIds(api: ForgeApi, repository: string, names: readonly string[]): Promise<number[]> {
  const labels = await api.getAll<{ readonly id: number; readonly name: string }>(
    query(`${repository}/labels`, { limit: 50, page: 1 }),
    (items, response) => ({ items, next: nextLink(response) }),
  )
  return labels.filter((label) => names.includes(label.name)).map(({ id }) => id)
}

function toPullRequest(pull: GiteaPull): PullRequest {
  return {
    number: pull.number,
    url: pull.html_url,
    state: pull.merged ? 'merged' : pull.state,
    head: pull.head.ref,
    base: pull.base.ref,
    headSHA: pull.head.sha,
    mergeSHA: pull.merged ? (pull.merge_commit_sha ?? undefined) : undefined,
    body: pull.body ?? '',
    createdAt: pull.created_at,
    closedAt: pull.merged_at ?? pull.closed_at ?? undefined,
    labels: (pull.labels ?? []).map(({ name }) => name),
    isConflicting: pull.mergeable === undefined ? undefined : !pull.mergeable,
  }
}
