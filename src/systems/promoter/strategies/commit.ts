import type { Promotion } from '../../../apis/pipeline-status.ts'
import type { RepositoryAccess } from '../repository/repository-access.ts'
import type { EffectResult } from '../decision/results.ts'
import { Trouble } from '../../../git/trouble.ts'
import type { Words } from '../repository/wording.ts'
import { markedChange, type CommitWishes } from './marked-change.ts'

/** Puts the change on the base branch, unless it is there; somebody else's push in between only delays it. */
export async function commitToBase(work: {
  readonly promotion: Promotion
  readonly words: Words
  readonly access: RepositoryAccess
  readonly spec: CommitWishes
}): Promise<EffectResult> {
  const { promotion, words, access, spec } = work
  const { sign } = access
  const branch = promotion.strategy?.baseBranch ?? ''
  const base = (await access.git.branches(branch)).get(branch)
  if (!base) throw new Trouble('Permanent', 'BaseBranchNotFound', `branch ${branch} is not there`)
  const change = await markedChange(access.git, base, { promotion, words, wishes: spec, sign })
  if (change.change === 'same') return { result: 'applied', because: 'AlreadyApplied', baseSHA: base }
  const refusal = await access.git.push({ branch, from: base, to: change.commit, objects: change.objects })
  if (refusal) throw new Trouble('Transient', 'GitProviderUnavailable', `the push was refused: ${refusal}`)
  return { result: 'applied', because: 'Committed', baseSHA: base, headSHA: change.commit }
}
