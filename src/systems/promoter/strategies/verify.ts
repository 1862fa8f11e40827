import type { CommitCheck } from '../../../forges/forge.ts'
import { toPromotionError } from '../../../git/promotion-error.ts'
import { readAnswer } from '../../../parsing/answer.ts'
import type { Http } from '../../../runtime/http/http.ts'
import type { EffectResult } from '../decision/results.ts'
import type { VerificationPlan } from '../model/plan.ts'
import type { SecretData } from '../repository/repository-access.ts'
import type { Pipeline } from '../../../apis/pipeline.ts'
import { cronJobs, jobs } from '../../../kube/core-types.ts'
import type { StoredObject } from '../../../kube/object.ts'
import { ignoring } from '../../../kube/status-error.ts'
import type { Actor } from '../../../tenancy/act-as.ts'
import type { Effect } from '../decision/effects.ts'

type Check = VerificationPlan['checks'][number]
export type CommitRepository = NonNullable<NonNullable<Check['commitStatuses']>['repository']>

export interface CheckPorts {
  readonly http: Http
  readonly now: () => number
  readonly signal: AbortSignal
  readonly readSecret: (name: string) => Promise<SecretData | undefined>
  readonly jobProblem: (fromCronJob: string) => Promise<string | undefined>
  /** The statuses and check runs of the revision's commit. Default: in the repository that promotions go to. */
  readonly checksOf: (repository: CommitRepository | undefined) => Promise<readonly CommitCheck[]>
}

/** Makes the checks in order and stops at the first that has not passed. One that cannot be made has not passed. */
export async function verify({ checks, intervalMs }: VerificationPlan, ports: CheckPorts): Promise<EffectResult> {
  for (const check of checks) {
    const problem = await problemOf(check, ports).catch(
      (error: unknown) => `${nameOf(check)}: ${toPromotionError(error).toRecord().message}`,
    )
    if (problem) return { result: 'unverified', message: problem, retryAt: ports.now() + intervalMs }
  }
  return { result: 'verified' }
}

function nameOf({ url, prometheus, job, commitStatuses }: Check): string {
  if (prometheus) return `Prometheus ${prometheus.url}`
  if (job) return `Job from CronJob ${job.fromCronJob}`
  return url ?? `commit statuses${commitStatuses?.repository ? ` in ${commitStatuses.repository.url}` : ''}`
}

function problemOf(check: Check, ports: CheckPorts): Promise<string | undefined> {
  if (check.prometheus) return queryProblem(check.prometheus, ports)
  if (check.job) return ports.jobProblem(check.job.fromCronJob)
  if (check.commitStatuses) return statusProblem(check, ports)
  return requestProblem(check, ports)
}

/** Reports the URL and the status code only: the body of a response may hold secrets. A request may wake a sleeping workload. */
async function requestProblem(
  { url = '', expectedStatus }: Check,
  { http, signal }: CheckPorts,
): Promise<string | undefined> {
  const { status } = await http({ method: 'GET', url, signal, timeoutMs })
  const isExpected = expectedStatus === undefined ? status >= 200 && status < 300 : status === expectedStatus
  return isExpected ? undefined : `${url} answered ${status}`
}

/** The query filters by a comparison, so that any sample it returns means yes, and none, or an error, means no. */
async function queryProblem(
  { url, query, secretRef }: NonNullable<Check['prometheus']>,
  { http, signal, readSecret }: CheckPorts,
): Promise<string | undefined> {
  const secret = secretRef && (await readSecret(secretRef.name))
  if (secretRef && !secret) return `Prometheus ${url}: Secret ${secretRef.name} was not found`
  const { status, body } = await http({
    method: 'GET',
    url: `${url.replace(/\/+$/, '')}/api/v1/query?query=${encodeURIComponent(query)}`,
    headers: secret?.['token'] ? { authorization: `Bearer ${secret['token']}` } : {},
    ca: secret?.['caFile'],
    signal,
    timeoutMs,
    maxBytes: maxAnswer,
  })
  if (status !== 200) return `Prometheus ${url} answered ${status} to ${query}`
  const samples = await samplesIn(body)
  if (samples === undefined) return `Prometheus ${url} did not answer in JSON`
  return samples > 0 ? undefined : `Prometheus ${url} returned no sample for ${query}`
}

/** Undefined for what is no JSON or cannot be read within the limits: the parser's own message would quote the answer. */
async function samplesIn(body: Uint8Array): Promise<number | undefined> {
  try {
    const { data } = await readAnswer<{ data?: { resultType?: string; result?: unknown } }>(body)
    return data?.resultType === 'vector' && Array.isArray(data.result) ? data.result.length : 0
  } catch {
    return undefined
  }
}

