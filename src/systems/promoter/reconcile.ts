import type { ProcessParts } from '../../runtime/process-parts.ts'
import { approval as approvalKind, type Approval } from '../../apis/approval.ts'
import { pipeline as pipelineKind, type Pipeline } from '../../apis/pipeline.ts'
import { removeOwn } from '../../departures/subjects/own-machinery.ts'
import { keyFromString } from '../../kube/key.ts'
import type { StoredObject } from '../../kube/object.ts'
import { healthStatus } from '../../kube/conditions.ts'
import { deepEqual } from '../../kube/patches/patch.ts'
import { ignoring } from '../../kube/status-error.ts'
import { settled, wakeAt, type Outcome } from '../../runtime/controller/outcome.ts'
import { expiredApprovals } from './decision/approvals.ts'
import { decide, type Decision } from './decision/decide.ts'
import type { Observed } from './decision/draft.ts'
import { publishAnnouncements, type AnnouncePorts, measureStatus } from './effects/promoter-metrics.ts'
import type { EffectRunner } from './effects/effect-runner.ts'
import type { TargetAccess, SecretVersions } from './targets/target-access.ts'
import type { TargetObserver } from './targets/target-observer.ts'
import { validPlan, type Plan, type TargetPlan } from './model/plan.ts'

/** Holds a pipeline's deletion until its branches and pull requests have been withdrawn. */
export const finalizer = 'sojourn.dev/promotions'

export interface ReconcilePorts extends AnnouncePorts, Pick<ProcessParts, 'client' | 'clock'> {
  readonly observer: TargetObserver
  readonly access: Pick<TargetAccess, 'refusals'>
  readonly secrets: SecretVersions
  /** All Approvals that name this pipeline. */
  readonly approvalsOf: (place: { readonly namespace?: string; readonly name: string }) => readonly Approval[]
  readonly runner: EffectRunner
  readonly isFrozen: () => boolean
  readonly dryRun: boolean
  /** Reconcile at `spec.interval` even if nothing has changed. */
  readonly resync: boolean
  /** Called with the pipeline as written, so that no reconcile reads an older version from the cache. */
  readonly onWrite: (pipeline: Pipeline) => void
}

interface Context {
  readonly ports: ReconcilePorts
  readonly signal: AbortSignal
}

const conflictDelayMs = 1000
const startingDelayMs = 1000

/** Reconciles one pipeline: observe, decide, write the status, and only then start the effect. */
export async function reconcilePipeline(
  key: string,
  pipeline: Pipeline | undefined,
  { ports, signal }: Context,
): Promise<Outcome> {
  if (!pipeline) return forgetPipeline(key, ports)
  const plan = validPlan(pipeline)
  const refusals = await refusalsOf(pipeline, plan, ports)
  // No cache is opened, and no cluster asked, for what the creator may not read.
  if (plan) ports.observer.follow(key, withoutTargets(plan, refusals), pipeline.spec.adapter)
  // Reading may open a cache, so it comes before the question whether one is still being filled.
  const targets = readTargets(key, { plan, refusals }, ports)
  ports.metrics.sources.set({}, ports.observer.size)
  if (plan && !pipeline.metadata.deletionTimestamp && ports.observer.isStarting(key))
    return wakeAt(ports.clock.now() + startingDelayMs)
  const observed = observe(pipeline, ports, { targets, secretVersions: secretVersions(key, pipeline, ports) })
  return act(pipeline, decide(observed, ports.clock.now()), { ports, signal })
}

/** The decision a reconcile would make now. Writes and starts nothing. */
export async function previewPipeline(key: string, pipeline: Pipeline, ports: ReconcilePorts): Promise<Decision> {
  const plan = validPlan(pipeline)
  const targets = readTargets(key, { plan, refusals: await refusalsOf(pipeline, plan, ports) }, ports)
  return decide(observe(pipeline, ports, { targets, secretVersions: {} }), ports.clock.now())
}

/** The state of every target, by environment, from the caches; of those the creator may not read, only that. */
function readTargets(
  key: string,
  { plan, refusals }: { readonly plan: Plan | undefined; readonly refusals: Refusals },
  { observer }: ReconcilePorts,
): Observed['targets'] {
  if (!plan) return {}
  const read = (target: TargetPlan) => observer.read(key, target, refusals.get(target))
  return Object.fromEntries(plan.environments.map(({ name, targets }) => [name, targets.map(read)]))
}

type Refusals = Awaited<ReturnType<TargetAccess['refusals']>>

async function refusalsOf(pipeline: Pipeline, plan: Plan | undefined, { access }: ReconcilePorts): Promise<Refusals> {
  return plan ? access.refusals(pipeline, plan) : new Map()
}

function withoutTargets(plan: Plan, refusals: Refusals): Plan {
  const isAllowed = (target: TargetPlan) => !refusals.has(target)
  return {
    ...plan,
    environments: plan.environments.map((each) => ({ ...each, targets: each.targets.filter(isAllowed) })),
  }
}

function observe(
  pipeline: Pipeline,
  ports: ReconcilePorts,
  outside: Pick<Observed, 'targets' | 'secretVersions'>,
): Observed {
  const { busy, polledAt } = ports.runner
  const approvals = ports.approvalsOf(pipeline.metadata)
  return { pipeline, ...outside, frozen: ports.isFrozen(), dryRun: ports.dryRun, busy, polledAt, approvals }
}

