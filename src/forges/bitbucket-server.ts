import { formatTime } from '../kube/time.ts'
import { buildStates, buildWords, type BuildStatus } from './bitbucket-cloud.ts'
import { checkedPull, checkState, type Forge, type PullRequest } from './forge.ts'
import { query, type ForgeApi } from './forge-api.ts'
import type { RepositoryAddress } from './repository-address.ts'

interface BitbucketPull {
  readonly id: number
  readonly version: number
  readonly state: 'OPEN' | 'DECLINED' | 'MERGED'
  readonly description?: string
  readonly fromRef: { readonly id: string; readonly latestCommit?: string }
  readonly toRef: { readonly id: string }
  readonly links?: { readonly self?: readonly { readonly href: string }[] }
  readonly properties?: { readonly mergeCommit?: { readonly id?: string } }
  readonly createdDate?: number
  readonly closedDate?: number
}

interface BitbucketComment {
  readonly id: number
  readonly version: number
  readonly text?: string
}

interface BitbucketPage<T> {
  readonly values: readonly T[]
  readonly isLastPage: boolean
  readonly nextPageStart?: number | null
}

/** Bitbucket Data Center, formerly Bitbucket Server. */
export function bitbucketServer(api: ForgeApi, { owner, name, apiURL }: RepositoryAddress): Forge {
  const repository = `/projects/${encodeURIComponent(owner)}/repos/${encodeURIComponent(name)}`
  const pulls = `${repository}/pull-requests`
  const place = { slug: name, project: { key: owner } }
  const read = (number: number) => api.get<BitbucketPull>(`${pulls}/${number}`)
  const all = <T, R>(path: string, wanted: (item: T) => R, filter: Readonly<Record<string, string>> = {}) => {
    const page = (start: number) => query(path, { ...filter, limit: 100, start })
    return api.getAll<R, BitbucketPage<T>>(page(0), ({ values, isLastPage, nextPageStart }) => ({
      items: values.map(wanted),
      next: isLastPage || typeof nextPageStart !== 'number' ? undefined : page(nextPageStart),
    }))
  }
  return {
    async list({ head, base }) {
      const filter = { state: 'ALL', direction: 'OUTGOING', at: `refs/heads/${head}` }
      const found = await all(pulls, toPullRequest, filter)
      return found.filter((pull) => pull.head === head && pull.base === base)
    },
    openPulls: () => all(pulls, toPullRequest, { state: 'OPEN' }),
    async get(number) {
      const pull = toPullRequest(await read(number))
      if (pull.state !== 'open') return pull
      const { conflicted } = await api.get<{ readonly conflicted?: boolean }>(`${pulls}/${number}/merge`)
      return { ...pull, isConflicting: conflicted }
    },
    async create({ head, base, title, body }) {
      const request = {
        title,
        description: body,
        fromRef: { id: `refs/heads/${head}`, repository: place },
        toRef: { id: `refs/heads/${base}`, repository: place },
      }
      return toPullRequest(await api.send<BitbucketPull>('POST', pulls, request))
    },
    async update(number, { title, body }) {
      const { version } = await read(number)
      await api.send('PUT', `${pulls}/${number}`, { version, title, description: body })
    },
    comment: async (number, text) =>
      (await api.send<BitbucketComment>('POST', `${pulls}/${number}/comments`, { text })).id.toFixed(),
    // Comments on the whole pull request are listed among its activities only.
    comments: async (number) =>
      (
        await all(`${pulls}/${number}/activities`, (one: { readonly comment?: BitbucketComment }) => one.comment)
      ).flatMap((comment) => (comment ? [{ id: comment.id.toFixed(), text: comment.text ?? '' }] : [])),
    async editComment(number, id, text) {
      const path = `${pulls}/${number}/comments/${id}`
      const { version } = await api.get<BitbucketComment>(path)
      await api.send('PUT', path, { version, text })
    },
    setStatus: ({ headSHA = '' }, { name: key, state, description, url }) =>
      api.send('POST', `${repository}/commits/${headSHA}/builds`, {
        key,
        name: key,
        state: buildStates[state],
        description,
        url,
      }),
    // Bitbucket has no labels.
    removeLabel: async () => undefined,
    async close(number) {
      const { version } = await read(number)
      await api.send('POST', query(`${pulls}/${number}/decline`, { version }), {})
    },
    async merge(number, sha) {
      const { version, fromRef } = await read(number)
      // Every push changes the version, so the forge refuses the merge if the branch has changed since this read.
      if (fromRef.latestCommit !== sha) return false
      return api.attempt('POST', query(`${pulls}/${number}/merge`, { version }), {}, [409])
    },
    async checks(sha) {
      const builds = `${apiURL.replace(/\/rest\/api\/[^/]+$/, '/rest/build-status/1.0')}/commits/${encodeURIComponent(sha)}`
      return all(builds, ({ key, state }: BuildStatus) => ({ name: key, state: checkState(state, buildWords) }))
    },
  }
}

const states = { OPEN: 'open', DECLINED: 'closed', MERGED: 'merged' } as const

function toPullRequest(pull: BitbucketPull): PullRequest {
  return checkedPull({
    number: pull.id,
    url: pull.links?.self?.[0]?.href ?? '',
    state: states[pull.state],
    head: branchOf(pull.fromRef.id),
    base: branchOf(pull.toRef.id),
    headSHA: pull.fromRef.latestCommit,
    mergeSHA: pull.properties?.mergeCommit?.id,
    body: pull.description ?? '',
    createdAt: pull.createdDate === undefined ? undefined : formatTime(pull.createdDate),
    closedAt: pull.closedDate === undefined ? undefined : formatTime(pull.closedDate),
    labels: [],
  })
}

/** The branch of a ref. */
export function branchOf(ref: string): string {
  return ref.replace(/^refs\/heads\//, '')
}
