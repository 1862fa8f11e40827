import { PromotionError } from '../git/promotion-error.ts'
import { checkState, type Forge } from './forge.ts'
import { pagesOf, query, type ForgeApi } from './forge-api.ts'
import { githubPulls } from './github.ts'
import type { RepositoryAddress } from './repository-address.ts'

interface GiteaStatuses {
  readonly statuses?: readonly { readonly context: string; readonly status: string }[] | null
}

/** Gitea and Forgejo: GitHub's API for most of what concerns pull requests. */
export function gitea(api: ForgeApi, address: RepositoryAddress): Forge {
  const pulls = githubPulls(api, address, { limit: 50, page: 1 })
  const { repository } = pulls
  return {
    ...pulls,
    async list({ head, base }) {
      // The list has no filter by branch. Looking up the pair first saves reading all pages when there is no match.
      if (!(await exists(api, `${repository}/pulls/${encodeURIComponent(base)}/${encodeURIComponent(head)}`))) return []
      return (await pulls.find({ state: 'all' })).filter((pull) => pull.head === head && pull.base === base)
    },
    async create({ labels, ...request }) {
      const ids = labels.length > 0 ? await labelIds(api, repository, labels) : []
      return pulls.open({ ...request, labels: ids })
    },
    async removeLabel(number, label) {
      for (const id of await labelIds(api, repository, [label]))
        await api.attempt('DELETE', `${repository}/issues/${number}/labels/${id}`, undefined, [404])
    },
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
  const path = query(`${repository}/labels`, { limit: 50, page: 1 })
  const labels = await pagesOf(api)(path, (label: { readonly id: number; readonly name: string }) => label)
  return labels.filter((label) => names.includes(label.name)).map(({ id }) => id)
}
