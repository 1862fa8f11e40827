import { checkedPull, checkState, type Forge, type PullRequest } from './forge.ts'
import { query, type ForgeApi } from './forge-api.ts'
import type { RepositoryAddress } from './repository-address.ts'

interface CloudPull {
  readonly id: number
  readonly state: 'OPEN' | 'MERGED' | 'DECLINED' | 'SUPERSEDED'
  readonly description?: string
  readonly links: { readonly html: { readonly href: string } }
  readonly source: { readonly branch: { readonly name: string }; readonly commit?: { readonly hash: string } | null }
  readonly destination: { readonly branch: { readonly name: string } }
  readonly merge_commit?: { readonly hash: string } | null
  readonly created_on?: string
}

interface CloudComment {
  readonly id: number
  readonly content?: { readonly raw?: string }
  readonly deleted?: boolean
}

interface CloudPage<T> {
  readonly values: readonly T[]
  readonly next?: string
}

/** Bitbucket Cloud. It shortens commit ids to twelve digits. */
export function bitbucketCloud(api: ForgeApi, { owner, name }: RepositoryAddress): Forge {
  const repository = `/repositories/${encodeURIComponent(owner)}/${encodeURIComponent(name)}`
  const pulls = `${repository}/pullrequests`
  const all = <T, R>(path: string, wanted: (item: T) => R) =>
    api.getAll<R, CloudPage<T>>(path, ({ values, next }) => ({ items: values.map(wanted), next }))
  const read = (number: number) => api.get<CloudPull>(`${pulls}/${number}`)
  return {
    async list({ head, base }) {
      const filter = `source.branch.name = ${JSON.stringify(head)} AND destination.branch.name = ${JSON.stringify(base)}`
      const states = ['OPEN', 'MERGED', 'DECLINED', 'SUPERSEDED'].map((state) => `&state=${state}`).join('')
      const path = `${query(pulls, { q: filter, pagelen: 50 })}${states}`
      const found = await all(path, toPullRequest)
      return found.filter((pull) => pull.head === head && pull.base === base)
    },
    get: async (number) => toPullRequest(await read(number)),
    openPulls: () => all(query(pulls, { state: 'OPEN', pagelen: 50 }), toPullRequest),
    async create({ head, base, title, body }) {
      const request = {
        title,
        description: body,
        source: { branch: { name: head } },
        destination: { branch: { name: base } },
      }
      return toPullRequest(await api.send<CloudPull>('POST', pulls, request))
    },
    update: (number, { title, body }) => api.send('PUT', `${pulls}/${number}`, { title, description: body }),
    comment: async (number, raw) =>
      (await api.send<CloudComment>('POST', `${pulls}/${number}/comments`, { content: { raw } })).id.toFixed(),
    comments: async (number) =>
      (await all(query(`${pulls}/${number}/comments`, { pagelen: 100 }), (comment: CloudComment) => comment))
        .filter(({ deleted }) => !deleted)
        .map(({ id, content }) => ({ id: id.toFixed(), text: content?.raw ?? '' })),
    editComment: (number, id, raw) => api.send('PUT', `${pulls}/${number}/comments/${id}`, { content: { raw } }),
    setStatus: ({ headSHA = '' }, { name: key, state, description, url }) =>
      api.send('POST', `${repository}/commit/${headSHA}/statuses/build`, {
        key: key.slice(0, 40),
        name: key,
        state: buildStates[state],
        description,
        url,
      }),
    // Bitbucket has no labels.
    removeLabel: async () => undefined,
    close: (number) => api.send('POST', `${pulls}/${number}/decline`, {}),
    async merge(number, sha) {
      const { source } = await read(number)
      if (!source.commit || !sha.startsWith(source.commit.hash)) return false
      return api.attempt('POST', `${pulls}/${number}/merge`, {}, [400, 409, 555])
    },
    async checks(sha) {
      const path = `${pulls.replace(/pullrequests$/, 'commit')}/${encodeURIComponent(sha)}/statuses`
      return all(query(path, { pagelen: 100 }), ({ key, state }: BuildStatus) => ({
        name: key,
        state: checkState(state, buildWords),
      }))
    },
  }
}

/** The states of a build, on both Bitbuckets. */
export const buildStates = { pending: 'INPROGRESS', success: 'SUCCESSFUL', failure: 'FAILED' } as const
export interface BuildStatus {
  readonly key: string
  readonly state: string
}

/** The words of both Bitbuckets. */
export const buildWords = { good: ['SUCCESSFUL'], open: ['INPROGRESS', 'UNKNOWN'] }

const states = { OPEN: 'open', MERGED: 'merged', DECLINED: 'closed', SUPERSEDED: 'closed' } as const

function toPullRequest(pull: CloudPull): PullRequest {
  return checkedPull({
    number: pull.id,
    url: pull.links.html.href,
    state: states[pull.state],
    head: pull.source.branch.name,
    base: pull.destination.branch.name,
    headSHA: pull.source.commit?.hash,
    mergeSHA: pull.merge_commit?.hash,
    body: pull.description ?? '',
    createdAt: pull.created_on,
    // Bitbucket Cloud does not say when.
    closedAt: undefined,
    labels: [],
  })
}