async function act(pipeline: Pipeline, decision: Decision, context: Context): Promise<Outcome> {
  const { ports } = context
  if (pipeline.metadata.deletionTimestamp && decision.canBeDeleted) {
    await setFinalizer(pipeline, false, context)
    publishAnnouncements(pipeline, decision.announcements, ports)
    return settled
  }
  // The finalizer comes before the first push: without it, a deletion would leave the pull request open.
  if (decision.effect?.do === 'push' && !hasFinalizer(pipeline)) {
    await setFinalizer(pipeline, true, context)
    return wakeAt(ports.clock.now())
  }
  const isUnchanged = deepEqual(decision.status, pipeline.status)
  const current = isUnchanged ? pipeline : await writeStatus(pipeline, decision, context)
  if (!current) return wakeAt(ports.clock.now() + conflictDelayMs)
  publishAnnouncements(pipeline, decision.announcements, ports)
  const { status: before } = pipeline
  measureStatus(ports.metrics, { pipeline, before, after: decision.status, now: ports.clock.now() })
  if (decision.effect) ports.runner.start(decision.effect, current)
  await writeApprovalStatuses(decision, context)
  await deleteApprovals(decision.expired, ports)
  return wakeAt(ports.resync ? decision.wakeAt : decision.changesAt)
}

/** The pipeline as written; undefined after a conflict, when the decision is out of date and must not be acted on. */
async function writeStatus(
  pipeline: Pipeline,
  { status }: Decision,
  { ports, signal }: Context,
): Promise<Pipeline | undefined> {
  const written = await ports.client
    .update<Pipeline>(pipelineKind.type, { ...pipeline, status }, { subresource: 'status', signal })
    .catch(ignoring('Conflict', 'NotFound'))
  if (written) ports.onWrite(written)
  return written
}

async function writeApprovalStatuses({ approvals }: Decision, { ports, signal }: Context): Promise<void> {
  for (const [approval, { state, reason, message = '' }] of approvals) {
    const health = state === 'Counted' ? 'ready' : 'stalled'
    const status = { state, reason, message, ...healthStatus(approval, { health, reason, message }, ports.clock.now()) }
    if (deepEqual(approval.status, status)) continue
    await ports.client
      .update(approvalKind.type, { ...approval, status }, { subresource: 'status', signal })
      .catch(ignoring('Conflict', 'NotFound'))
  }
}

const maxDeletions = 50

/** In batches: each deletion triggers the next reconcile. */
async function deleteApprovals(expired: readonly Approval[], { client }: ReconcilePorts): Promise<void> {
  for (const approval of expired.slice(0, maxDeletions))
    await removeOwn(client, approvalKind.type, approval as Approval & StoredObject)
}

async function setFinalizer(pipeline: Pipeline, wanted: boolean, { ports, signal }: Context): Promise<void> {
  if (hasFinalizer(pipeline) === wanted) return
  const { finalizers = [], resourceVersion, namespace = '', name } = pipeline.metadata
  const next = wanted ? [...finalizers, finalizer] : finalizers.filter((each) => each !== finalizer)
  const body = { metadata: { resourceVersion, finalizers: next } }
  const written = await ports.client
    .patch<Pipeline>(pipelineKind.type, { namespace, name }, { type: 'merge', body }, { signal })
    .catch(ignoring('Conflict', 'NotFound'))
  if (written && wanted) ports.onWrite(written)
}

function hasFinalizer({ metadata }: Pipeline): boolean {
  return metadata.finalizers?.includes(finalizer) ?? false
}

/** Cleans up after a deleted pipeline. Its Approvals are garbage collected or, without an owner, deleted when they expire. */
async function forgetPipeline(key: string, ports: ReconcilePorts): Promise<Outcome> {
  const { observer, secrets, metrics, clock, dryRun } = ports
  observer.forget(key)
  secrets.follow(key, '', new Set())
  metrics.sources.set({}, observer.size)
  const { expired, nextAt } = expiredApprovals(ports.approvalsOf(keyFromString(key)), {}, clock.now())
  if (!dryRun) await deleteApprovals(expired, ports)
  return nextAt === Infinity ? settled : wakeAt(nextAt)
}

/** Secret versions by environment. Followed where something has failed only: a changed Secret retries that. */
function secretVersions(
  key: string,
  { metadata, status }: Pipeline,
  { secrets }: ReconcilePorts,
): Record<string, string> {
  const { namespace = '' } = metadata
  const failed = Object.entries(status?.environments ?? {}).flatMap(([environment, { promotion }]) => {
    if (promotion?.phase !== 'Failed' && !(promotion?.withdraw === 'Due' && promotion.lastError)) return []
    const { secretName, signingSecretName } = promotion.strategy ?? {}
    return [{ environment, names: [secretName, signingSecretName].filter((name) => name !== undefined) }]
  })
  secrets.follow(key, namespace, new Set(failed.flatMap(({ names }) => names)))
  return Object.fromEntries(
    failed.map(({ environment, names }) => [
      environment,
      names.map((name) => secrets.versionOf(key, namespace, name)).join('+'),
    ]),
  )
}
