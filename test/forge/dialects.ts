import { createHash } from 'node:crypto'
import type { RestEndpointMethodTypes } from '@octokit/rest'
import { newestComment, Refused, type Pull, type PullRequests } from './pull-requests.ts'

/** A request to the API, its path still without what the dialect begins with. */
export interface ForgeCall {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly body: Record<string, unknown>
  readonly origin: string
  readonly pulls: PullRequests
  /** Never more than this on a page. */
  readonly pageSize: number
  readonly url: URL
}

export interface ForgeAnswer {
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly body: unknown
}

export interface Dialect {
  readonly matches: RegExp
  readonly credential: (headers: Record<string, string | string[] | undefined>) => string | undefined
  readonly answer: (call: ForgeCall) => Promise<ForgeAnswer>
  readonly refusal: (error: Refused) => unknown
}

const text = (value: unknown) => (typeof value === 'string' ? value : '')
const header = (value: string | string[] | undefined) => (Array.isArray(value) ? value[0] : value)
const after = (prefix: string) => (headers: Record<string, string | string[] | undefined>) => {
  const value = header(headers['authorization'])
  return value?.startsWith(prefix) ? value.slice(prefix.length) : undefined
}
const notFound = () => new Refused(404, 'Not Found')

/** One page of a list and the Link header that leads on. */
function linked(call: ForgeCall, items: readonly unknown[], sizeName: string): ForgeAnswer {
  const size = Math.min(Number(call.query.get(sizeName) ?? 30), call.pageSize)
  const page = Number(call.query.get('page') ?? 1)
  const next = new URL(call.url)
  next.searchParams.set('page', String(page + 1))
  const hasNext = page * size < items.length
  return {
    body: items.slice((page - 1) * size, page * size),
    headers: hasNext ? { link: `<${next.href}>; rel="next"` } : {},
  }
}

/** The builds of a commit in the words of both Bitbuckets. */
function builds(call: ForgeCall, sha: string) {
  const words = { success: 'SUCCESSFUL', failure: 'FAILED', pending: 'INPROGRESS' }
  return (call.pulls.checks.get(sha) ?? []).map(({ name, state }) => ({ key: name, state: words[state] }))
}

function segments(path: string): string[] {
  return path.split('/').slice(1).map(decodeURIComponent)
}

/** A status, as the forges that take one at the commit's path get it. */
function keepStatus(call: ForgeCall, sha = '', name: string): ForgeAnswer {
  const { state, description } = call.body
  call.pulls.statuses.push({ sha, name: text(call.body[name]), state: text(state), description: text(description) })
  return { status: 201, body: { id: call.pulls.statuses.length } }
}

function editComment(call: ForgeCall, id: number): ForgeAnswer {
  call.pulls.editComment(id, text(call.body['body']))
  return { body: { id, body: call.body['body'] } }
}

/** As GitHub publishes them. */
type Published = RestEndpointMethodTypes
type CheckRun = Published['checks']['listForRef']['response']['data']['check_runs'][number]
type CommitStatus = Published['repos']['getCombinedStatusForRef']['response']['data']['statuses'][number]

