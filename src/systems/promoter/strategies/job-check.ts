import type { Pipeline } from '../../../apis/pipeline.ts'
import type { ResourceType, StoredObject } from '../../../kube/object.ts'
import { ignoring } from '../../../kube/status-error.ts'
import type { Actor } from '../../../tenancy/act-as.ts'
import type { Effect } from '../decision/effects.ts'

const cronJobs: ResourceType = { group: 'batch', version: 'v1', kind: 'CronJob', plural: 'cronjobs', namespaced: true }
const jobs: ResourceType = { group: 'batch', version: 'v1', kind: 'Job', plural: 'jobs', namespaced: true }

/** A check by a Job, for one promotion. */
export interface JobCheck {
  readonly pipeline: Pipeline
  readonly fromCronJob: string
  readonly effect: Effect
}

type Template = { readonly metadata?: object; readonly spec?: JobSpec }
type JobSpec = { readonly template?: { readonly spec?: { readonly containers?: readonly Container[] } } }
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
  for (const [verb, resource] of [
    ['get', 'cronjobs'],
    ['create', 'jobs'],
  ] as const) {
    const refusal = await actor.refusalOf({
      verb,
      group: 'batch',
      resource,
      namespace,
      name: verb === 'get' ? fromCronJob : '',
    })
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
  const { namespace = '' } = pipeline.metadata
  const cronJob = await client.get<StoredObject>(cronJobs, { namespace, name: fromCronJob })
  const { jobTemplate = {} } = (cronJob.spec ?? {}) as { readonly jobTemplate?: Template }
  await client.create(jobs, {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { ...jobTemplate.metadata, namespace, name, ownerReferences: [ownerOf(pipeline)] },
    spec: withVariables(jobTemplate.spec ?? {}, {
      SOJOURN_REVISION: effect.promotion.revision,
      SOJOURN_ENVIRONMENT: effect.environment,
    }),
  })
  return `Job ${name} has been created`
}

function ownerOf({ apiVersion, kind, metadata: { name, uid } }: Pipeline) {
  return { apiVersion, kind, name, uid: uid ?? '' }
}

function withVariables(spec: JobSpec, variables: Readonly<Record<string, string>>): object {
  const env = Object.entries(variables).map(([name, value]) => ({ name, value }))
  const pod = spec.template?.spec
  const containers = pod?.containers?.map((each) => ({ ...each, env: [...(each.env ?? []), ...env] }))
  return { ...spec, template: { ...spec.template, spec: { ...pod, containers } } }
}
