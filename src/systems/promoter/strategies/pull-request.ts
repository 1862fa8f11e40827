import type { PullRequestSpec } from '../../../apis/pipeline.ts'
import type { Promotion, PullRequestStatus } from '../../../apis/pipeline-status.ts'
import type { Forge, PullRequest } from '../../../forges/forge.ts'
import { parseCommit } from '../../../git/objects.ts'
import { noObject, type GitRemote } from '../../../git/remote.ts'
import type { RepositoryAccess } from '../repository/repository-access.ts'
import type { EffectResult } from '../decision/results.ts'
import { Trouble } from '../../../git/trouble.ts'
import { bodyOf, isCommitOf, markOf, titleOf, type Words } from '../repository/wording.ts'
import { isTakenOver, legacyBranch, openUnmarked } from './legacy-branch.ts'
import { holdsValue, markedChange } from './marked-change.ts'

/** One promotion by pull request. `spec` is absent once the pipeline no longer has it. */
export interface PullRequestWork {
  readonly promotion: Promotion
  readonly words: Words
  readonly access: RepositoryAccess
  readonly spec: Partial<PullRequestSpec>
  /** Nothing may be merged now. */
  readonly paused: boolean
}

/** Puts the change on its branch, or finds it there; what somebody else has put there is never overwritten. */
export async function push(work: PullRequestWork): Promise<EffectResult> {
  const { promotion, words, access, spec } = work
  const { git, sign } = access
  const { branch = '', strategy, replacesSHA } = promotion
  const baseBranch = strategy?.baseBranch ?? ''
  const legacy = legacyBranch(words)
  const tips = await git.branches(baseBranch, branch, legacy)
  const base = tips.get(baseBranch)
  const tip = tips.get(branch)
  if (!base) throw new Trouble('Permanent', 'BaseBranchNotFound', `branch ${baseBranch} is not there`)
  const pushed = (headSHA: string) => ({ result: 'pushed', baseSHA: base, headSHA, value: words.value }) as const
  const left = tips.get(legacy)
  if (!tip && left && legacy !== branch && (await isTakenOver(work, left))) return { ...pushed(left), branch: legacy }
  if (tip && tip !== replacesSHA) return pushed(await ourCommitOn(git, tip, promotion))
  const change = await markedChange(git, tip ?? base, { promotion, words, wishes: spec, sign })
  if (change.change === 'same')
    return tip ? pushed(tip) : { result: 'applied', because: 'AlreadyApplied', baseSHA: base }
  const refusal = await git.push({ branch, from: tip ?? noObject, to: change.commit, objects: change.objects })
  if (refusal) throw new Trouble('Transient', 'GitProviderUnavailable', `the push was refused: ${refusal}`)
  return pushed(change.commit)
}

/** Finds the pull request, whatever became of it, and opens one only when there is none. */
export async function propose(work: PullRequestWork): Promise<EffectResult> {
  const { promotion, words, spec } = work
  const forge = work.access.forge()
  const branches = branchesOf(promotion)
  const title = titleOf(words, spec.titleTemplate)
  const body = bodyOf(words, { template: spec.bodyTemplate, replaces: promotion.replaces })
  const carriedOver =
    promotion.pullRequest?.state === 'open' ? await forge.get(promotion.pullRequest.number) : undefined
  if (carriedOver?.state === 'open') {
    await forge.update(carriedOver.number, { title, body })
    return seen(promotion, carriedOver)
  }
  if (branches.head === legacyBranch(words))
    for (const number of await openUnmarked(forge, branches)) await forge.update(number, { title, body })
  const known = await findOurs(forge, promotion)
  if (known) {
    // Opened for one before, by somebody who could not write that down.
    if (known.state === 'open' && isMarkedForAnother(promotion, known))
      await forge.update(known.number, { title, body })
    return seen(promotion, known)
  }
  try {
    await forge.create({ ...branches, title, body, labels: spec.labels ?? [] })
  } catch (error) {
    // It may have been opened all the same, by this request or by one before it.
    const opened = await findOurs(forge, promotion)
    if (!opened) throw error
    return seen(promotion, opened)
  }
  const opened = await findOurs(forge, promotion)
  if (!opened)
    throw new Trouble('Transient', 'GitProviderUnavailable', 'the forge does not show the pull request it has opened')
  return seen(promotion, opened)
}

/** Sees what became of the pull request; merges exactly our commit where that is asked for. */
export async function poll(work: PullRequestWork): Promise<EffectResult> {
  const { promotion, spec, paused } = work
  const forge = work.access.forge()
  const number = promotion.pullRequest?.number ?? 0
  let pull = await forge.get(number)
  const { headSHA } = promotion
  if (spec.autoMerge && !paused && pull.state === 'open' && headSHA && !isModified(promotion, pull))
    if (await forge.merge(number, headSHA)) pull = await forge.get(number)
  if (pull.state === 'closed' && (await isOnBase(work))) pull = { ...pull, state: 'merged' }
  if (pull.state === 'merged') await dropBranch(work).catch(() => undefined)
  return seen(promotion, pull)
}

