import { backoffDelay } from '../../kube/basics/backoff-delay.ts'
import { jobs, pods } from '../../kube/core-types.ts'
import { keyOf, type Key } from '../../kube/key.ts'
import { ignoring } from '../../kube/status-error.ts'
import { formatTime, parseTime } from '../../kube/time.ts'
import { Controller } from '../../runtime/controller/controller.ts'
import { settled, wakeAt, type Outcome } from '../../runtime/controller/outcome.ts'
import { indexAnnotation, indexOf, isTracked, releasable, tallyOf, trackingFinalizer } from './job-tally.ts'
import { createNew, writeStatus, type WorkloadPorts } from '../ports.ts'
import { removeFinishedJob, removeOwned } from '../remove.ts'
import { ownerKeys } from './replica-sets.ts'
import {
  controllerRef,
  controllerUid,
  isPodFinished,
  isPodReady,
  type Container,
  type Pod,
  type PodSpec,
  type PodTemplate,
} from '../types.ts'
import type { StoredObject } from '../../kube/object.ts'

/** A Job, as far as it matters here. */
export interface Job extends StoredObject {
  readonly spec: {
    readonly template: PodTemplate
    readonly completions?: number
    readonly completionMode?: 'NonIndexed' | 'Indexed'
    readonly parallelism?: number
    readonly backoffLimit?: number
    readonly activeDeadlineSeconds?: number
    readonly ttlSecondsAfterFinished?: number
    readonly suspend?: boolean
  }
  readonly status?: {
    readonly startTime?: string
    readonly completionTime?: string
    readonly conditions?: readonly JobCondition[]
    readonly succeeded?: number
    readonly failed?: number
    readonly completedIndexes?: string
    /** By uid, Pods whose end is noted here and not part of the sums yet. */
    readonly uncountedTerminatedPods?: { readonly succeeded?: readonly string[]; readonly failed?: readonly string[] }
  }
}

interface JobCondition {
  readonly type: string
  readonly status: string
  readonly reason?: string
  readonly message?: string
  readonly lastProbeTime?: string
  readonly lastTransitionTime?: string
}

/** What a Job needs next. */
export type JobStep =
  | { readonly do: 'finish'; readonly as: 'Complete' | 'Failed'; readonly reason: string; readonly message: string }
  /** `indexes`: which of an indexed Job's Pods, instead of any. */
  | { readonly do: 'start'; readonly count: number; readonly notBefore: number; readonly indexes?: readonly number[] }
  | { readonly do: 'suspend' }
  | { readonly do: 'wait'; readonly until?: number }

/** Decides on a Job from its Pods: done, failed too often or too slow, or more Pods wanted. */
export function planJob(job: Job, owned: readonly Pod[], now: number): JobStep {
  const { completions, parallelism = 1, backoffLimit = 6, activeDeadlineSeconds, suspend } = job.spec
  const isIndexed = job.spec.completionMode === 'Indexed'
  const { succeeded, failed, completedIndexes } = tallyOf(job, owned)
  const active = owned.filter((pod) => !isPodFinished(pod) && !pod.metadata.deletionTimestamp).length
  const startedAt = parseTime(job.status?.startTime) ?? now
  if (succeeded >= (completions ?? 1) && (completions !== undefined || active === 0))
    return {
      do: 'finish',
      as: 'Complete',
      reason: 'CompletionsReached',
      message: 'Reached expected number of succeeded pods',
    }
  if (failed > backoffLimit || hasRestartedTooOften(job, owned, backoffLimit))
    return {
      do: 'finish',
      as: 'Failed',
      reason: 'BackoffLimitExceeded',
      message: 'Job has reached the specified backoff limit',
    }
  if (suspend) return { do: 'suspend' }
  const deadlineAt = activeDeadlineSeconds === undefined ? undefined : startedAt + activeDeadlineSeconds * 1000
  if (deadlineAt !== undefined && now >= deadlineAt)
    return {
      do: 'finish',
      as: 'Failed',
      reason: 'DeadlineExceeded',
      message: 'Job was active longer than specified deadline',
    }
  const remaining = completions === undefined ? (succeeded > 0 ? 0 : parallelism) : completions - succeeded
  const missing = Math.min(parallelism, remaining) - active
  if (missing <= 0) return { do: 'wait', ...(deadlineAt === undefined ? {} : { until: deadlineAt }) }
  const indexes = isIndexed ? { indexes: openIndexes(completions ?? 1, completedIndexes, owned).slice(0, missing) } : {}
  return { do: 'start', count: missing, notBefore: backoffUntil(failed, owned), ...indexes }
}

/** A Pod that restarts its containers itself does not fail; its restarts count instead. */
function hasRestartedTooOften(job: Job, owned: readonly Pod[], backoffLimit: number): boolean {
  if (job.spec.template.spec.restartPolicy !== 'OnFailure') return false
  const restarts = owned
    .filter((pod) => !isPodFinished(pod))
    .flatMap(({ status }) => [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])])
    .reduce((sum, { restartCount }) => sum + restartCount, 0)
  return backoffLimit === 0 ? restarts > 0 : restarts >= backoffLimit
}

