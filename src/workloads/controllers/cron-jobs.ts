import { cronJobs, jobs } from '../../kube/core-types.ts'
import type { Key } from '../../kube/key.ts'
import type { StoredObject } from '../../kube/object.ts'
import { formatTime, parseTime } from '../../kube/time.ts'
import { Controller } from '../../runtime/controller/controller.ts'
import { settled, wakeAt, type Outcome } from '../../runtime/controller/outcome.ts'
import { nextCronTime } from '../../kube/calendar/cron.ts'
import type { Job } from './jobs.ts'
import { createNew, writeStatus, type WorkloadPorts } from '../ports.ts'
import { removeOwned } from '../remove.ts'
import { ownerKeys } from './replica-sets.ts'
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

/** Starts Jobs by the clock; however many times were missed, one Job makes up for them. */
export function cronJobController({ client, informers, ports, events }: WorkloadPorts): Controller {
  const all = informers.open<CronJob>(client, cronJobs)
  const started = informers.open<Job>(client, jobs, { indexes: { controller: controllerUid } })
  const controller = new Controller({ name: 'cronjobs', reconcile, ports, concurrency: 2 })
  controller.watch(all)
  controller.watch(started, ({ object }) => ownerKeys(object, 'CronJob'))
  return controller

  async function reconcile(key: Key): Promise<Outcome> {
    const cron = all.get(key.namespace, key.name)
    if (!cron || cron.metadata.deletionTimestamp || !started.synced) return settled
    const mine = started.byIndex('controller', cron.metadata.uid)
    await prune(cron, mine)
    const active = mine.filter((job) => outcomeOf(job) === undefined && !job.metadata.deletionTimestamp)
    if (cron.spec.suspend) {
      await report(key, cron, mine)
      return settled
    }
    const now = ports.clock.now()
    const since = parseTime(cron.status?.lastScheduleTime) ?? parseTime(cron.metadata.creationTimestamp) ?? now
    const due = latestDue(cron, since, now)
    const begun = due === undefined ? [] : await start(cron, active, due)
    await report(key, cron, [...mine, ...begun], due)
    const next = nextCronTime(cron.spec.schedule, now, cron.spec.timeZone ?? 'UTC')
    return next === undefined ? settled : wakeAt(next)
  }

  /** Starts the Job that is due, if it may; answers it. */
  async function start(cron: CronJob, active: readonly Job[], due: number): Promise<readonly Job[]> {
    const { concurrencyPolicy = 'Allow', jobTemplate } = cron.spec
    const isBlocked = concurrencyPolicy === 'Forbid' && active.length > 0
    if (concurrencyPolicy === 'Replace') for (const job of active) await removeOwned(client, jobs, job)
    if (isBlocked) return []
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

  /** What runs, when it was last due, and when one last went well. */
  async function report(key: Key, cron: CronJob, mine: readonly Job[], due?: number): Promise<void> {
    const running = mine.filter((job) => outcomeOf(job) === undefined && !job.metadata.deletionTimestamp)
    const done = mine.flatMap((job) => (outcomeOf(job) === 'Complete' ? (job.status?.completionTime ?? []) : []))
    const lastSuccessfulTime = [...done, cron.status?.lastSuccessfulTime ?? []].flat().toSorted().at(-1)
    const status = {
      ...cron.status,
      ...(due === undefined ? {} : { lastScheduleTime: formatTime(due) }),
      ...(lastSuccessfulTime === undefined ? {} : { lastSuccessfulTime }),
      active: running.map(({ metadata: { name, namespace = '', uid, resourceVersion } }) => ({
        apiVersion: 'batch/v1',
        kind: 'Job',
        name,
        namespace,
        uid,
        resourceVersion,
      })),
    }
    const before = { ...cron.status, active: cron.status?.active ?? [] }
    if (sameBut(before, status)) return
    const written = await writeStatus(client, cronJobs, cron, status)
    if (written) controller.expect(key, written.metadata.resourceVersion)
  }

  async function prune(cron: CronJob, mine: readonly Job[]): Promise<void> {
    const limits = {
      Complete: cron.spec.successfulJobsHistoryLimit ?? 3,
      Failed: cron.spec.failedJobsHistoryLimit ?? 1,
    }
    for (const [outcome, limit] of Object.entries(limits)) {
      const finished = mine
        .filter((job) => outcomeOf(job) === outcome && !job.metadata.deletionTimestamp)
        .toSorted((left, right) => (left.metadata.creationTimestamp < right.metadata.creationTimestamp ? 1 : -1))
      for (const job of finished.slice(limit)) await removeOwned(client, jobs, job)
    }
  }
}

/** Whether two statuses differ in nothing but the versions of the Jobs that run. */
function sameBut(left: CronStatus, right: CronStatus): boolean {
  const uids = ({ active }: CronStatus) => active.map(({ uid }) => uid).join()
  return (
    left.lastScheduleTime === right.lastScheduleTime &&
    left.lastSuccessfulTime === right.lastSuccessfulTime &&
    uids(left) === uids(right)
  )
}

function outcomeOf({ status }: Job): string | undefined {
  return status?.conditions?.find(({ type, status: is }) => is === 'True' && (type === 'Complete' || type === 'Failed'))
    ?.type
}

/** The newest time that is due and still within its deadline. */
function latestDue({ spec }: CronJob, since: number, now: number): number | undefined {
  const earliest =
    spec.startingDeadlineSeconds === undefined ? since : Math.max(since, now - spec.startingDeadlineSeconds * 1000)
  let due: number | undefined
  // A day of minutes is enough: older ones would be made up for by the same single Job.
  let at = nextCronTime(spec.schedule, Math.max(earliest, now - 86_400_000), spec.timeZone ?? 'UTC')
  for (let count = 0; at !== undefined && at <= now && count < 1500; count++) {
    due = at
    at = nextCronTime(spec.schedule, at, spec.timeZone ?? 'UTC')
  }
  return due
}
