/** A pull request as every forge can tell it. */
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

/** The few things we ask of a forge. All of them may be asked again. */
export interface Forge {
  /** Every pull request from this branch into that one, whatever became of it, page by page to the end. */
  list(branches: { readonly head: string; readonly base: string }): Promise<readonly PullRequest[]>
  get(number: number): Promise<PullRequest>
  create(request: NewPullRequest): Promise<PullRequest>
  /** Gives an open one another title and text. */
  update(number: number, change: { readonly title: string; readonly body: string }): Promise<void>
  comment(number: number, text: string): Promise<void>
  close(number: number): Promise<void>
  /** Merges exactly this commit; false when the forge does not allow it now. */
  merge(number: number, headSHA: string): Promise<boolean>
}
