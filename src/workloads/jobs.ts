import type { Key } from '../kube/key.ts'
import { formatTime, parseTime } from '../kube/time.ts'
import { Controller } from '../runtime/controller.ts'
import { settled, wakeAt, type Outcome } from '../runtime/outcome.ts'
import { createNew, writeStatus, type WorkloadPorts } from './ports.ts'
import { removeFinishedJob, removeOwned } from './remove.ts'
import { ownerKeys } from './replica-sets.ts'
import {
  controllerRef,
  controllerUid,
  isPodFinished,
  isPodReady,
  jobs,
  pods,
  type Container,
  type Pod,
  type PodSpec,
  type PodTemplate,
} from './types.ts'
import type { StoredObject } from '../kube/object.ts'

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
  const succeeded = isIndexed
    ? completedIndexes(owned).length
    : owned.filter(({ status }) => status?.phase === 'Succeeded').length
  const failed = owned.filter(({ status }) => status?.phase === 'Failed')
  const active = owned.filter((pod) => !isPodFinished(pod) && !pod.metadata.deletionTimestamp).length
  const startedAt = parseTime(job.status?.startTime) ?? now
  if (succeeded >= (completions ?? 1) && (completions !== undefined || active === 0))
    return {
      do: 'finish',
      as: 'Complete',
      reason: 'CompletionsReached',
      message: 'Reached expected number of succeeded pods',
    }
  if (failed.length > backoffLimit || hasRestartedTooOften(job, owned, backoffLimit))
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
  const indexes = isIndexed ? { indexes: openIndexes(completions ?? 1, owned).slice(0, missing) } : {}
  return { do: 'start', count: missing, notBefore: backoffUntil(failed), ...indexes }
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

const indexAnnotation = 'batch.kubernetes.io/job-completion-index'

function indexOf({ metadata }: Pod): number {
  return Number(metadata.annotations?.[indexAnnotation] ?? Number.NaN)
}

/** In their order, each once. */
function completedIndexes(owned: readonly Pod[]): readonly number[] {
  const completed = owned.filter(({ status }) => status?.phase === 'Succeeded').map(indexOf)
  return [...new Set(completed)].filter(Number.isInteger).toSorted((left, right) => left - right)
}

/** Those that have neither succeeded nor a Pod that tries. */
function openIndexes(completions: number, owned: readonly Pod[]): readonly number[] {
  const taken = new Set(owned.filter((pod) => pod.status?.phase !== 'Failed').map(indexOf))
  return Array.from({ length: completions }, (_, index) => index).filter((index) => !taken.has(index))
}

/** `0-2,5`, as a Job's status has it. */
function ranges(indexes: readonly number[]): string {
  const runs: [number, number][] = []
  for (const index of indexes) {
    const last = runs.at(-1)
    if (last && last[1] === index - 1) last[1] = index
    else runs.push([index, index])
  }
  return runs.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(',')
}

/** Runs Jobs to their end. */
export function jobController({ client, informers, ports, events }: WorkloadPorts): Controller {
  const all = informers.open<Job>(client, jobs)
  const owned = informers.open<Pod>(client, pods, { indexes: { controller: controllerUid } })
  const controller = new Controller({ name: 'jobs', reconcile, ports, concurrency: 2 })
  controller.watch(all)
  controller.watch(owned, ({ object }) => ownerKeys(object, 'Job'))
  return controller

  async function reconcile(key: Key): Promise<Outcome> {
    const job = all.get(key.namespace, key.name)
    if (!job || job.metadata.deletionTimestamp || !owned.synced) return settled
    const finishedAt = finishTime(job)
    if (finishedAt !== undefined) return afterFinish(job, finishedAt)
    const mine = owned.byIndex('controller', job.metadata.uid)
    const now = ports.clock.now()
    const step = planJob(job, mine, now)
    if (step.do === 'start' && now >= step.notBefore) await startPods(key, job, step)
    await report(key, job, mine, step)
    if (step.do === 'finish' || step.do === 'suspend')
      for (const pod of mine)
        if (!isPodFinished(pod) && !pod.metadata.deletionTimestamp) await removeOwned(client, pods, pod)
    if (step.do === 'start' && now < step.notBefore) return wakeAt(step.notBefore)
    return step.do === 'wait' && step.until !== undefined ? wakeAt(step.until) : settled
  }

  async function startPods(key: Key, job: Job, step: Extract<JobStep, { do: 'start' }>): Promise<void> {
    for (let count = 0; count < step.count; count++) {
      const pod = await createNew(client, pods, podFor(job, step.indexes?.[count]))
      if (pod) controller.expect(key, pod.metadata.resourceVersion, owned as never)
    }
  }

  async function report(key: Key, job: Job, mine: readonly Pod[], step: JobStep): Promise<void> {
    const now = ports.clock.now()
    const count = (phase: string) => mine.filter(({ status }) => status?.phase === phase).length
    const active = mine.filter((pod) => !isPodFinished(pod) && !pod.metadata.deletionTimestamp)
    const { startTime = formatTime(now), ...before } = job.status ?? {}
    const isIndexed = job.spec.completionMode === 'Indexed'
    const status = {
      ...before,
      ...(step.do === 'suspend' ? {} : { startTime }),
      ...suspension(job, step, now),
      ...(step.do === 'finish' ? {} : { active: step.do === 'suspend' ? 0 : active.length }),
      ready: active.filter(isPodReady).length,
      succeeded: count('Succeeded'),
      failed: count('Failed'),
      ...(isIndexed ? { completedIndexes: ranges(completedIndexes(mine)) } : {}),
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
function backoffUntil(failed: readonly Pod[]): number {
  if (failed.length === 0) return 0
  const last = Math.max(
    ...failed.map(({ status }) =>
      Math.max(
        0,
        ...(status?.containerStatuses ?? []).map(({ state }) => parseTime(state.terminated?.finishedAt) ?? 0),
      ),
    ),
  )
  return last + Math.min(360_000, 10_000 * 2 ** (failed.length - 1))
}
