import { approval as approvalKind, type Approval } from '../../apis/approval.ts'
import { pipeline as pipelineKind, type Pipeline } from '../../apis/pipeline.ts'
import type { TargetStatus } from '../../apis/pipeline-status.ts'
import type { Client } from '../../client/client.ts'
import { removeOwn } from '../../departures/subjects/own-machinery.ts'
import { keyFromString } from '../../kube/key.ts'
import type { StoredObject } from '../../kube/object.ts'
import { deepEqual } from '../../kube/patch.ts'
import { ignoring } from '../../kube/status-error.ts'
import type { Clock } from '../../runtime/time/clock.ts'
import type { EventRecorder } from '../../runtime/observability/event-recorder.ts'
import type { Logger } from '../../runtime/observability/log.ts'
import { settled, wakeAt, type Outcome } from '../../runtime/controller/outcome.ts'
import { outdatedApprovals } from './decision/approvals.ts'
import { decide, type Decision } from './decision/decide.ts'
import { at, type Announcement } from './decision/draft.ts'
import type { EffectRunner } from './effects/effect-runner.ts'
import type { TargetObserver } from './targets/observe.ts'
import { PlanError, planOf, type Plan } from './model/plan.ts'
import { measurePhase, type PromoterMetrics } from './effects/promoter-metrics.ts'
import type { SecretVersions } from './targets/secret-versions.ts'

/** Keeps a pipeline from going before what it has open is closed. */
export const finalizer = 'sojourn.dev/promotions'

export interface ReconcilePorts {
  readonly client: Client
  readonly clock: Clock
  readonly log: Logger
  readonly events: EventRecorder
  readonly metrics: PromoterMetrics
  readonly observer: TargetObserver
  readonly secrets: SecretVersions
  /** Everything anybody has said about promotions of this pipeline. */
  readonly approvals: (place: { readonly namespace?: string; readonly name: string }) => readonly Approval[]
  readonly runner: EffectRunner
  readonly isFrozen: () => boolean
  readonly dryRun: boolean
  /** Whether to look again now and then though nothing has changed. */
  readonly resync: boolean
  /** The pipeline was written at this version. */
  readonly written: (pipeline: Pipeline) => void
}

const conflictMs = 1000
const startingMs = 1000

/** Brings one pipeline forward: observe, decide, write, and only then act. */
export async function reconcilePipeline(
  key: string,
  pipeline: Pipeline | undefined,
  ports: ReconcilePorts,
  signal: AbortSignal,
): Promise<Outcome> {
  if (!pipeline) return forget(key, ports)
  const plan = readPlan(pipeline)
  const targets = plan ? observe(key, pipeline, { plan, ports }) : {}
  if (plan && !pipeline.metadata.deletionTimestamp && ports.observer.isStarting(key))
    return wakeAt(ports.clock.now() + startingMs)
  const now = ports.clock.now()
  const decision = decide(
    {
      pipeline,
      targets,
      frozen: ports.isFrozen(),
      dryRun: ports.dryRun,
      busy: ports.runner.busy,
      polledAt: ports.runner.polledAt,
      secretVersions: secretVersions(key, pipeline, ports),
      approvals: ports.approvals(pipeline.metadata),
    },
    now,
  )
  return act(pipeline, decision, { ports, signal })
}

/** What a decision would be now, with nothing written or done. */
export function previewPipeline(
  key: string,
  pipeline: Pipeline,
  ports: Pick<ReconcilePorts, 'observer' | 'isFrozen' | 'dryRun' | 'runner' | 'approvals' | 'clock'>,
): Decision {
  const plan = readPlan(pipeline)
  const targets = plan ? readTargets(key, plan, ports.observer) : {}
  const { dryRun, runner, clock } = ports
  const { busy, polledAt } = runner
  const frozen = ports.isFrozen()
  const approvals = ports.approvals(pipeline.metadata)
  return decide({ pipeline, targets, frozen, dryRun, busy, polledAt, secretVersions: {}, approvals }, clock.now())
}

async function act(
  pipeline: Pipeline,
  decision: Decision,
  { ports, signal }: { readonly ports: ReconcilePorts; readonly signal: AbortSignal },
): Promise<Outcome> {
  if (pipeline.metadata.deletionTimestamp && decision.mayGo) {
    await setFinalizer(pipeline, false, { ports, signal })
    tell(pipeline, decision.announcements, ports)
    return settled
  }
  // The finalizer comes before anything is opened, or nobody would close it.
  if (decision.effect?.do === 'push' && !hasFinalizer(pipeline)) {
    await setFinalizer(pipeline, true, { ports, signal })
    return wakeAt(ports.clock.now())
  }
  const current = deepEqual(decision.status, pipeline.status)
    ? pipeline
    : await writeStatus(pipeline, decision, { ports, signal })
  if (!current) return wakeAt(ports.clock.now() + conflictMs)
  tell(pipeline, decision.announcements, ports)
  measure(pipeline, decision, ports)
  if (decision.effect) ports.runner.start(decision.effect, current)
  await answerApprovals(decision, { ports, signal })
  await removeApprovals(decision.outdated, ports)
  return wakeAt(ports.resync ? decision.wakeAt : decision.changesAt)
}

