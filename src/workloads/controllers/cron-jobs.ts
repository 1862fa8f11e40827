import { cronJobs, jobs } from '../../kube/core-types.ts'
import type { Key } from '../../kube/key.ts'
import type { StoredObject } from '../../kube/object.ts'
import { formatTime, parseTime } from '../../kube/time.ts'
import type { Informer } from '../../runtime/cache/informer.ts'
import { Controller } from '../../runtime/controller/controller.ts'
import { settled, wakeAt, type Outcome } from '../../runtime/controller/outcome.ts'
import { nextCronTime } from '../../kube/calendar/cron.ts'
import { endOf, type Job } from './jobs.ts'
import { createNew, writeStatus, whenRead, type WorkloadPorts } from '../ports.ts'
import { deleteOwned } from '../delete.ts'
import { ownerKeys } from '../adoption.ts'
import { controllerRef, controllerUid } from '../types.ts'

interface CronJob extends StoredObject {
  readonly spec: {
    readonly schedule: string
    readonly timeZone?: string
    readonly suspend?: boolean
    readonly concurrencyPolicy?: 'Allow' | 'Forbid' | 'Replace'
    readonly startingDeadlineSeconds?: number
    readonly successfulJobsHistoryLimit?: number
    readonly failedJobsHistoryLimit?: number
    readonly jobTemplate: { readonly metadata?: Record<string, unknown>; readonly spec: unknown }
  }
  readonly status?: Partial<CronStatus>
}

interface CronStatus {
  readonly lastScheduleTime?: string
  readonly lastSuccessfulTime?: string
  readonly active: readonly { readonly uid: string }[]
}

/** Starts Jobs on schedule. However many runs were missed, one Job makes up for all of them. */
export function cronJobController(ports: WorkloadPorts): Controller {
  return new CronJobReconciler(ports).controller
}

class CronJobReconciler {
  readonly controller: Controller
  readonly #ports: WorkloadPorts
  readonly #cronJobs: Informer<CronJob>
  readonly #jobs: Informer<Job>

