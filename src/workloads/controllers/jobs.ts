import { backoffDelay } from '../../kube/basics/backoff-delay.ts'
import { jobs, pods } from '../../kube/core-types.ts'
import { keyOf, type Key } from '../../kube/key.ts'
import { placeOf, type StoredObject } from '../../kube/object.ts'
import type { LabelSelector } from '../../kube/selector.ts'
import { ignoring } from '../../kube/status-error.ts'
import { formatTime, parseTime } from '../../kube/time.ts'
import type { Informer } from '../../runtime/cache/informer.ts'
import type { Controller } from '../../runtime/controller/controller.ts'
import { settled, wakeAt, type Outcome } from '../../runtime/controller/outcome.ts'
import { indexAnnotation, indexOf, isTracked, releasable, tallyOf, trackingFinalizer } from './job-tally.ts'
import { ownerController, type Claims } from '../adoption.ts'
import { createNew, maxPodsAtOnce, writeStatus, whenRead, type WorkloadPorts } from '../ports.ts'
import { deleteFinishedJob, deleteOwned } from '../delete.ts'
import {
  controllerUid,
  isPodFinished,
  isPodReady,
  podOf,
  type Container,
  type Pod,
  type PodSpec,
  type PodTemplate,
} from '../types.ts'

/** The fields of a Job that the controller reads. */
export interface Job extends StoredObject {
  readonly spec: {
    readonly selector?: LabelSelector
    readonly template: PodTemplate
    readonly completions?: number
    readonly completionMode?: 'NonIndexed' | 'Indexed'
    readonly parallelism?: number
    readonly backoffLimit?: number
    readonly activeDeadlineSeconds?: number
    readonly ttlSecondsAfterFinished?: number
    readonly suspend?: boolean
    readonly podReplacementPolicy?: 'TerminatingOrFailed' | 'Failed'
    /** A controller other than this one, which must leave the Job alone. */
    readonly managedBy?: string
  }
  readonly status?: {
    readonly startTime?: string
    readonly completionTime?: string
    readonly conditions?: readonly JobCondition[]
    readonly succeeded?: number
    readonly failed?: number
    readonly completedIndexes?: string
    /** Uids of finished Pods that `succeeded` and `failed` do not include yet. */
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

/** The next step of a Job. */
export type JobStep =
  | { readonly do: 'finish'; readonly as: 'Complete' | 'Failed'; readonly reason: string; readonly message: string }
  /** `indexes`: of an indexed Job, which ones to start. */
  | { readonly do: 'start'; readonly count: number; readonly notBefore: number; readonly indexes?: readonly number[] }
  | { readonly do: 'suspend' }
  | { readonly do: 'wait'; readonly until?: number }

/** Plans the next step of a Job from its Pods: complete, failed, past its deadline, or in need of more Pods. */
export function planJob(job: Job, owned: readonly Pod[], now: number): JobStep {
  const { completions, parallelism = 1, backoffLimit = 6, activeDeadlineSeconds, suspend } = job.spec
  const waitsForEnd = job.spec.podReplacementPolicy === 'Failed'
  const isIndexed = job.spec.completionMode === 'Indexed'
  const { succeeded, failed, completedIndexes } = tallyOf(job, owned)
  const active = owned.filter((pod) => !isPodFinished(pod) && (waitsForEnd || !pod.metadata.deletionTimestamp)).length
  const startedAt = parseTime(job.status?.startTime) ?? now
  if (succeeded >= (completions ?? 1) && (completions !== undefined || active === 0))
    return finish('Complete', 'CompletionsReached', 'Reached expected number of succeeded pods')
  if (failed > backoffLimit || hasRestartedTooOften(job, owned, backoffLimit))
    return finish('Failed', 'BackoffLimitExceeded', 'Job has reached the specified backoff limit')
  if (suspend) return { do: 'suspend' }
  const deadlineAt = activeDeadlineSeconds === undefined ? undefined : startedAt + activeDeadlineSeconds * 1000
  if (deadlineAt !== undefined && now >= deadlineAt)
    return finish('Failed', 'DeadlineExceeded', 'Job was active longer than specified deadline')
  const remaining = completions === undefined ? (succeeded > 0 ? 0 : parallelism) : completions - succeeded
  const missing = Math.min(parallelism, remaining, active + maxPodsAtOnce) - active
  if (missing <= 0) return { do: 'wait', ...(deadlineAt === undefined ? {} : { until: deadlineAt }) }
  const indexes = isIndexed ? { indexes: openIndexes(completions ?? 1, missing, { completedIndexes, owned }) } : {}
  return { do: 'start', count: missing, notBefore: backoffUntil(failed, owned), ...indexes }
}

function finish(as: 'Complete' | 'Failed', reason: string, message: string): JobStep {
  return { do: 'finish', as, reason, message }
}

/** With restartPolicy OnFailure a Pod does not fail: the restarts of its containers count against the backoff limit. */
function hasRestartedTooOften(job: Job, owned: readonly Pod[], backoffLimit: number): boolean {
  if (job.spec.template.spec.restartPolicy !== 'OnFailure') return false
  const restarts = owned
    .filter((pod) => !isPodFinished(pod))
    .flatMap(({ status }) => [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])])
    .reduce((sum, { restartCount }) => sum + restartCount, 0)
  return backoffLimit === 0 ? restarts > 0 : restarts >= backoffLimit
}

