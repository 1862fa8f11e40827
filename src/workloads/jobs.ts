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
  type Pod,
  type PodTemplate,
} from './types.ts'
import type { StoredObject } from '../kube/object.ts'

/** A Job, as far as it matters here. */
export interface Job extends StoredObject {
  readonly spec: {
    readonly template: PodTemplate
    readonly completions?: number
    readonly parallelism?: number
    readonly backoffLimit?: number
    readonly activeDeadlineSeconds?: number
    readonly ttlSecondsAfterFinished?: number
    readonly suspend?: boolean
  }
  readonly status?: {
    readonly startTime?: string
    readonly completionTime?: string
    readonly conditions?: readonly {
      readonly type: string
      readonly status: string
      readonly lastTransitionTime?: string
    }[]
  }
}

/** What a Job needs next. */
export type JobStep =
  | { readonly do: 'finish'; readonly as: 'Complete' | 'Failed'; readonly reason: string; readonly message: string }
  | { readonly do: 'start'; readonly count: number; readonly notBefore: number }
  | { readonly do: 'wait'; readonly until?: number }

/** Decides on a Job from its Pods: done, failed too often or too slow, or more Pods wanted. */
export function planJob(job: Job, owned: readonly Pod[], now: number): JobStep {
  const { completions, parallelism = 1, backoffLimit = 6, activeDeadlineSeconds, suspend } = job.spec
  const succeeded = owned.filter(({ status }) => status?.phase === 'Succeeded').length
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
  if (failed.length > backoffLimit)
    return {
      do: 'finish',
      as: 'Failed',
      reason: 'BackoffLimitExceeded',
      message: 'Job has reached the specified backoff limit',
    }
  const deadlineAt = activeDeadlineSeconds === undefined ? undefined : startedAt + activeDeadlineSeconds * 1000
  if (deadlineAt !== undefined && now >= deadlineAt)
    return {
      do: 'finish',
      as: 'Failed',
      reason: 'DeadlineExceeded',
      message: 'Job was active longer than specified deadline',
    }
  const remaining = completions === undefined ? (succeeded > 0 ? 0 : parallelism) : completions - succeeded
  const missing = suspend ? 0 : Math.min(parallelism, remaining) - active
  if (missing <= 0) return { do: 'wait', ...(deadlineAt === undefined ? {} : { until: deadlineAt }) }
  return { do: 'start', count: missing, notBefore: backoffUntil(failed) }
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
    if (step.do === 'start' && now >= step.notBefore) await startPods(key, job, step.count)
    await report(key, job, mine, step)
    if (step.do === 'finish')
      for (const pod of mine)
        if (!isPodFinished(pod) && !pod.metadata.deletionTimestamp) await removeOwned(client, pods, pod)
    if (step.do === 'start' && now < step.notBefore) return wakeAt(step.notBefore)
    return step.do === 'wait' && step.until !== undefined ? wakeAt(step.until) : settled
  }

  async function startPods(key: Key, job: Job, count: number): Promise<void> {
    const { template } = job.spec
    for (let index = 0; index < count; index++) {
      const pod = await createNew(client, pods, {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: {
          ...template.metadata,
          generateName: `${job.metadata.name}-`,
          namespace: job.metadata.namespace ?? '',
          labels: {
            'batch.kubernetes.io/job-name': job.metadata.name,
            'job-name': job.metadata.name,
            ...template.metadata?.labels,
          },
          ownerReferences: [controllerRef(jobs, job)],
        },
        spec: template.spec,
      })
      if (pod) controller.expect(key, pod.metadata.resourceVersion, owned as never)
    }
  }

  async function report(key: Key, job: Job, mine: readonly Pod[], step: JobStep): Promise<void> {
    const now = ports.clock.now()
    const count = (phase: string) => mine.filter(({ status }) => status?.phase === phase).length
    const active = mine.filter((pod) => !isPodFinished(pod) && !pod.metadata.deletionTimestamp)
    const status = {
      ...job.status,
      startTime: job.status?.startTime ?? formatTime(now),
      ...(step.do === 'finish' ? {} : { active: active.length }),
      ready: active.filter(isPodReady).length,
      succeeded: count('Succeeded'),
      failed: count('Failed'),
      ...(step.do === 'finish' ? finishedStatus(step, now) : {}),
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

function finishedStatus(
  { as, reason, message }: Extract<JobStep, { do: 'finish' }>,
  now: number,
): Record<string, unknown> {
  const at = formatTime(now)
  const condition = { status: 'True', reason, message, lastProbeTime: at, lastTransitionTime: at }
  const first = as === 'Complete' ? 'SuccessCriteriaMet' : 'FailureTarget'
  return {
    conditions: [
      { type: first, ...condition },
      { type: as, ...condition },
    ],
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
