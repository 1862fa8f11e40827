import type { Promotion } from '../../../apis/pipeline-status.ts'
import { prepareChange, type Change, type SignCommit } from '../repository/change.ts'
import type { GitRemote } from '../../../git/remote.ts'
import { at } from '../decision/draft.ts'
import { Trouble } from '../../../git/trouble.ts'
import { messageOf, type Words } from '../repository/wording.ts'

/** What both strategies that write to git take from the spec. */
export interface CommitWishes {
  readonly paths?: readonly string[]
  readonly commit?: { readonly name?: string; readonly email?: string; readonly messageTemplate?: string }
}

interface Given {
  readonly promotion: Promotion
  readonly words: Words
  readonly wishes: CommitWishes
  readonly sign?: SignCommit | undefined
}

/** Whether a commit has the promotion's value at every marker. Throws when that cannot be known. */
export async function holdsValue(git: GitRemote, commit: string, given: Omit<Given, 'sign'>): Promise<boolean> {
  try {
    return (await markedChange(git, commit, given)).change === 'same'
  } catch (error) {
    if (error instanceof Trouble && error.because === 'MarkerNotFound') return false
    throw error
  }
}

/** The commit that carries a promotion on top of another; the same again after a crash. Throws when a marker cannot be heeded. */
export async function markedChange(
  git: GitRemote,
  parent: string,
  given: Given,
): Promise<Exclude<Change, { change: 'no-marker' | 'unusable' }>> {
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
  if (change.change === 'ready' || change.change === 'same') return change
  const problems = change.problems.slice(0, 5).join('; ')
  if (change.change === 'unusable')
    throw new Trouble('Permanent', 'MarkerUnusable', `${problems}; to leave a file out, name the others in "paths"`)
  throw new Trouble(
    'Permanent',
    'MarkerNotFound',
    `no marker {"$promotion": "${namespace}:${pipeline}:${environment}"}${problems && `; ${problems}`}`,
  )
}