/** The first indexes that neither succeeded nor have a running Pod. */
function openIndexes(
  completions: number,
  max: number,
  { completedIndexes, owned }: { readonly completedIndexes: readonly number[]; readonly owned: readonly Pod[] },
): readonly number[] {
  const trying = owned.filter((pod) => pod.status?.phase !== 'Failed').map(indexOf)
  const taken = new Set([...completedIndexes, ...trying])
  const open: number[] = []
  for (let index = 0; index < completions && open.length < max; index++) if (!taken.has(index)) open.push(index)
  return open
}

/** Index of tracked Pods by the Job their label names. */
function trackedBy(pod: Pod): readonly string[] {
  const { namespace = '', labels = {} } = pod.metadata
  return isTracked(pod) ? [`${namespace}/${labels[jobLabel] ?? ''}`] : []
}

function* jobKeys(pod: Pod): Generator<Key> {
  const name = pod.metadata.labels?.[jobLabel]
  if (isTracked(pod) && name)
    yield keyOf({ apiVersion: 'batch/v1', kind: 'Job', name, namespace: pod.metadata.namespace ?? '' })
}

const ourJobs = 'kubernetes.io/job-controller'
const jobLabel = 'batch.kubernetes.io/job-name'

/** Runs Jobs to completion. */
export function jobController(ports: WorkloadPorts): Controller {
  return new JobReconciler(ports).controller
}

class JobReconciler {
  readonly controller: Controller
  readonly #ports: WorkloadPorts
  readonly #jobs: Informer<Job>
  readonly #pods: Informer<Pod>
  readonly #claims: Claims<Job, Pod>

  constructor(ports: WorkloadPorts) {
    this.#ports = ports
    const { controller, owners, claims } = ownerController<Job, Pod>(ports, {
      ownerType: jobs,
      type: pods,
      indexes: { tracked: trackedBy },
      finalizer: trackingFinalizer,
      reconcile: (key) => this.#reconcile(key),
    })
    this.controller = controller
    this.#jobs = owners
    this.#pods = claims.dependents
    this.#claims = claims
    this.controller.watch(this.#pods, ({ object }) => jobKeys(object))
  }

  async #reconcile(key: Key): Promise<Outcome> {
    if (!this.#jobs.synced || !this.#pods.synced) return whenRead(this.#ports)
    const job = this.#jobs.get(key.namespace, key.name)
    if (job && (job.spec.managedBy ?? ourJobs) !== ourJobs) return settled
    await this.#releaseStrays(key, job)
    if (!job) return settled
    const finishedAt = finishTime(job)
    const owned =
      finishedAt === undefined ? await this.#claims.of(job) : this.#pods.byIndex('controller', job.metadata.uid)
    if (job.metadata.deletionTimestamp || finishedAt !== undefined) await this.#release(key, releasable(owned))
    if (job.metadata.deletionTimestamp) return settled
    return finishedAt === undefined ? this.#advance(key, job, owned) : this.#deleteExpired(job, finishedAt)
  }

  async #advance(key: Key, job: Job, owned: readonly Pod[]): Promise<Outcome> {
    const now = this.#ports.ports.clock.now()
    const planned = planJob(job, owned, now)
    // A Job is finished only when every Pod is counted, which takes the removal of the Pods' finalizers.
    const step: JobStep = planned.do === 'finish' && !tallyOf(job, owned).isSettled ? { do: 'wait' } : planned
    if (step.do === 'start' && now >= step.notBefore) await this.#startPods(key, job, step)
    await this.#report(key, job, { owned, step })
    await this.#release(key, releasable(owned))
    if (step.do === 'finish' || step.do === 'suspend') await this.#stopPods(owned)
    if (step.do === 'start' && now < step.notBefore) return wakeAt(step.notBefore)
    return step.do === 'wait' && step.until !== undefined ? wakeAt(step.until) : settled
  }