const github: Dialect = {
  matches: /^\/api\/v3(?=\/)/,
  credential: (headers) => after('Bearer ')(headers) ?? after('token ')(headers),
  refusal: ({ message, status }) => ({
    message: status === 409 ? 'Validation Failed' : message,
    errors: [{ message }],
    documentation_url: '',
  }),
  async answer(call) {
    const [, owner = '', repository = '', kind, id, tail] = segments(call.path)
    const number = Number(id)
    if (kind === 'statuses') return keepStatus(call, id, 'context')
    if (kind === 'issues' && id === 'comments') return editComment(call, Number(tail))
    if (kind === 'issues') {
      const pull = await call.pulls.get(repository, number)
      if (call.method === 'DELETE') {
        pull.labels.splice(pull.labels.indexOf(segments(call.path)[6] ?? ''), 1)
        return { body: [] }
      }
      if (call.method === 'GET') return { body: call.pulls.commentsOf(pull) }
      if (tail === 'comments') pull.comments.push(text(call.body['body']))
      else if (tail === 'labels') pull.labels.push(...(call.body['labels'] as string[]))
      return {
        status: 201,
        body:
          tail === 'labels'
            ? pull.labels.map((name) => ({ name }))
            : { id: newestComment(pull), body: call.body['body'] },
      }
    }
    if (kind === 'commits') {
      // Half of them as statuses, half as check runs: users have both.
      const checks = call.pulls.checks.get(id ?? '') ?? []
      const [statuses, runs] = [0, 1].map((half) => checks.filter((_, index) => index % 2 === half))
      if (tail === 'status') {
        const seen = statuses!.map(({ name, state }) => ({ context: name, state }) satisfies Partial<CommitStatus>)
        const page = linked(call, seen, 'per_page')
        return { ...page, body: { url: call.url.href, sha: id, total_count: seen.length, statuses: page.body } }
      }
      const seen = runs!.map(({ name, state }, index) => {
        const isOver = state !== 'pending'
        const status = isOver ? 'completed' : 'in_progress'
        return { id: index, name, status, conclusion: isOver ? state : null } satisfies Partial<CheckRun>
      })
      const page = linked(call, seen, 'per_page')
      return { ...page, body: { total_count: seen.length, check_runs: page.body } }
    }
    if (kind !== 'pulls') throw notFound()
    const show = (pull: Pull) => ({
      mergeable: !pull.isConflicting,
      id: pull.number,
      number: pull.number,
      html_url: `${call.origin}/${owner}/${repository}/pull/${pull.number}`,
      state: pull.state === 'open' ? 'open' : 'closed',
      title: pull.title,
      body: pull.body,
      merged: pull.state === 'merged',
      merged_at: pull.state === 'merged' ? '2026-01-01T00:00:00Z' : null,
      closed_at: pull.closedAt ?? null,
      // GitHub shows a trial merge here while it is open.
      merge_commit_sha: pull.mergeSHA ?? '0123456789abcdef0123456789abcdef01234567',
      labels: pull.labels.map((name) => ({ name })),
      head: { ref: pull.head, sha: pull.headSHA, label: `${owner}:${pull.head}` },
      base: { ref: pull.base, label: `${owner}:${pull.base}` },
    })
    if (call.method === 'GET' && !id) {
      const state = call.query.get('state') ?? 'open'
      const head = call.query.get('head')?.split(':')[1]
      const base = call.query.get('base')
      const found = await call.pulls.list(
        repository,
        (pull) =>
          (state === 'all' || (state === 'open') === (pull.state === 'open')) &&
          (!head || pull.head === head) &&
          (!base || pull.base === base),
      )
      return linked(call, found.map(show), 'per_page')
    }
    if (call.method === 'POST' && !id) {
      const { title, head, base, body } = call.body
      const pull = await call.pulls
        .create({
          repository,
          head: text(head).replace(/^.*:/, ''),
          base: text(base),
          title: text(title),
          body: text(body),
        })
        .catch((error: unknown) => {
          throw error instanceof Refused && error.status === 409 ? new Refused(422, error.message) : error
        })
      return { status: 201, body: show(pull) }
    }
    const pull = await call.pulls.get(repository, number)
    if (call.method === 'GET') {
      const body = show(pull)
      return { body, headers: { etag: `"${createHash('sha256').update(JSON.stringify(body)).digest('hex')}"` } }
    }
    if (call.method === 'PUT' && tail === 'merge') {
      const sha = await call.pulls.merge(pull, text(call.body['sha']) || undefined)
      return { body: { sha, merged: true, message: 'merged' } }
    }
    if (call.method === 'PATCH') {
      if (call.body['state'] === 'closed') call.pulls.close(pull)
      if (call.body['title']) pull.title = text(call.body['title'])
      if (call.body['body']) pull.body = text(call.body['body'])
      return { body: show(pull) }
    }
    throw notFound()
  },
}