/** Those that have neither succeeded nor a Pod that tries. */
function openIndexes(completions: number, completed: readonly number[], owned: readonly Pod[]): readonly number[] {
  const trying = owned.filter((pod) => pod.status?.phase !== 'Failed').map(indexOf)
  const taken = new Set([...completed, ...trying])
  return Array.from({ length: completions }, (_, index) => index).filter((index) => !taken.has(index))
}

/** By the Job they name, Pods that only we let go. */
function trackedBy(pod: Pod): readonly string[] {
  const { namespace = '', labels = {} } = pod.metadata
  return isTracked(pod) ? [`${namespace}/${labels[jobLabel] ?? ''}`] : []
}

function* jobKeys(pod: Pod): Generator<Key> {
  yield* ownerKeys(pod, 'Job')
  const name = pod.metadata.labels?.[jobLabel]
  if (isTracked(pod) && name)
    yield keyOf({ apiVersion: 'batch/v1', kind: 'Job', name, namespace: pod.metadata.namespace ?? '' })
}

const jobLabel = 'batch.kubernetes.io/job-name'

/** Runs Jobs to their end. */
export function jobController({ client, informers, ports, events }: WorkloadPorts): Controller {
  const all = informers.open<Job>(client, jobs)
  const owned = informers.open<Pod>(client, pods, { indexes: { controller: controllerUid, tracked: trackedBy } })
  const controller = new Controller({ name: 'jobs', reconcile, ports, concurrency: 2 })
  controller.watch(all)
  controller.watch(owned, ({ object }) => jobKeys(object))
  return controller

  async function reconcile(key: Key): Promise<Outcome> {
    if (!all.synced || !owned.synced) return settled
    const job = all.get(key.namespace, key.name)
    await releaseStrays(key, job)
    if (!job) return settled
    const mine = owned.byIndex('controller', job.metadata.uid)
    const finishedAt = finishTime(job)
    if (job.metadata.deletionTimestamp || finishedAt !== undefined) await release(key, releasable(mine))
    if (job.metadata.deletionTimestamp) return settled
    if (finishedAt !== undefined) return afterFinish(job, finishedAt)
    const now = ports.clock.now()
    const planned = planJob(job, mine, now)
    // Its end is told with all ends counted: that is so once its Pods have been let go.
    const step: JobStep = planned.do === 'finish' && !tallyOf(job, mine).isSettled ? { do: 'wait' } : planned
    if (step.do === 'start' && now >= step.notBefore) await startPods(key, job, step)
    await report(key, job, mine, step)
    await release(key, releasable(mine))
    if (step.do === 'finish' || step.do === 'suspend')
      for (const pod of mine)
        if (!isPodFinished(pod) && !pod.metadata.deletionTimestamp) await removeOwned(client, pods, pod)
    if (step.do === 'start' && now < step.notBefore) return wakeAt(step.notBefore)
    return step.do === 'wait' && step.until !== undefined ? wakeAt(step.until) : settled
  }

  /** Pods that name a Job which is gone, or another one by now, are counted by nobody. */
  async function releaseStrays(key: Key, job: Job | undefined): Promise<void> {
    const named = owned.byIndex('tracked', `${key.namespace}/${key.name}`)
    await release(
      key,
      named.filter((pod) => !job || !controllerUid(pod).includes(job.metadata.uid)),
    )
  }

  async function release(key: Key, which: readonly Pod[]): Promise<void> {
    for (const { metadata } of which) {
      const { namespace = '', name, resourceVersion, finalizers = [], deletionTimestamp } = metadata
      const rest = finalizers.filter((each) => each !== trackingFinalizer)
      const body = { metadata: { resourceVersion, finalizers: rest } }
      const place = { namespace, name }
      const written = await client.patch(pods, place, { type: 'merge', body }).catch(ignoring('NotFound', 'Conflict'))
      // One that was told to go is gone by this.
      if (written && !deletionTimestamp) controller.expect(key, written.metadata.resourceVersion, owned as never)
    }
  }

  async function startPods(key: Key, job: Job, step: Extract<JobStep, { do: 'start' }>): Promise<void> {
    for (let count = 0; count < step.count; count++) {
      const pod = await createNew(client, pods, podFor(job, step.indexes?.[count]))
      if (pod) controller.expect(key, pod.metadata.resourceVersion, owned as never)
    }
  }

  async function report(key: Key, job: Job, mine: readonly Pod[], step: JobStep): Promise<void> {
    const now = ports.clock.now()
    const active = mine.filter((pod) => !isPodFinished(pod) && !pod.metadata.deletionTimestamp)
    const { startTime = formatTime(now), ...before } = job.status ?? {}
    const status = {
      ...before,
      ...(step.do === 'suspend' ? {} : { startTime }),
      ...suspension(job, step, now),
      ...(step.do === 'finish' ? {} : { active: step.do === 'suspend' ? 0 : active.length }),
      ready: active.filter(isPodReady).length,
      ...tallyOf(job, mine).status,
      ...(step.do === 'finish' ? finishedStatus(job, step, now) : {}),
    }
    const written = await writeStatus(client, jobs, job, step.do === 'finish' ? { ...status, active: 0 } : status)
    if (written) controller.expect(key, written.metadata.resourceVersion)
    if (step.do === 'finish' && written)
      events.record(job, {
        type: step.as === 'Complete' ? 'Normal' : 'Warning',
        reason: step.as === 'Complete' ? 'Completed' : step.reason,
        message: step.as === 'Complete' ? 'Job completed' : step.message,
      })
  }

  async function afterFinish(job: Job, finishedAt: number): Promise<Outcome> {
    const { ttlSecondsAfterFinished } = job.spec
    if (ttlSecondsAfterFinished === undefined) return settled
    const leavesAt = finishedAt + ttlSecondsAfterFinished * 1000
    if (ports.clock.now() < leavesAt) return wakeAt(leavesAt)
    await removeFinishedJob(client, jobs, job)
    return settled
  }
}

