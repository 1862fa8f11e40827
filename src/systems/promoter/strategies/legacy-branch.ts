import { branchName } from '../model/identity.ts'
import type { Forge } from '../../../forges/forge.ts'
import type { Words } from '../repository/wording.ts'
import { holdsValue } from './marked-change.ts'
import type { PullRequestWork } from './pull-request.ts'

/** The branch that pipeline-controller would have used. */
export function legacyBranch({ namespace, pipeline, environment, id }: Words): string {
  return branchName({ namespace, name: pipeline, environment, id }, 'legacy')
}

/**
 * What pipeline-controller has left open: taken over when it carries this very value, closed when it carries another one.
 * True when it is taken over.
 */
export async function isTakenOver(work: PullRequestWork, tip: string): Promise<boolean> {
  const { promotion, words, access, spec } = work
  const forge = access.forge()
  const open = await openUnmarked(forge, { head: legacyBranch(words), base: promotion.strategy?.baseBranch ?? '' })
  if (open.length === 0) return false
  if (await holdsValue(access.git, tip, { promotion, words, wishes: spec })) return true
  for (const number of open) {
    await forge.close(number)
    await forge
      .comment(number, `Closed by the promotion pipeline: superseded by promotion ${promotion.id}.`)
      .catch(() => undefined)
  }
  return false
}

/** Open pull requests between these branches that carry no promotion's mark. */
export async function openUnmarked(
  forge: Forge,
  branches: { readonly head: string; readonly base: string },
): Promise<number[]> {
  const found = await forge.list(branches)
  return found
    .filter(({ state, body }) => state === 'open' && !body.includes('sojourn-promotion:'))
    .map(({ number }) => number)
}
