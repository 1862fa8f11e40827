import type { Repository } from './repository.ts'

/** A pull request as the stand-in keeps it, whatever dialect it was opened in. */
export interface Pull {
  readonly number: number
  repository: string
  readonly head: string
  readonly base: string
  title: string
  body: string
  state: 'open' | 'closed' | 'merged'
  headSHA: string
  isConflicting: boolean
  /** Gitea says of a draft that it cannot be merged, as of a conflict. */
  isDraft?: boolean
  mergeSHA: string | undefined
  version: number
  readonly labels: string[]
  /** An empty one was deleted. */
  readonly comments: string[]
  closedAt: string | undefined
}

/** A commit's status as the stand-in keeps it. */
export interface Status {
  readonly sha: string
  readonly name: string
  readonly state: string
  readonly description: string
}

/** The id of the comment that was added last. */
export function newestComment({ number, comments }: Pull): number {
  return number * 1000 + comments.length
}

/** Why a forge refuses. */
export class Refused extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** All pull requests of all repositories, with the rules that forges share. */
export class PullRequests {
  readonly all: Pull[] = []
  readonly statuses: Status[] = []
  readonly #repositories: ReadonlyMap<string, Repository>
  /** Open a second one for the same branches, as some forges do. */
  allowDuplicates = false
  squash = false
  /** Statuses and check runs by commit. */
  readonly checks = new Map<string, { name: string; state: 'success' | 'failure' | 'pending' }[]>()

  constructor(repositories: ReadonlyMap<string, Repository>) {
    this.#repositories = repositories
  }

  repository(name: string): Repository {
    const repository = this.#repositories.get(name)
    if (!repository) throw new Refused(404, 'Not Found')
    return repository
  }

  async create(request: {
    repository: string
    head: string
    base: string
    title: string
    body: string
    labels?: string[]
  }): Promise<Pull> {
    const repository = this.repository(request.repository)
    const headSHA = await repository.tip(request.head)
    if (!headSHA || !(await repository.tip(request.base))) throw new Refused(422, 'branch does not exist')
    if (!request.title) throw new Refused(422, 'title is missing')
    if ((await repository.ahead(request.head, request.base)) === 0)
      throw new Refused(422, 'no commits between the branches')
    // Last, and in one breath with the opening: two who ask at once must not both be told that there is none.
    const same = this.all.some(
      (pull) =>
        pull.repository === request.repository &&
        pull.state === 'open' &&
        pull.head === request.head &&
        pull.base === request.base,
    )
    if (same && !this.allowDuplicates) throw new Refused(409, 'a pull request already exists')
    const pull: Pull = {
      number: this.all.length + 1,
      ...request,
      state: 'open',
      headSHA,
      mergeSHA: undefined,
      isConflicting: false,
      version: 0,
      labels: request.labels ?? [],
      comments: [],
      closedAt: undefined,
    }
    this.all.push(pull)
    return pull
  }

  /** The newest state of one, its branch looked up. */
  async get(repository: string, number: number): Promise<Pull> {
    const pull = this.all.find((each) => each.repository === repository && each.number === number)
    if (!pull) throw new Refused(404, 'Not Found')
    await this.#refresh(pull)
    return pull
  }

  async list(repository: string, matches: (pull: Pull) => boolean): Promise<Pull[]> {
    this.repository(repository)
    const found = this.all.filter((pull) => pull.repository === repository && matches(pull))
    for (const pull of found) await this.#refresh(pull)
    return found.toReversed()
  }

  close(pull: Pull): void {
    if (pull.state === 'merged') throw new Refused(409, 'already merged')
    pull.state = 'closed'
    pull.closedAt = new Date().toISOString()
    pull.version++
  }

  reopen(pull: Pull): void {
    pull.state = 'open'
    pull.closedAt = undefined
    pull.version++
  }

  /** What the owner of a repository may do on GitLab and Gitea. Its number is not used again. */
  remove(pull: Pull): void {
    pull.repository = ''
  }

  editComment(id: number, body: string): void {
    const pull = this.all.find(({ number }) => number === Math.floor(id / 1000))
    if (!pull?.comments[(id % 1000) - 1]) throw new Refused(404, 'Not Found')
    pull.comments[(id % 1000) - 1] = body
  }

  commentsOf({ number, comments }: Pull): { id: number; body: string }[] {
    return comments.map((body, index) => ({ id: number * 1000 + index + 1, body })).filter(({ body }) => body !== '')
  }

  async merge(pull: Pull, sha?: string): Promise<string> {
    await this.#refresh(pull)
    if (pull.state !== 'open') throw new Refused(405, 'not open')
    if (sha && sha !== pull.headSHA) throw new Refused(409, 'head was modified')
    const merged = await this.repository(pull.repository).merge(pull.head, pull.base, this.squash)
    if (!merged) throw new Refused(405, 'not mergeable')
    pull.state = 'merged'
    pull.closedAt = new Date().toISOString()
    pull.mergeSHA = merged
    pull.version++
    return merged
  }

  async #refresh(pull: Pull): Promise<void> {
    if (pull.state !== 'open') return
    const repository = this.repository(pull.repository)
    pull.isConflicting = await repository.conflicts(pull.head, pull.base)
    const tip = await repository.tip(pull.head)
    if (!tip || tip === pull.headSHA) return
    pull.headSHA = tip
    pull.version++
  }
}