/** A named check that does not exist is as closed as one that failed. */
async function statusProblem(check: Check, { checksOf }: CheckPorts): Promise<string | undefined> {
  const { names, repository } = check.commitStatuses ?? {}
  const checks = await checksOf(repository)
  const wanted = names ?? [...new Set(checks.map(({ name }) => name))]
  if (wanted.length === 0) return `${nameOf(check)}: the commit has none, and no check runs`
  const open = wanted.filter((name) => {
    const same = checks.filter((each) => each.name === name)
    return same.length === 0 || same.some(({ state }) => state !== 'success')
  })
  if (open.length === 0) return undefined
  const each = open
    .slice(0, 5)
    .map((name) => `${name} ${checks.find((found) => found.name === name)?.state ?? 'missing'}`)
  return `${nameOf(check)}: ${each.join(', ')}`
}

/** A sleeping workload may take this long to wake. */
const timeoutMs = 30_000
const maxAnswer = 1024 * 1024
const minTtlSeconds = 86_400

/** A check by a Job, for one promotion. */
export interface JobCheck {
  readonly pipeline: Pipeline
  readonly fromCronJob: string
  readonly effect: Effect
}

type Template = { readonly metadata?: object; readonly spec?: JobSpec }
type JobSpec = {
  readonly ttlSecondsAfterFinished?: number
  readonly template?: { readonly spec?: { readonly containers?: readonly Container[] } }
}
type Container = { readonly env?: readonly unknown[] }
type Job = StoredObject & { readonly status?: { readonly conditions?: readonly { type: string; status: string }[] } }

/**
 * Why the Job of a check has not succeeded; undefined when it has. Its name comes from the promotion, so that a restarted process
 * finds it. The Job is created with the rights of the user behind the Pipeline.
 */
export async function jobProblem(
  actor: Actor,
  { pipeline, fromCronJob, effect }: JobCheck,
): Promise<string | undefined> {
  const { namespace = '', uid } = pipeline.metadata
  const name = `${fromCronJob}-${effect.promotion.id.slice(0, 8)}`
  const rights = [
    { verb: 'get', resource: 'cronjobs', name: fromCronJob },
    { verb: 'create', resource: 'jobs', name: '' },
  ]
  for (const right of rights) {
    const refusal = await actor.refusalOf({ ...right, group: 'batch', namespace })
    if (refusal) return refusal.message
  }
  const job = await actor.client.get<Job>(jobs, { namespace, name }).catch(ignoring('NotFound'))
  if (!job) return createJob(actor, { pipeline, fromCronJob, effect }, name)
  if (!job.metadata.ownerReferences?.some((owner) => owner.uid === uid)) return `Job ${name} is not from this pipeline`
  const isTrue = (type: string) => job.status?.conditions?.some((each) => each.type === type && each.status === 'True')
  if (isTrue('Complete')) return undefined
  return isTrue('Failed') ? `Job ${name} failed; delete it to run it again` : `Job ${name} has not finished`
}

async function createJob(
  { client }: Actor,
  { pipeline, fromCronJob, effect }: JobCheck,
  name: string,
): Promise<string> {
  const { apiVersion, kind, metadata: owner } = pipeline
  const { namespace = '' } = owner
  const cronJob = await client.get<StoredObject>(cronJobs, { namespace, name: fromCronJob })
  const { jobTemplate = {} } = (cronJob.spec ?? {}) as { readonly jobTemplate?: Template }
  const { ttlSecondsAfterFinished = 0 } = jobTemplate.spec ?? {}
  // A Job that is deleted before its result was read would be created again and again.
  const spec = { ...jobTemplate.spec, ttlSecondsAfterFinished: Math.max(ttlSecondsAfterFinished, minTtlSeconds) }
  const variables = { SOJOURN_REVISION: effect.promotion.revision, SOJOURN_ENVIRONMENT: effect.environment }
  await client.create(jobs, {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      ...jobTemplate.metadata,
      namespace,
      name,
      ownerReferences: [{ apiVersion, kind, name: owner.name, uid: owner.uid ?? '' }],
    },
    spec: withVariables(spec, variables),
  })
  return `Job ${name} has been created`
}

function withVariables(spec: JobSpec, variables: Readonly<Record<string, string>>): object {
  const env = Object.entries(variables).map(([name, value]) => ({ name, value }))
  const pod = spec.template?.spec
  const containers = pod?.containers?.map((each) => ({ ...each, env: [...(each.env ?? []), ...env] }))
  return { ...spec, template: { ...spec.template, spec: { ...pod, containers } } }
}
