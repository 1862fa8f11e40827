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
}

/** A pull request to open. Forges without labels ignore them. */
export interface NewPullRequest {
  readonly head: string
  readonly base: string
  readonly title: string
  readonly body: string
  readonly labels: readonly string[]
}

/** The operations the promoter needs from a forge. Each may be repeated. */
export interface Forge {
  /** All pull requests from `head` into `base`, in any state, from all pages. */
  list(branches: { readonly head: string; readonly base: string }): Promise<readonly PullRequest[]>
  get(number: number): Promise<PullRequest>
  create(request: NewPullRequest): Promise<PullRequest>
  /** Changes title and body of an open pull request. */
  update(number: number, change: { readonly title: string; readonly body: string }): Promise<void>
  /** Adds a comment, also to a closed pull request. */
  comment(number: number, text: string): Promise<void>
  /** Closes without a merge. */
  close(number: number): Promise<void>
  /** Merges exactly this commit; false when the forge does not allow a merge now. */
  merge(number: number, headSHA: string): Promise<boolean>
}