const gitlab: Dialect = {
  matches: /^\/api\/v4(?=\/)/,
  credential: (headers) => header(headers['private-token']) ?? after('Bearer ')(headers),
  refusal: ({ message }) => ({ message: [message] }),
  async answer(call) {
    const [, project = '', kind, id, tail] = segments(call.path)
    if (kind === 'statuses') return keepStatus(call, id, 'name')
    if (kind === 'repository')
      return {
        body: (call.pulls.checks.get(tail ?? '') ?? []).map(({ name, state }) => ({
          name,
          status: state === 'failure' ? 'failed' : state,
        })),
      }
    if (kind !== 'merge_requests') throw notFound()
    const repository = project.split('/').at(-1) ?? ''
    const show = (pull: Pull) => ({
      id: 1000 + pull.number,
      iid: pull.number,
      web_url: `${call.origin}/${project}/-/merge_requests/${pull.number}`,
      state: pull.state === 'open' ? 'opened' : pull.state,
      title: pull.title,
      description: pull.body,
      source_branch: pull.head,
      target_branch: pull.base,
      sha: pull.headSHA,
      merge_commit_sha: pull.mergeSHA ?? null,
      squash_commit_sha: null,
      closed_at: pull.closedAt ?? null,
      has_conflicts: pull.isConflicting,
      labels: pull.labels,
    })
    if (call.method === 'GET' && !id) {
      const [state, source, target] = ['state', 'source_branch', 'target_branch'].map((name) => call.query.get(name))
      const found = await call.pulls.list(
        repository,
        (pull) =>
          (!state || state === 'all' || show(pull).state === state) &&
          (!source || pull.head === source) &&
          (!target || pull.base === target),
      )
      return linked(call, found.map(show), 'per_page')
    }
    if (call.method === 'POST' && !id) {
      const { source_branch, target_branch, title, description, labels } = call.body
      const pull = await call.pulls.create({
        repository,
        head: text(source_branch),
        base: text(target_branch),
        title: text(title),
        body: text(description),
        labels: Array.isArray(labels) ? (labels as string[]) : text(labels).split(',').filter(Boolean),
      })
      return { status: 201, body: show(pull) }
    }
    const pull = await call.pulls.get(repository, Number(id))
    if (call.method === 'GET' && tail === 'notes') return { body: call.pulls.commentsOf(pull) }
    if (call.method === 'PUT' && tail === 'notes') {
      call.pulls.editComment(Number(segments(call.path)[5]), text(call.body['body']))
      return { body: {} }
    }
    if (call.method === 'GET') return { body: show(pull) }
    if (call.method === 'PUT' && call.body['remove_labels'])
      pull.labels.splice(pull.labels.indexOf(text(call.body['remove_labels'])), 1)
    if (call.method === 'POST' && tail === 'notes') {
      pull.comments.push(text(call.body['body']))
      return { status: 201, body: { id: newestComment(pull), body: call.body['body'] } }
    }
    if (call.method === 'PUT' && tail === 'merge') {
      await call.pulls.merge(pull, text(call.body['sha']) || undefined)
      return { body: show(pull) }
    }
    if (call.method === 'PUT') {
      if (call.body['state_event'] === 'close') call.pulls.close(pull)
      if (call.body['title']) pull.title = text(call.body['title'])
      if (call.body['description']) pull.body = text(call.body['description'])
      return { body: show(pull) }
    }
    throw notFound()
  },
}