function podFor(job: Job, index: number | undefined) {
  const { template } = job.spec
  const isIndexed = index !== undefined
  const name = isIndexed ? `${job.metadata.name}-${index}` : job.metadata.name
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...template.metadata,
      generateName: `${name}-`,
      namespace: job.metadata.namespace ?? '',
      labels: {
        'batch.kubernetes.io/job-name': job.metadata.name,
        'batch.kubernetes.io/controller-uid': job.metadata.uid,
        'job-name': job.metadata.name,
        'controller-uid': job.metadata.uid,
        ...template.metadata?.labels,
        ...(isIndexed ? { [indexAnnotation]: String(index) } : {}),
      },
      annotations: { ...template.metadata?.annotations, ...(isIndexed ? { [indexAnnotation]: String(index) } : {}) },
      ownerReferences: [controllerRef(jobs, job)],
      finalizers: [trackingFinalizer],
    },
    spec: isIndexed ? { ...withIndex(template.spec), hostname: name } : template.spec,
  }
}

/** Every container of an indexed Job's Pod knows which one it is. */
function withIndex(spec: PodSpec): PodSpec {
  const variable = {
    name: 'JOB_COMPLETION_INDEX',
    valueFrom: { fieldRef: { fieldPath: `metadata.annotations['${indexAnnotation}']` } },
  }
  const tell = (container: Container): Container => ({ ...container, env: [...(container.env ?? []), variable] })
  const { containers, initContainers } = spec
  return {
    ...spec,
    containers: containers.map(tell),
    ...(initContainers ? { initContainers: initContainers.map(tell) } : {}),
  }
}

/** Says so while a Job is suspended, and that it is no more after that. */
function suspension({ status }: Job, step: JobStep, now: number): { conditions?: readonly JobCondition[] } {
  const all = status?.conditions ?? []
  const before = all.find(({ type }) => type === 'Suspended')
  const isSuspended = step.do === 'suspend'
  if (!before && !isSuspended) return {}
  const value = isSuspended ? 'True' : 'False'
  if (before?.status === value) return {}
  const at = formatTime(now)
  const condition = {
    type: 'Suspended',
    status: value,
    reason: isSuspended ? 'JobSuspended' : 'JobResumed',
    message: isSuspended ? 'Job suspended' : 'Job resumed',
    lastProbeTime: at,
    lastTransitionTime: at,
  }
  return { conditions: [...all.filter(({ type }) => type !== 'Suspended'), condition] }
}

function finishedStatus(
  { status }: Job,
  { as, reason, message }: Extract<JobStep, { do: 'finish' }>,
  now: number,
): Record<string, unknown> {
  const at = formatTime(now)
  const condition = { status: 'True', reason, message, lastProbeTime: at, lastTransitionTime: at }
  const first = as === 'Complete' ? 'SuccessCriteriaMet' : 'FailureTarget'
  return {
    conditions: [...(status?.conditions ?? []), { type: first, ...condition }, { type: as, ...condition }],
    ...(as === 'Complete' ? { completionTime: at } : {}),
  }
}

function finishTime({ status }: Job): number | undefined {
  const condition = status?.conditions?.find(
    ({ type, status: is }) => is === 'True' && (type === 'Complete' || type === 'Failed'),
  )
  return condition && (parseTime(condition.lastTransitionTime) ?? 0)
}

/** Ten seconds after the first failure, then twice as long each time, six minutes at most. */
function backoffUntil(count: number, owned: readonly Pod[]): number {
  const failed = owned.filter(({ status }) => status?.phase === 'Failed')
  if (failed.length === 0) return 0
  const last = Math.max(
    ...failed.map(({ status }) =>
      Math.max(
        0,
        ...(status?.containerStatuses ?? []).map(({ state }) => parseTime(state.terminated?.finishedAt) ?? 0),
      ),
    ),
  )
  return last + backoffDelay(count, { baseMs: 10_000, maxMs: 360_000 })
}
