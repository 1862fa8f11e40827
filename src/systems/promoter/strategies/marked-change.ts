import type { Promotion } from '../../../apis/pipeline-status.ts'
import { prepareChange, type Change, type SignCommit } from '../git/change.ts'
import type { GitRemote } from '../git/remote.ts'
import { at } from '../draft.ts'
import { Trouble } from '../trouble.ts'
import { messageOf, type Words } from '../wording.ts'

/** What both strategies that write to git take from the spec. */
export interface CommitWishes {
  readonly paths?: readonly string[]
  readonly commit?: { readonly name?: string; readonly email?: string; readonly messageTemplate?: string }
}

/** The commit that carries a promotion on top of another; the same again after a crash. Throws when there is no marker. */
export async function markedChange(
  git: GitRemote,
  parent: string,
  given: {
    readonly promotion: Promotion
    readonly words: Words
    readonly wishes: CommitWishes
    readonly sign?: SignCommit | undefined
  },
): Promise<Exclude<Change, { change: 'no-marker' }>> {
  const { promotion, words, wishes, sign } = given
  const { namespace, pipeline, environment } = words
  const change = await prepareChange(git, parent, {
    marker: { namespace, pipeline, environment },
    value: words.value,
    paths: wishes.paths ?? [],
    message: messageOf(words, wishes.commit?.messageTemplate),
    by: {
      name: wishes.commit?.name ?? 'Sojourn Promoter',
      email: wishes.commit?.email ?? 'promoter@sojourn.dev',
      atMs: at(promotion.intentAt),
    },
    sign,
  })
  if (change.change !== 'no-marker') return change
  const problems = change.problems.length > 0 ? `; ${change.problems.slice(0, 5).join('; ')}` : ''
  throw new Trouble(
    'Permanent',
    'MarkerNotFound',
    `no marker {"$promotion": "${namespace}:${pipeline}:${environment}"}${problems}`,
  )
}