const gitea: Dialect = {
  matches: /^\/api\/v1(?=\/)/,
  credential: (headers) => after('token ')(headers) ?? after('Bearer ')(headers),
  refusal: ({ message }) => ({ message, url: '' }),
  async answer(call) {
    const [, owner = '', repository = '', kind, id, tail] = segments(call.path)
    const show = (pull: Pull) => ({
      id: pull.number,
      number: pull.number,
      html_url: `${call.origin}/${owner}/${repository}/pulls/${pull.number}`,
      state: pull.state === 'open' ? 'open' : 'closed',
      title: pull.title,
      body: pull.body,
      merged: pull.state === 'merged',
      closed_at: pull.closedAt ?? null,
      merge_commit_sha: pull.mergeSHA ?? null,
      mergeable: !pull.isConflicting && !pull.isDraft,
      labels: pull.labels.map((name) => ({ name })),
      head: { ref: pull.head, sha: pull.headSHA, label: pull.head },
      base: { ref: pull.base, label: pull.base },
    })
    if (kind === 'statuses') return keepStatus(call, id, 'context')
    if (kind === 'issues' && id === 'comments') return editComment(call, Number(tail))
    if (kind === 'labels') return { body: [{ id: 1, name: 'promotion' }] }
    if (kind === 'commits')
      return {
        body: {
          statuses: (call.pulls.checks.get(id ?? '') ?? []).map(({ name, state }) => ({
            context: name,
            status: state,
          })),
        },
      }
    if (kind === 'issues') {
      const pull = await call.pulls.get(repository, Number(id))
      if (call.method === 'DELETE') {
        pull.labels.splice(0)
        return { status: 204, body: undefined }
      }
      if (call.method === 'GET') return { body: call.pulls.commentsOf(pull) }
      pull.comments.push(text(call.body['body']))
      return { status: 201, body: { id: newestComment(pull), body: call.body['body'] } }
    }
    if (kind !== 'pulls') throw notFound()
    if (call.method === 'GET' && id && tail) {
      const [newest] = await call.pulls.list(repository, (pull) => pull.base === id && pull.head === tail)
      if (!newest) throw notFound()
      return { body: show(newest) }
    }
    if (call.method === 'GET' && !id) {
      const state = call.query.get('state') ?? 'open'
      const found = await call.pulls.list(
        repository,
        (pull) => state === 'all' || (state === 'open') === (pull.state === 'open'),
      )
      return linked(call, found.map(show), 'limit')
    }
    if (call.method === 'POST' && !id) {
      const { title, head, base, body } = call.body
      const labels = (call.body['labels'] as number[] | undefined)?.map(() => 'promotion') ?? []
      const pull = await call.pulls.create({
        repository,
        head: text(head),
        base: text(base),
        title: text(title),
        body: text(body),
        labels,
      })
      return { status: 201, body: show(pull) }
    }
    const pull = await call.pulls.get(repository, Number(id))
    if (call.method === 'GET') return { body: show(pull) }
    if (call.method === 'POST' && tail === 'merge') {
      await call.pulls.merge(pull, text(call.body['head_commit_id']) || undefined)
      return { status: 200, body: undefined }
    }
    if (call.method === 'PATCH') {
      if (call.body['state'] === 'closed') call.pulls.close(pull)
      if (call.body['title']) pull.title = text(call.body['title'])
      if (call.body['body']) pull.body = text(call.body['body'])
      return { status: 201, body: show(pull) }
    }
    throw notFound()
  },
}

