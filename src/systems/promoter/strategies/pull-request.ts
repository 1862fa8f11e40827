import type { PullRequestSpec } from '../../../apis/pipeline.ts'
import type { LastError, Promotion, PullRequestStatus } from '../../../apis/pipeline-status.ts'
import type { Forge, PullRequest } from '../../../forges/forge.ts'
import { parseCommit } from '../../../git/objects.ts'
import { noObject, type GitRemote } from '../../../git/remote.ts'
import { branchName } from '../model/identity.ts'
import type { RepositoryAccess } from '../repository/repository-access.ts'
import type { Effect } from '../decision/effects.ts'
import type { EffectResult } from '../decision/results.ts'
import { PromotionError, permanent, transient } from '../../../git/promotion-error.ts'
import { holdsValue, prepareChange, type CommitSettings } from '../repository/change.ts'
import { bodyOf, isCommitOf, isMarked, promotionMark, titleOf, type TemplateValues } from '../repository/templates.ts'

/** One promotion by pull request. `spec` is empty once the pipeline no longer has that strategy. */
export interface PullRequestWork {
  readonly promotion: Promotion
  readonly values: TemplateValues
  readonly access: RepositoryAccess
  readonly spec: Partial<PullRequestSpec>
  readonly paused: Effect['paused']
}

/** Pushes the change to the promotion's branch, or finds it there. Never overwrites commits of others. */
export async function push(work: PullRequestWork): Promise<EffectResult> {
  const { promotion, values, access, spec } = work
  const { git, sign } = access
  const { branch = '', strategy, replacesSHA } = promotion
  const baseBranch = strategy?.baseBranch ?? ''
  const legacy = legacyBranch(values)
  const tips = await git.branches(baseBranch, branch, legacy)
  const base = tips.get(baseBranch)
  const tip = tips.get(branch)
  if (!base) throw baseNotFound(baseBranch)
  const pushed = (headSHA: string) => ({ result: 'pushed', baseSHA: base, headSHA, value: values.value }) as const
  const legacyTip = tips.get(legacy)
  if (!tip && legacyTip && legacy !== branch && (await takeOverLegacy(work, legacyTip)))
    return { ...pushed(legacyTip), branch: legacy }
  if (tip && tip !== replacesSHA) return pushed(await ourCommitOn(git, tip, promotion))
  const change = await prepareChange(git, tip ?? base, { promotion, values, settings: spec, sign })
  if (change.change === 'same')
    return tip ? pushed(tip) : { result: 'applied', because: 'AlreadyApplied', baseSHA: base }
  const refusal = await git.push({ branch, from: tip ?? noObject, to: change.commit, objects: change.objects })
  if (refusal) throw transient('GitProviderUnavailable', `the server rejected the push: ${refusal}`)
  return pushed(change.commit)
}

/** Finds the promotion's pull request, in whatever state, and opens one only when there is none. */
export async function propose(work: PullRequestWork): Promise<EffectResult> {
  const { promotion, values, spec } = work
  const forge = work.access.forge()
  const branches = branchesOf(promotion)
  const title = titleOf(values, spec.titleTemplate)
  const body = bodyOf(values, { template: spec.bodyTemplate, replaces: promotion.replaces })
  const carriedOver = promotion.pullRequest?.state === 'open' ? await recordedPull(work) : undefined
  if (carriedOver?.state === 'open') {
    await forge.update(carriedOver.number, { title, body })
    return seen(promotion, carriedOver)
  }
  if (branches.head === legacyBranch(values))
    for (const number of await openUnmarked(forge, branches)) await forge.update(number, { title, body })
  const known = await findOurs(forge, promotion)
  if (known) {
    // Opened for an earlier promotion on the shared branch by a process that stopped before it recorded it.
    if (known.state === 'open' && isMarkedForAnother(promotion, known))
      await forge.update(known.number, { title, body })
    return seen(promotion, known)
  }
  try {
    await forge.create({ ...branches, title, body, labels: spec.labels ?? [] })
  } catch (error) {
    // The forge may have opened it despite the error, for this request or for an earlier one.
    const opened = await findOurs(forge, promotion)
    if (!opened) throw await clearer(error, work)
    return seen(promotion, opened)
  }
  const opened = await findOurs(forge, promotion)
  if (!opened) throw transient('GitProviderUnavailable', 'the forge does not list the pull request it has just opened')
  return seen(promotion, opened)
}