/** The pipeline as written; undefined when somebody else was faster, and nothing may be done on the strength of what we saw. */
async function writeStatus(
  pipeline: Pipeline,
  { status }: Decision,
  { ports, signal }: { readonly ports: ReconcilePorts; readonly signal: AbortSignal },
): Promise<Pipeline | undefined> {
  const written = await ports.client
    .update<Pipeline>(pipelineKind.type, { ...pipeline, status }, { subresource: 'status', signal })
    .catch(ignoring('Conflict', 'NotFound'))
  if (written) ports.written(written)
  return written
}

/** Tells approvals what became of them. */
async function answerApprovals(
  { approvals }: Decision,
  { ports, signal }: { readonly ports: ReconcilePorts; readonly signal: AbortSignal },
): Promise<void> {
  for (const [approval, status] of approvals) {
    if (deepEqual(approval.status, status)) continue
    await ports.client
      .update(approvalKind.type, { ...approval, status }, { subresource: 'status', signal })
      .catch(ignoring('Conflict', 'NotFound'))
  }
}

/** A few at a time: each that goes is a reason to look again. */
async function removeApprovals(outdated: readonly Approval[], { client }: ReconcilePorts): Promise<void> {
  for (const approval of outdated.slice(0, removedAtOnce))
    await removeOwn(client, approvalKind.type, approval as Approval & StoredObject)
}

const removedAtOnce = 50

async function setFinalizer(
  pipeline: Pipeline,
  wanted: boolean,
  { ports, signal }: { readonly ports: ReconcilePorts; readonly signal: AbortSignal },
): Promise<void> {
  if (hasFinalizer(pipeline) === wanted) return
  const { finalizers = [], resourceVersion, namespace = '', name } = pipeline.metadata
  const next = wanted ? [...finalizers, finalizer] : finalizers.filter((each) => each !== finalizer)
  const body = { metadata: { resourceVersion, finalizers: next } }
  const written = await ports.client
    .patch<Pipeline>(pipelineKind.type, { namespace, name }, { type: 'merge', body }, { signal })
    .catch(ignoring('Conflict', 'NotFound'))
  if (written && wanted) ports.written(written)
}

function hasFinalizer({ metadata }: Pipeline): boolean {
  return metadata.finalizers?.includes(finalizer) ?? false
}

/** What was said about a pipeline that is gone goes with it or, where it names no owner, when its time is up. */
async function forget(key: string, ports: ReconcilePorts): Promise<Outcome> {
  const { observer, secrets, metrics, clock, dryRun } = ports
  observer.forget(key)
  secrets.follow(key, '', new Set())
  metrics.sources.set({}, observer.size)
  const { outdated, nextAt } = outdatedApprovals(ports.approvals(keyFromString(key)), {}, clock.now())
  if (!dryRun) await removeApprovals(outdated, ports)
  return nextAt === Infinity ? settled : wakeAt(nextAt)
}

function readPlan({ spec, metadata }: Pipeline): Plan | undefined {
  try {
    return planOf(spec, metadata.namespace ?? '')
  } catch (error) {
    if (error instanceof PlanError) return undefined
    throw error
  }
}

function observe(
  key: string,
  pipeline: Pipeline,
  { plan, ports }: { readonly plan: Plan; readonly ports: ReconcilePorts },
): Record<string, TargetStatus[]> {
  ports.observer.follow(key, plan, pipeline.spec.adapter)
  ports.metrics.sources.set({}, ports.observer.size)
  return readTargets(key, plan, ports.observer)
}

function readTargets(key: string, plan: Plan, observer: TargetObserver): Record<string, TargetStatus[]> {
  return Object.fromEntries(
    plan.environments.map(({ name, targets }) => [name, targets.map((target) => observer.read(key, target))]),
  )
}

/** Only a failed promotion has a use for its Secrets' versions: until then they are read when they are needed. */
function secretVersions(
  key: string,
  { metadata, status }: Pipeline,
  { secrets }: ReconcilePorts,
): Record<string, string> {
  const { namespace = '' } = metadata
  const failed = Object.entries(status?.environments ?? {}).flatMap(([environment, { promotion }]) => {
    if (promotion?.phase !== 'Failed') return []
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

function tell(
  pipeline: Pipeline,
  announcements: readonly Announcement[],
  { events, metrics, log }: ReconcilePorts,
): void {
  const { namespace, name } = pipeline.metadata
  for (const { type, because, message, environment } of announcements) {
    events.record(pipeline, { type, reason: because, message })
    metrics.announcements.inc({ because })
    log.info('pipeline moved', { pipeline: `${namespace}/${name}`, because, ...(environment ? { environment } : {}) })
  }
}

function measure({ status: before }: Pipeline, { status }: Decision, { metrics, clock }: ReconcilePorts): void {
  const startedAt = at(status.run?.startedAt)
  for (const [environment, { passedRun, promotion }] of Object.entries(status.environments ?? {})) {
    measurePhase(metrics, before?.environments?.[environment]?.promotion, promotion)
    if (
      passedRun !== undefined &&
      passedRun !== before?.environments?.[environment]?.passedRun &&
      passedRun === status.run?.sequence
    )
      metrics.leadSeconds.observe({ environment }, Math.max(0, clock.now() - startedAt) / 1000)
  }
}