const bitbucketServer: Dialect = {
  matches: /^\/rest\/(?:api\/(?:1\.0|latest)|build-status\/1\.0)(?=\/)/,
  credential: after('Bearer '),
  refusal: ({ message }) => ({ errors: [{ context: null, message, exceptionName: null }] }),
  async answer(call) {
    const [first, project = '', , repository = '', kind, id, tail] = segments(call.path)
    if (first === 'commits') return { body: { values: builds(call, project), isLastPage: true } }
    if (kind === 'commits') return keepStatus(call, id, 'key')
    if (kind !== 'pull-requests') throw notFound()
    const show = (pull: Pull) => ({
      id: pull.number,
      version: pull.version,
      title: pull.title,
      description: pull.body,
      state: { open: 'OPEN', closed: 'DECLINED', merged: 'MERGED' }[pull.state],
      fromRef: { id: `refs/heads/${pull.head}`, displayId: pull.head, latestCommit: pull.headSHA },
      toRef: { id: `refs/heads/${pull.base}`, displayId: pull.base },
      ...(pull.closedAt ? { closedDate: Date.parse(pull.closedAt) } : {}),
      links: {
        self: [{ href: `${call.origin}/projects/${project}/repos/${repository}/pull-requests/${pull.number}` }],
      },
      ...(pull.mergeSHA ? { properties: { mergeCommit: { id: pull.mergeSHA } } } : {}),
    })
    if (call.method === 'GET' && !id) {
      const [state, at] = ['state', 'at'].map((name) => call.query.get(name))
      const found = await call.pulls.list(
        repository,
        (pull) =>
          (state === 'ALL' || show(pull).state === (state ?? 'OPEN')) && (!at || at === `refs/heads/${pull.head}`),
      )
      const start = Number(call.query.get('start') ?? 0)
      const end = start + Math.min(Number(call.query.get('limit') ?? 25), call.pageSize)
      const isLastPage = end >= found.length
      return {
        body: { values: found.slice(start, end).map(show), start, isLastPage, nextPageStart: isLastPage ? null : end },
      }
    }
    if (call.method === 'POST' && !id) {
      const { title, description, fromRef, toRef } = call.body as Record<string, { id?: string }> & {
        title: string
        description: string
      }
      const branch = (ref: { id?: string } | undefined) => text(ref?.id).replace('refs/heads/', '')
      const pull = await call.pulls.create({
        repository,
        head: branch(fromRef),
        base: branch(toRef),
        title: text(title),
        body: text(description),
      })
      return { status: 201, body: show(pull) }
    }
    const pull = await call.pulls.get(repository, Number(id))
    const commentId = Number(segments(call.path)[7])
    if (tail === 'comments' && commentId) {
      if (call.method === 'PUT') call.pulls.editComment(commentId, text(call.body['text']))
      const found = call.pulls.commentsOf(pull).find(({ id: each }) => each === commentId)
      if (!found) throw notFound()
      return { body: { id: commentId, version: 0, text: found.body } }
    }
    if (tail === 'activities')
      return {
        body: {
          values: call.pulls
            .commentsOf(pull)
            .map(({ id: each, body }) => ({ comment: { id: each, version: 0, text: body } })),
          isLastPage: true,
        },
      }
    if (call.method === 'GET' && tail === 'merge') return { body: { conflicted: pull.isConflicting } }
    if (call.method === 'GET') return { body: show(pull) }
    if (tail === 'comments') {
      pull.comments.push(text(call.body['text']))
      return { status: 201, body: { id: newestComment(pull), text: call.body['text'] } }
    }
    const version = Number(call.query.get('version') ?? call.body['version'])
    if (version !== pull.version) throw new Refused(409, 'the pull request has been updated since')
    if (tail === 'decline') call.pulls.close(pull)
    else if (tail === 'merge') await call.pulls.merge(pull)
    else {
      pull.title = text(call.body['title'])
      pull.body = text(call.body['description'])
      pull.version++
    }
    return { body: show(pull) }
  },
}