/** A forge's own explanation is not shown, so the most frequent one is found out: the base branch is gone. */
async function clearer(error: unknown, { promotion, access }: PullRequestWork): Promise<unknown> {
  const { base } = branchesOf(promotion)
  const known = await access.git.branches(base).catch(() => undefined)
  return !known || known.has(base) ? error : baseNotFound(base)
}

function baseNotFound(base: string): PromotionError {
  return permanent('BaseBranchNotFound', `the base branch does not exist: ${base}`)
}

/** Reads the state of the pull request and resolves a conflict. With `autoMerge` and open gates it merges exactly the promotion's commit. */
export async function poll(work: PullRequestWork): Promise<EffectResult> {
  const { promotion, spec, paused } = work
  const forge = work.access.forge()
  const { headSHA } = promotion
  let pull = await recordedPull(work)
  const { number } = pull
  let refusal: LastError | undefined
  if (pull.state === 'open' && headSHA && paused !== 'all') {
    const rebased = await rebase(work, pull)
    if ('result' in rebased) return rebased
    pull = rebased
    if (spec.autoMerge && paused === 'no' && !isModified(promotion, pull)) {
      const isMerged = await forge.merge(number, headSHA)
      if (isMerged) pull = await forge.get(number)
      else refusal = mergeRefused(pull)
    }
  }
  // Closed although its change is on the base branch: merged by other means.
  if (pull.state === 'closed' && promotion.phase !== 'Rejected' && (await isOnBase(work)))
    pull = { ...pull, state: 'merged' }
  if (pull.state === 'merged') await deleteBranch(work).catch(() => undefined)
  const checks = pull.state === 'open' && pull.headSHA ? await summaryOfChecks(forge, pull.headSHA) : undefined
  const pullRequest = { ...statusOf(promotion, pull), ...(checks ? { checks } : {}) }
  return { result: 'seen', pullRequest, ...(refusal ? { refusal } : {}) }
}

/**
 * The recorded pull request. It counts as closed once it was deleted, and where its number belongs to another one: the repository may
 * have been created anew. Throws when the repository itself does not exist.
 */
async function recordedPull({ promotion, access }: PullRequestWork): Promise<PullRequest> {
  const { pullRequest: { number, url } = { number: 0, url: '' }, id } = promotion
  const branches = branchesOf(promotion)
  try {
    const pull = await access.forge().get(number)
    if (pull.head === branches.head || pull.body.includes(promotionMark(id))) return pull
  } catch (error) {
    if (!(error instanceof PromotionError) || error.httpStatus !== 404) throw error
    await access.git.branches(branches.base)
  }
  const unknown = { headSHA: undefined, mergeSHA: undefined, createdAt: undefined, closedAt: undefined }
  return { number, url, ...branches, ...unknown, state: 'closed', body: '', labels: [] }
}

/** Whether the base branch still has the promotion's value. */
export async function recheck(work: PullRequestWork): Promise<EffectResult> {
  const isHeld = await isOnBase(work)
  if (isHeld === undefined) throw baseNotFound(branchesOf(work.promotion).base)
  return { result: 'rechecked', isHeld }
}

/**
 * Puts the promotion's commit on top of the base branch when it conflicts there, or its branch is gone; returns the pull request when nothing was to do. The push
 * replaces the promotion's own commit only, and a commit pushed by a process that stopped before it recorded it is recognised:
 * the same parent and values give the same commit.
 */