  constructor(workloadPorts: WorkloadPorts) {
    const { client, informers, ports } = workloadPorts
    this.#ports = workloadPorts
    this.#cronJobs = informers.open<CronJob>(client, cronJobs)
    this.#jobs = informers.open<Job>(client, jobs, { indexes: { controller: controllerUid } })
    const reconcile = (key: Key) => this.#reconcile(key)
    this.controller = new Controller({ name: 'cronjobs', reconcile, ports, concurrency: 2 })
    this.controller.watch(this.#cronJobs)
    this.controller.watch(this.#jobs, ({ object }) => ownerKeys(object, 'CronJob'))
  }

  async #reconcile(key: Key): Promise<Outcome> {
    const cron = this.#cronJobs.get(key.namespace, key.name)
    if (!cron || cron.metadata.deletionTimestamp) return settled
    if (!this.#jobs.synced) return whenRead(this.#ports)
    const owned = this.#jobs.byIndex('controller', cron.metadata.uid)
    await this.#prune(cron, owned)
    if (cron.spec.suspend) {
      await this.#report(key, cron, { owned })
      return settled
    }
    const now = this.#ports.ports.clock.now()
    const { due, next } = runTimes(cron, now)
    const started = due === undefined ? [] : await this.#start(cron, owned.filter(isActive), due)
    await this.#report(key, cron, { owned: [...owned, ...started], due })
    return next === undefined ? settled : wakeAt(next)
  }

  /** Starts the Job that is due, unless the concurrency policy forbids it. */
  async #start(cron: CronJob, active: readonly Job[], due: number): Promise<readonly Job[]> {
    const { client, events } = this.#ports
    const { concurrencyPolicy = 'Allow', jobTemplate } = cron.spec
    if (concurrencyPolicy === 'Forbid' && active.length > 0) return []
    if (concurrencyPolicy === 'Replace') for (const job of active) await deleteOwned(client, jobs, job)
    const job = await createNew(client, jobs, {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: {
        ...jobTemplate.metadata,
        name: `${cron.metadata.name}-${Math.floor(due / 60_000)}`,
        namespace: cron.metadata.namespace ?? '',
        ownerReferences: [controllerRef(cronJobs, cron)],
      },
      spec: jobTemplate.spec,
    })
    if (!job) return []
    events.record(cron, { type: 'Normal', reason: 'SuccessfulCreate', message: `Created job ${job.metadata.name}` })
    return [job as Job]
  }

  async #report(
    key: Key,
    cron: CronJob,
    { owned, due }: { readonly owned: readonly Job[]; readonly due?: number | undefined },
  ): Promise<void> {
    const status = cronStatus(cron, owned, due)
    if (isSameExceptVersions({ ...cron.status, active: cron.status?.active ?? [] }, status)) return
    const written = await writeStatus(this.#ports.client, cronJobs, cron, status)
    if (written) this.controller.expect(key, written.metadata.resourceVersion)
  }

  /** Deletes finished Jobs beyond the history limits, the oldest first. */
  async #prune(cron: CronJob, owned: readonly Job[]): Promise<void> {
    const limits = {
      Complete: cron.spec.successfulJobsHistoryLimit ?? 3,
      Failed: cron.spec.failedJobsHistoryLimit ?? 1,
    }
    for (const [outcome, limit] of Object.entries(limits)) {
      const finished = owned
        .filter((job) => outcomeOf(job) === outcome && !job.metadata.deletionTimestamp)
        .toSorted((left, right) => (left.metadata.creationTimestamp < right.metadata.creationTimestamp ? 1 : -1))
      for (const job of finished.slice(limit)) await deleteOwned(this.#ports.client, jobs, job)
    }
  }
}

function cronStatus(cron: CronJob, owned: readonly Job[], due: number | undefined): CronStatus {
  const completed = owned.flatMap((job) => (outcomeOf(job) === 'Complete' ? (job.status?.completionTime ?? []) : []))
  const lastSuccessfulTime = [...completed, cron.status?.lastSuccessfulTime ?? []].flat().toSorted().at(-1)
  return {
    ...cron.status,
    ...(due === undefined ? {} : { lastScheduleTime: formatTime(due) }),
    ...(lastSuccessfulTime === undefined ? {} : { lastSuccessfulTime }),
    active: owned.filter(isActive).map(({ metadata: { name, namespace = '', uid, resourceVersion } }) => ({
      apiVersion: 'batch/v1',
      kind: 'Job',
      name,
      namespace,
      uid,
      resourceVersion,
    })),
  }
}

function isActive(job: Job): boolean {
  return outcomeOf(job) === undefined && !job.metadata.deletionTimestamp
}

/** Whether two statuses differ at most in the resourceVersions of the active Jobs. */
function isSameExceptVersions(left: CronStatus, right: CronStatus): boolean {
  const uids = ({ active }: CronStatus) => active.map(({ uid }) => uid).join()
  return (
    left.lastScheduleTime === right.lastScheduleTime &&
    left.lastSuccessfulTime === right.lastSuccessfulTime &&
    uids(left) === uids(right)
  )
}

function outcomeOf(job: Job): string | undefined {
  return endOf(job)?.type
}

interface RunTimes {
  /** The latest scheduled time that has passed since the last run and is within the starting deadline. */
  readonly due: number | undefined
  /** The first one still to come. */
  readonly next: number | undefined
}

function runTimes({ spec, status, metadata }: CronJob, now: number): RunTimes {
  const since = parseTime(status?.lastScheduleTime) ?? parseTime(metadata.creationTimestamp) ?? now
  const earliest =
    spec.startingDeadlineSeconds === undefined ? since : Math.max(since, now - spec.startingDeadlineSeconds * 1000)
  let due: number | undefined
  // One day back is enough: earlier runs are made up for by the same Job. 1500 bounds a schedule of every minute.
  const nextAfter = (afterMs: number) =>
    nextCronTime(spec.schedule, { afterMs, zone: spec.timeZone ?? 'UTC', sinceMs: since })
  let at = nextAfter(Math.max(earliest, now - 86_400_000))
  for (let count = 0; at !== undefined && at <= now && count < 1500; count++) {
    due = at
    at = nextAfter(at)
  }
  return { due, next: at === undefined || at > now ? at : nextAfter(now) }
}