const bitbucketCloud: Dialect = {
  matches: /^\/2\.0(?=\/)/,
  credential: after('Bearer '),
  refusal: ({ message }) => ({ type: 'error', error: { message } }),
  async answer(call) {
    const [, owner = '', repository = '', kind, id, tail] = segments(call.path)
    if (kind === 'commit' && call.method === 'POST') return keepStatus(call, id, 'name')
    if (kind === 'commit') return { body: { values: builds(call, id ?? '') } }
    if (kind !== 'pullrequests') throw notFound()
    const show = (pull: Pull) => ({
      type: 'pullrequest',
      id: pull.number,
      title: pull.title,
      description: pull.body,
      state: { open: 'OPEN', closed: 'DECLINED', merged: 'MERGED' }[pull.state],
      links: { html: { href: `${call.origin}/${owner}/${repository}/pull-requests/${pull.number}` } },
      source: { branch: { name: pull.head }, commit: { hash: pull.headSHA.slice(0, 12) } },
      destination: { branch: { name: pull.base } },
      merge_commit: pull.mergeSHA ? { hash: pull.mergeSHA.slice(0, 12) } : null,
    })
    if (call.method === 'GET' && !id) {
      const filter = call.query.get('q') ?? ''
      const part = (name: string) => new RegExp(`${name}\\.branch\\.name = "([^"]*)"`).exec(filter)?.[1]
      const states = call.query.getAll('state')
      const [head, base] = [part('source'), part('destination')]
      const found = await call.pulls.list(
        repository,
        (pull) =>
          (states.length === 0 ? ['OPEN'] : states).includes(show(pull).state) &&
          (!head || pull.head === head) &&
          (!base || pull.base === base),
      )
      const size = Math.min(Number(call.query.get('pagelen') ?? 10), call.pageSize)
      const page = Number(call.query.get('page') ?? 1)
      const next = new URL(call.url)
      next.searchParams.set('page', String(page + 1))
      return {
        body: {
          values: found.slice((page - 1) * size, page * size).map(show),
          page,
          ...(page * size < found.length ? { next: next.href } : {}),
        },
      }
    }
    if (call.method === 'POST' && !id) {
      const { title, description, source, destination } = call.body as Record<string, { branch?: { name?: string } }>
      const pull = await call.pulls.create({
        repository,
        head: text(source?.branch?.name),
        base: text(destination?.branch?.name),
        title: text(title),
        body: text(description),
      })
      return { status: 201, body: show(pull) }
    }
    const pull = await call.pulls.get(repository, Number(id))
    if (tail === 'comments' && call.method === 'GET') {
      const values = call.pulls.commentsOf(pull).map(({ id: each, body }) => ({ id: each, content: { raw: body } }))
      return { body: { values } }
    }
    if (tail === 'comments' && call.method === 'PUT') {
      const { raw } = call.body['content'] as { raw: string }
      call.pulls.editComment(Number(segments(call.path)[6]), raw)
      return { body: {} }
    }
    if (call.method === 'GET') return { body: show(pull) }
    if (tail === 'comments') {
      const raw = text((call.body['content'] as { raw?: string }).raw)
      pull.comments.push(raw)
      return { status: 201, body: { id: newestComment(pull) } }
    }
    if (tail === 'decline') call.pulls.close(pull)
    else if (tail === 'merge') await call.pulls.merge(pull)
    else {
      pull.title = text(call.body['title'])
      pull.body = text(call.body['description'])
    }
    return { body: show(pull) }
  },
}

