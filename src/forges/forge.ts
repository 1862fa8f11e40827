import { PromotionError } from '../git/promotion-error.ts'

/** The fields of a pull request that every forge has. */
export interface PullRequest {
  readonly number: number
  readonly url: string
  readonly state: 'open' | 'merged' | 'closed'
  /** The branch with the change, without `refs/heads/`. */
  readonly head: string
  /** The branch to merge into. */
  readonly base: string
  /** Tip of the head branch; possibly shortened (Bitbucket Cloud). */
  readonly headSHA: string | undefined
  /** The merge commit, once merged. */
  readonly mergeSHA: string | undefined
  readonly body: string
  /** Whether it conflicts with its base; undefined where the forge does not say or has not found out yet. */
  readonly isConflicting?: boolean | undefined
  /** RFC 3339. */
  readonly createdAt: string | undefined
  /** When it was closed or merged, in RFC 3339; undefined while open, and where the forge does not say. */
  readonly closedAt: string | undefined
  readonly labels: readonly string[]
}

/**
 * A pull request as it was read; throws a TypeError for what is none: nothing may be concluded from the page of a proxy, and what a
 * status does not take could never be recorded.
 */
export function checkedPull(read: PullRequest): PullRequest {
  const { number, state, head, base, url, body, headSHA, mergeSHA, createdAt, closedAt, labels } = read
  const isPull =
    Number.isSafeInteger(number) &&
    number > 0 &&
    /^(?:open|merged|closed)$/.test(state) &&
    /^https?:\/\/[^\s\p{C}]+$/u.test(url) &&
    [url, head, base].every((text) => typeof text === 'string' && text.length < 2048) &&
    [headSHA, mergeSHA].every((hash) => hash === undefined || /^[0-9a-f]{7,64}$/.test(hash)) &&
    [body, createdAt ?? '', closedAt ?? '', ...labels].every((text) => typeof text === 'string')
  if (!isPull) throw new TypeError('not a pull request')
  return read
}

/** A comment on a pull request. */
export interface PullComment {
  readonly id: string
  readonly text: string
}

/** The status of a commit under one name. */
export interface CommitStatus {
  readonly name: string
  readonly state: 'pending' | 'success' | 'failure'
  readonly description: string
  readonly url: string
}

/** A commit status or check run. Skipped and neutral ones count as a success. */
export interface CommitCheck {
  readonly name: string
  readonly state: 'success' | 'failure' | 'pending'
}

/** A forge's words for the state of a check; any other word is a failure. */
export function checkState(
  word: string,
  { good, open }: { readonly good: readonly string[]; readonly open: readonly string[] },
): CommitCheck['state'] {
  return good.includes(word) ? 'success' : open.includes(word) ? 'pending' : 'failure'
}

/** A pull request to open. Forges without labels ignore them. */
export interface NewPullRequest extends Pick<PullRequest, 'head' | 'base' | 'body' | 'labels'> {
  readonly title: string
}

/** The operations that systems need from a forge. Each may be repeated. */
export interface Forge {
  /** All pull requests from `head` into `base`, in any state, from all pages. */
  list(branches: { readonly head: string; readonly base: string }): Promise<readonly PullRequest[]>
  get(number: number): Promise<PullRequest>
  /** All open pull requests; throws unless the list is complete. */
  openPulls(): Promise<readonly PullRequest[]>
  create(request: NewPullRequest): Promise<PullRequest>
  /** Changes title and body of an open pull request. */
  update(number: number, change: { readonly title: string; readonly body: string }): Promise<void>
  /** Adds a comment, also to a closed pull request, and returns its id. */
  comment(number: number, text: string): Promise<string>
  comments(number: number): Promise<readonly PullComment[]>
  /** Changes a comment; throws an error with the status 404 when it no longer exists. */
  editComment(number: number, id: string, text: string): Promise<void>
  /** Sets the status of the head commit. */
  setStatus(pull: Pick<PullRequest, 'number' | 'headSHA'>, status: CommitStatus): Promise<void>
  /** Does nothing on forges without labels. */
  removeLabel(number: number, label: string): Promise<void>
  /** Closes without a merge. */
  close(number: number): Promise<void>
  /** Merges exactly this commit; false when the forge does not allow a merge now. */
  merge(number: number, headSHA: string): Promise<boolean>
  /** The newest statuses and check runs of a commit, by name. */
  checks(sha: string): Promise<readonly CommitCheck[]>
}

/** A comment that is written once and then edited in place. */
export interface OwnComment {
  /** The id of the comment as it was last written; undefined before. */
  readonly id: string | undefined
  /** A text that only this comment contains. */
  readonly marker: string
  readonly text: string
}

/** Writes a comment or edits it, and returns its id; `deleted` when a person deleted it, and nothing is written then. */
export async function upsertComment(forge: Forge, number: number, { id, marker, text }: OwnComment): Promise<string> {
  // A comment whose id was lost, by a crash between the write and its record, is found by its marker.
  const known = id ?? (await forge.comments(number)).find((comment) => comment.text.includes(marker))?.id
  const body = `${text}\n\n${marker}`
  if (known === undefined) return forge.comment(number, body)
  try {
    await forge.editComment(number, known, body)
    return known
  } catch (error) {
    if (error instanceof PromotionError && error.httpStatus === 404) return 'deleted'
    throw error
  }
}