  async #stopPods(owned: readonly Pod[]): Promise<void> {
    const { client } = this.#ports
    for (const pod of owned)
      if (!isPodFinished(pod) && !pod.metadata.deletionTimestamp) await deleteOwned(client, pods, pod)
  }

  /** Releases tracked Pods whose Job no longer exists, or was recreated: no Job counts them. */
  async #releaseStrays(key: Key, job: Job | undefined): Promise<void> {
    const named = this.#pods.byIndex('tracked', `${key.namespace}/${key.name}`)
    await this.#release(
      key,
      named.filter((pod) => !job || !controllerUid(pod).includes(job.metadata.uid)),
    )
  }

  /** Removes the tracking finalizer. */
  async #release(key: Key, released: readonly Pod[]): Promise<void> {
    for (const { metadata } of released) {
      const { resourceVersion, finalizers = [], deletionTimestamp } = metadata
      const rest = finalizers.filter((each) => each !== trackingFinalizer)
      const body = { metadata: { resourceVersion, finalizers: rest } }
      const written = await this.#ports.client
        .merge<StoredObject>(pods, placeOf(metadata), body)
        .catch(ignoring('NotFound', 'Conflict'))
      // This write may delete a terminating Pod, whose version the cache then never shows.
      if (!deletionTimestamp) this.#claims.expect(key, written)
    }
  }

  async #startPods(key: Key, job: Job, step: Extract<JobStep, { do: 'start' }>): Promise<void> {
    for (let count = 0; count < step.count; count++)
      this.#claims.expect(key, await createNew(this.#ports.client, pods, podFor(job, step.indexes?.[count])))
  }

  async #report(
    key: Key,
    job: Job,
    { owned, step }: { readonly owned: readonly Pod[]; readonly step: JobStep },
  ): Promise<void> {
    const { client, ports, events } = this.#ports
    const written = await writeStatus(client, jobs, job, jobStatus(job, { owned, step, now: ports.clock.now() }))
    if (!written) return
    this.controller.expect(key, written.metadata.resourceVersion)
    if (step.do !== 'finish') return
    const isComplete = step.as === 'Complete'
    events.record(job, {
      type: isComplete ? 'Normal' : 'Warning',
      reason: isComplete ? 'Completed' : step.reason,
      message: isComplete ? 'Job completed' : step.message,
    })
  }

  async #deleteExpired(job: Job, finishedAt: number): Promise<Outcome> {
    const { ttlSecondsAfterFinished } = job.spec
    const { client, ports } = this.#ports
    const { clock } = ports
    if (ttlSecondsAfterFinished === undefined) return settled
    const expiresAt = finishedAt + ttlSecondsAfterFinished * 1000
    if (clock.now() < expiresAt) return wakeAt(expiresAt)
    await deleteFinishedJob(client, jobs, job)
    return settled
  }
}

function jobStatus(
  job: Job,
  { owned, step, now }: { readonly owned: readonly Pod[]; readonly step: JobStep; readonly now: number },
): Record<string, unknown> {
  const active = owned.filter((pod) => !isPodFinished(pod) && !pod.metadata.deletionTimestamp)
  const { startTime = formatTime(now), ...before } = job.status ?? {}
  return {
    ...before,
    ...(step.do === 'suspend' ? {} : { startTime }),
    ...suspension(job, step, now),
    active: step.do === 'suspend' || step.do === 'finish' ? 0 : active.length,
    ready: active.filter(isPodReady).length,
    ...tallyOf(job, owned).status,
    ...(step.do === 'finish' ? finishedStatus(job, step, now) : {}),
  }
}

function podFor(job: Job, index: number | undefined) {
  const { template } = job.spec
  const isIndexed = index !== undefined
  const name = isIndexed ? `${job.metadata.name}-${index}` : job.metadata.name
  const marks = isIndexed ? { [indexAnnotation]: String(index) } : {}
  const metadata = {
    generateName: `${name}-`,
    labels: {
      'batch.kubernetes.io/job-name': job.metadata.name,
      'batch.kubernetes.io/controller-uid': job.metadata.uid,
      'job-name': job.metadata.name,
      'controller-uid': job.metadata.uid,
      ...template.metadata?.labels,
      ...marks,
    },
    annotations: { ...template.metadata?.annotations, ...marks },
    finalizers: [trackingFinalizer],
  }
  const spec = isIndexed ? { ...withIndex(template.spec), hostname: name } : {}
  return podOf({ type: jobs, owner: job, template }, metadata, spec)
}

/** Sets JOB_COMPLETION_INDEX in every container. */
function withIndex(spec: PodSpec): PodSpec {
  const variable = {
    name: 'JOB_COMPLETION_INDEX',
    valueFrom: { fieldRef: { fieldPath: `metadata.annotations['${indexAnnotation}']` } },
  }
  const addIndex = (container: Container): Container => ({ ...container, env: [...(container.env ?? []), variable] })
  const { containers, initContainers } = spec
  return {
    ...spec,
    containers: containers.map(addIndex),
    ...(initContainers ? { initContainers: initContainers.map(addIndex) } : {}),
  }
}

/** The conditions with Suspended changed, if it changes. */
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

function finishTime(job: Job): number | undefined {
  const condition = endOf(job)
  return condition && (parseTime(condition.lastTransitionTime) ?? 0)
}

/** The condition that says how a Job ended: Complete or Failed. */
export function endOf({ status }: Job): JobCondition | undefined {
  return status?.conditions?.find(({ type, status: is }) => is === 'True' && (type === 'Complete' || type === 'Failed'))
}

/** Ten seconds after the first failure, doubled with each further one, at most six minutes. */
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