/** Takes back what is still open: closes the pull request, says why, and drops the branch if it is as we left it. */
export async function withdraw(work: PullRequestWork, why: string): Promise<EffectResult> {
  const { promotion } = work
  const forge = work.access.forge()
  const pulls = promotion.pullRequest
    ? [await forge.get(promotion.pullRequest.number)]
    : (await forge.list(branchesOf(promotion))).filter((pull) => isOurs(promotion, pull))
  for (const pull of pulls.filter(({ state }) => state === 'open')) {
    await forge.close(pull.number)
    await forge.comment(pull.number, why).catch(() => undefined)
  }
  await dropBranch(work)
  const [pull] = pulls
  if (!pull) return { result: 'withdrawn' }
  const state = pull.state === 'open' ? 'closed' : pull.state
  return { result: 'withdrawn', pullRequest: statusOf(promotion, { ...pull, state }) }
}

function branchesOf({ branch = '', strategy }: Promotion): { head: string; base: string } {
  return { head: branch, base: strategy?.baseBranch ?? '' }
}

/** The one that counts: an open one before all others, the oldest first. Surplus ones are closed. */
async function findOurs(forge: Forge, promotion: Promotion): Promise<PullRequest | undefined> {
  const found = (await forge.list(branchesOf(promotion)))
    .filter((pull) => isOurs(promotion, pull))
    .toSorted((left, right) => left.number - right.number)
  const [first, ...surplus] = found.filter(({ state }) => state === 'open')
  for (const { number } of surplus) await forge.close(number)
  return first ?? found.find(({ state }) => state === 'merged') ?? found[0]
}

/** A branch of a promotion's own is proof enough; on a shared one the mark in the text decides, of whichever promotion while it is open. */
function isOurs(promotion: Promotion, pull: PullRequest): boolean {
  const { id, branch = '' } = promotion
  if (branch.endsWith(`-${id.slice(0, 8)}`) || pull.body.includes(markOf(id))) return true
  return pull.state === 'open' && isMarkedForAnother(promotion, pull)
}

function isMarkedForAnother({ id }: Promotion, { body }: PullRequest): boolean {
  return body.includes('<!-- sojourn-promotion: ') && !body.includes(markOf(id))
}

function seen(promotion: Promotion, pull: PullRequest): EffectResult {
  return { result: 'seen', pullRequest: statusOf(promotion, pull) }
}

function statusOf(promotion: Promotion, pull: PullRequest): PullRequestStatus {
  const { number, url, state, mergeSHA } = pull
  return {
    number,
    url,
    state,
    ...(isModified(promotion, pull) ? { modified: true } : {}),
    ...(mergeSHA ? { mergeSHA } : {}),
  }
}

function isModified({ headSHA }: Promotion, pull: PullRequest): boolean {
  return headSHA !== undefined && pull.headSHA !== undefined && !headSHA.startsWith(pull.headSHA)
}

const historyDepth = 50

/** Our commit on a branch that is there already; people may have added to it. */
async function ourCommitOn(git: GitRemote, tip: string, { id, branch }: Promotion): Promise<string> {
  const store = await git.fetch({ wants: [tip], depth: historyDepth, withoutBlobs: true })
  for (const [commit, object] of store)
    if (object.type === 'commit' && isCommitOf(id, parseCommit(object.content).message)) return commit
  throw new Trouble('Permanent', 'BranchNotOurs', `branch ${branch} exists and holds no commit of this promotion`)
}

async function isOnBase({ promotion, words, access, spec }: PullRequestWork): Promise<boolean> {
  const baseBranch = promotion.strategy?.baseBranch ?? ''
  const base = (await access.git.branches(baseBranch)).get(baseBranch)
  return base !== undefined && holdsValue(access.git, base, { promotion, words, wishes: spec })
}

/** Only a tip that is our own commit is dropped, and only if it still is the tip when the server looks. */
async function dropBranch({ promotion, access }: PullRequestWork): Promise<void> {
  const { branch = '', headSHA, replacesSHA, id } = promotion
  const tip = (await access.git.branches(branch)).get(branch)
  if (!tip) return
  const isOurTip =
    tip === headSHA || tip === replacesSHA || (headSHA === undefined && (await tipIsOurs(access.git, tip, id)))
  if (isOurTip) await access.git.push({ branch, from: tip, to: noObject, objects: [] })
}

async function tipIsOurs(git: GitRemote, tip: string, id: string): Promise<boolean> {
  const commit = (await git.fetch({ wants: [tip], depth: 1, withoutBlobs: true })).get(tip)
  return commit !== undefined && isCommitOf(id, parseCommit(commit.content).message)
}