async function rebase(work: PullRequestWork, pull: PullRequest): Promise<EffectResult | PullRequest> {
  const { promotion, values, access, spec } = work
  const { git, sign } = access
  const { branch = '', headSHA = '', strategy } = promotion
  const isMoved = isModified(promotion, pull)
  if (!isMoved && !pull.isConflicting) return pull
  const baseBranch = strategy?.baseBranch ?? ''
  const tips = await git.branches(baseBranch, branch)
  const [base, tip] = [tips.get(baseBranch), tips.get(branch)]
  // Without its branch, which a person deleted, GitLab leaves it open and says that it conflicts: the branch is pushed once more.
  const isOurs = isMoved ? tip !== undefined : tip === headSHA || tip === undefined
  if (!base || !isOurs) return pull
  const parent = isMoved && tip ? await parentOf(git, tip) : base
  if (!parent) return pull
  const change = await prepareChange(git, parent, { promotion, values, settings: spec, sign })
  // Another commit has set the value on the base branch: nothing is left to propose.
  if (change.change === 'same') return isMoved ? pull : { result: 'applied', because: 'AlreadyApplied', baseSHA: base }
  const result = { result: 'pushed', baseSHA: parent, headSHA: change.commit, value: values.value } as const
  if (isMoved) return change.commit === tip ? result : pull
  // Nothing on top of the base branch conflicts with it: Gitea says so of a draft, too, and until it has looked.
  if (change.commit === tip) return { ...pull, isConflicting: false }
  const refusal = await git.push({ branch, from: tip ?? noObject, to: change.commit, objects: change.objects })
  if (refusal)
    throw transient(
      'PullRequestConflict',
      `${pull.url} conflicts with ${baseBranch}, and the server rejected its rebase: ${refusal}`,
    )
  return result
}

async function parentOf(git: GitRemote, tip: string): Promise<string | undefined> {
  const commit = (await git.fetch({ wants: [tip], depth: 1, withoutBlobs: true })).get(tip)
  return commit && parseCommit(commit.content).parents[0]
}

function mergeRefused({ url, isConflicting }: PullRequest): LastError {
  const why = isConflicting
    ? 'it conflicts with its base branch'
    : 'a required check or review is missing, or the branch is protected'
  return { class: 'Transient', reason: 'MergeRefused', message: `the forge did not merge ${url}: ${why}` }
}

/** The checks of a pull request in one line. For information only, so an error is no reason to fail. */
async function summaryOfChecks(forge: Forge, sha: string): Promise<string | undefined> {
  const checks = await forge.checks(sha).catch(() => [])
  const failed = checks.filter(({ state }) => state === 'failure').map(({ name }) => name)
  const passed = checks.filter(({ state }) => state === 'success').length
  if (checks.length === 0) return undefined
  return `${passed} of ${checks.length} checks passed${failed.length > 0 ? `, failed: ${failed.slice(0, 5).join(', ').slice(0, 200)}` : ''}`
}

/** Closes the pull request with a comment, and deletes the branch if others have not changed it. */
export async function withdraw(work: PullRequestWork, why: string): Promise<EffectResult> {
  const { promotion } = work
  const forge = work.access.forge()
  const pulls = promotion.pullRequest
    ? [await recordedPull(work)]
    : (await forge.list(branchesOf(promotion))).filter((pull) => isOurs(promotion, pull))
  for (const pull of pulls.filter(({ state }) => state === 'open')) {
    await forge.close(pull.number)
    await forge.comment(pull.number, why).catch(() => undefined)
  }
  await deleteBranch(work)
  const [pull] = pulls
  if (!pull) return { result: 'withdrawn' }
  const state = pull.state === 'open' ? 'closed' : pull.state
  return { result: 'withdrawn', pullRequest: statusOf(promotion, { ...pull, state }) }
}

function branchesOf({ branch = '', strategy }: Promotion): { head: string; base: string } {
  return { head: branch, base: strategy?.baseBranch ?? '' }
}

/** The promotion's pull request: the oldest open one, else a merged one, else any. Closes surplus open ones. */
async function findOurs(forge: Forge, promotion: Promotion): Promise<PullRequest | undefined> {
  const found = (await forge.list(branchesOf(promotion)))
    .filter((pull) => isOurs(promotion, pull))
    .toSorted((left, right) => left.number - right.number)
  const [first, ...surplus] = found.filter(({ state }) => state === 'open')
  for (const { number } of surplus) await forge.close(number)
  return first ?? found.find(({ state }) => state === 'merged') ?? found[0]
}

/**
 * Whether a pull request belongs to this promotion. A branch named after the promotion proves it; on a shared
 * branch the mark in its body does, or, while it is open, the mark of any promotion.
 */
function isOurs(promotion: Promotion, pull: PullRequest): boolean {
  const { id, branch = '' } = promotion
  if (branch.endsWith(`-${id.slice(0, 8)}`) || pull.body.includes(promotionMark(id))) return true
  return pull.state === 'open' && isMarkedForAnother(promotion, pull)
}