const azureDevops: Dialect = {
  matches: /^\/[^/]+(?=\/[^/]+\/_apis\/git\/)/,
  credential: (headers) =>
    Buffer.from(after('Basic ')(headers) ?? '', 'base64')
      .toString()
      .split(':')[1],
  refusal: ({ message }) => ({ message, typeKey: 'GitRefused' }),
  async answer(call) {
    const [project = '', , , , repository = '', kind, id, tail] = segments(call.path)
    if (kind === 'commits') {
      const words = { success: 'succeeded', failure: 'failed', pending: 'pending' }
      const checks = call.pulls.checks.get(id ?? '') ?? []
      return { body: { value: checks.map(({ name, state }) => ({ state: words[state], context: { name } })) } }
    }
    const show = (pull: Pull) => ({
      pullRequestId: pull.number,
      status: { open: 'active', closed: 'abandoned', merged: 'completed' }[pull.state],
      title: pull.title,
      description: pull.body,
      sourceRefName: `refs/heads/${pull.head}`,
      targetRefName: `refs/heads/${pull.base}`,
      mergeStatus: pull.isConflicting ? 'conflicts' : 'succeeded',
      lastMergeSourceCommit: { commitId: pull.headSHA },
      labels: pull.labels.map((name) => ({ name })),
      ...(pull.closedAt ? { closedDate: pull.closedAt } : {}),
      ...(pull.mergeSHA ? { lastMergeCommit: { commitId: pull.mergeSHA } } : {}),
      repository: { id: repository, name: repository, project: { name: project } },
    })
    if (call.method === 'GET' && !id) {
      const criterion = (name: string) => call.query.get(`searchCriteria.${name}`)
      const [status, source, target] = [criterion('status'), criterion('sourceRefName'), criterion('targetRefName')]
      const found = await call.pulls.list(
        repository,
        (pull) =>
          (status === 'all' || show(pull).status === (status ?? 'active')) &&
          (!source || source === `refs/heads/${pull.head}`) &&
          (!target || target === `refs/heads/${pull.base}`),
      )
      const skip = Number(call.query.get('$skip') ?? 0)
      const value = found.slice(skip, skip + Number(call.query.get('$top') ?? 100)).map(show)
      return { body: { value, count: value.length } }
    }
    if (call.method === 'POST' && !id) {
      const { title, description, sourceRefName, targetRefName, labels } = call.body
      const branch = (ref: unknown) => text(ref).replace('refs/heads/', '')
      const pull = await call.pulls.create({
        repository,
        head: branch(sourceRefName),
        base: branch(targetRefName),
        title: text(title),
        body: text(description),
        labels: ((labels as { name: string }[] | undefined) ?? []).map(({ name }) => name),
      })
      return { status: 201, body: show(pull) }
    }
    const pull = await call.pulls.get(repository, Number(id))
    const [threadId, , commentId] = segments(call.path).slice(8)
    if (tail === 'threads' && call.method === 'GET') {
      const value = call.pulls
        .commentsOf(pull)
        .map(({ id: each, body }) => ({ id: each, comments: [{ id: 1, content: body }] }))
      return { body: { value } }
    }
    if (tail === 'threads' && commentId) {
      call.pulls.editComment(Number(threadId), text(call.body['content']))
      return { body: {} }
    }
    if (tail === 'labels') {
      pull.labels.splice(pull.labels.indexOf(threadId ?? ''), 1)
      return { status: 204, body: undefined }
    }
    if (tail === 'statuses') {
      const { name } = call.body['context'] as { name: string }
      const { state, description } = call.body
      call.pulls.statuses.push({ sha: pull.headSHA, name, state: text(state), description: text(description) })
      return { body: {} }
    }
    if (call.method === 'GET') return { body: show(pull) }
    if (tail === 'threads') {
      const comments = (call.body['comments'] as { content: string }[]).map(({ content }) => content)
      pull.comments.push(...comments)
      return { status: 200, body: { id: newestComment(pull), comments: [{ id: 1 }] } }
    }
    const status = call.body['status']
    const commit = (call.body['lastMergeSourceCommit'] as { commitId?: string } | undefined)?.commitId
    if (status === 'abandoned' || status === 2) call.pulls.close(pull)
    else if (status === 'completed' || status === 3) await call.pulls.merge(pull, commit)
    if (call.body['title']) pull.title = text(call.body['title'])
    if (call.body['description']) pull.body = text(call.body['description'])
    return { body: show(pull) }
  },
}

/** Every dialect the stand-in speaks, by the type a Pipeline names. */
export const dialects = {
  github,
  gitlab,
  gitea,
  forgejo: gitea,
  'bitbucket-server': bitbucketServer,
  'bitbucket-cloud': bitbucketCloud,
  'azure-devops': azureDevops,
} as const
