import type { Promotion } from '../../../apis/pipeline-status.ts'
import type { RepositoryAccess } from '../repository/repository-access.ts'
import type { EffectResult } from '../decision/results.ts'
import { PromotionError } from '../../../git/promotion-error.ts'
import { prepareChange, type CommitSettings } from '../repository/change.ts'
import type { TemplateValues } from '../repository/templates.ts'

/** Commits the change to the base branch, unless it is there. A concurrent push by others only causes a retry. */
export async function commitToBase(work: {
  readonly promotion: Promotion
  readonly values: TemplateValues
  readonly access: RepositoryAccess
  readonly spec: CommitSettings
}): Promise<EffectResult> {
  const { promotion, values, access, spec } = work
  const { git, sign } = access
  const branch = promotion.strategy?.baseBranch ?? ''
  const base = (await git.branches(branch)).get(branch)
  if (!base) throw new PromotionError('Permanent', 'BaseBranchNotFound', `branch ${branch} does not exist`)
  const change = await prepareChange(git, base, { promotion, values, settings: spec, sign })
  if (change.change === 'same') return { result: 'applied', because: 'AlreadyApplied', baseSHA: base }
  const refusal = await git.push({ branch, from: base, to: change.commit, objects: change.objects })
  if (refusal)
    throw new PromotionError('Transient', 'GitProviderUnavailable', `the server rejected the push: ${refusal}`)
  return { result: 'applied', because: 'Committed', baseSHA: base, headSHA: change.commit }
}