function isMarkedForAnother({ id }: Promotion, { body }: PullRequest): boolean {
  return isMarked(body) && !body.includes(promotionMark(id))
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
    ...(pull.isConflicting ? { isConflicting: true } : {}),
    ...(mergeSHA ? { mergeSHA } : {}),
  }
}

/** Whether others have pushed to the branch. Bitbucket Cloud shortens commit ids, hence the prefix. */
function isModified({ headSHA }: Promotion, pull: PullRequest): boolean {
  return headSHA !== undefined && pull.headSHA !== undefined && !headSHA.startsWith(pull.headSHA)
}

const historyDepth = 50

/** The promotion's commit on an existing branch; others may have added commits on top of it. */
async function ourCommitOn(git: GitRemote, tip: string, { id, branch }: Promotion): Promise<string> {
  const store = await git.fetch({ wants: [tip], depth: historyDepth, withoutBlobs: true })
  for (const [commit, object] of store)
    if (object.type === 'commit' && isCommitOf(id, parseCommit(object.content).message)) return commit
  throw permanent('BranchNotOurs', `branch ${branch} exists but has no commit of this promotion; rename or delete it`)
}

/** Whether the base branch has the promotion's value; undefined when there is no such branch. */
async function isOnBase({ promotion, values, access, spec }: PullRequestWork): Promise<boolean | undefined> {
  const baseBranch = branchesOf(promotion).base
  const base = (await access.git.branches(baseBranch)).get(baseBranch)
  return base === undefined ? undefined : holdsValue(access.git, base, { promotion, values, settings: spec })
}

/** Deletes the branch only while its tip is the promotion's own commit; the server checks that again. */
async function deleteBranch({ promotion, access }: PullRequestWork): Promise<void> {
  const { branch = '', headSHA, replacesSHA, id } = promotion
  const tip = (await access.git.branches(branch)).get(branch)
  if (!tip) return
  const isOurTip =
    tip === headSHA || tip === replacesSHA || (headSHA === undefined && (await isOurCommit(access.git, tip, id)))
  if (isOurTip) await access.git.push({ branch, from: tip, to: noObject, objects: [] })
}

async function isOurCommit(git: GitRemote, tip: string, id: string): Promise<boolean> {
  const commit = (await git.fetch({ wants: [tip], depth: 1, withoutBlobs: true })).get(tip)
  return commit !== undefined && isCommitOf(id, parseCommit(commit.content).message)
}

/** The branch name that pipeline-controller used. */
function legacyBranch({ namespace, pipeline, environment, id }: TemplateValues): string {
  return branchName({ namespace, name: pipeline, environment, id }, 'legacy')
}

/** Takes over pull requests that pipeline-controller left open if they carry this value, and closes them otherwise. */
async function takeOverLegacy(work: PullRequestWork, tip: string): Promise<boolean> {
  const { promotion, values, access, spec } = work
  const forge = access.forge()
  const open = await openUnmarked(forge, { head: legacyBranch(values), base: promotion.strategy?.baseBranch ?? '' })
  if (open.length === 0) return false
  if (await holdsValue(access.git, tip, { promotion, values, settings: spec })) return true
  for (const number of open) {
    await forge.close(number)
    await forge
      .comment(number, `Closed by the promotion pipeline: superseded by promotion ${promotion.id}.`)
      .catch(() => undefined)
  }
  return false
}

/** Numbers of the open pull requests between these branches that carry no promotion's mark. */
async function openUnmarked(
  forge: Forge,
  branches: { readonly head: string; readonly base: string },
): Promise<number[]> {
  const found = await forge.list(branches)
  return found.filter(({ state, body }) => state === 'open' && !isMarked(body)).map(({ number }) => number)
}

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
  if (!base) throw baseNotFound(branch)
  const change = await prepareChange(git, base, { promotion, values, settings: spec, sign })
  if (change.change === 'same') return { result: 'applied', because: 'AlreadyApplied', baseSHA: base }
  const refusal = await git.push({ branch, from: base, to: change.commit, objects: change.objects })
  if (refusal) throw transient('GitProviderUnavailable', `the server rejected the push: ${refusal}`)
  return { result: 'applied', because: 'Committed', baseSHA: base, headSHA: change.commit }
}
