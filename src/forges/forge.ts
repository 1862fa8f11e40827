/** The fields of a pull request that every forge has. */
export interface PullRequest {
  readonly number: number
  readonly url: string
  readonly state: 'open' | 'merged' | 'closed'
  readonly head: string
  readonly base: string
  readonly headSHA: string | undefined
  readonly mergeSHA: string | undefined
  readonly body: string
}

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
  comment(number: number, text: string): Promise<void>
  close(number: number): Promise<void>
  /** Merges exactly this commit; false when the forge does not allow a merge now. */
  merge(number: number, headSHA: string): Promise<boolean>
}
