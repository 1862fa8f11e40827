import type { Pipeline } from '../apis/pipeline.ts'
import type { EnvironmentStatus } from '../apis/pipeline-status.ts'
import type { StoredObject } from '../kube/object.ts'
import { findCondition } from '../kube/conditions.ts'
import { sentenceOf, type Because } from '../apis/pipeline-reasons.ts'
import { retryAnnotation } from '../systems/promoter/decision/retry.ts'

/** Where each environment stands, what it waits for, and what would help. */
export function explainPipeline({ metadata, spec, status }: Pipeline & StoredObject): readonly string[] {
  const stopped = findCondition(status?.conditions, 'Suspended')
  const environments = spec.environments.flatMap(({ name }) => {
    const environment = status?.environments?.[name]
    if (!environment) return [`${name}: nothing is known of it yet`]
    return [
      `${name}: ${standing(environment)}`,
      ...waiting(environment).map((fact) => `${name}: ${fact}`),
      ...approvals(environment, { environment: name, pipeline: metadata }),
      ...another(environment, metadata).map((fact) => `${name}: ${fact}`),
    ]
  })
  return [...(stopped?.status === 'True' ? [`Nothing is promoted now: ${stopped.message}`] : []), ...environments]
}

function standing({ targets = [], targetsDone, targetsTotal, promotion }: EnvironmentStatus): string {
  const revisions = [...new Set(targets.flatMap(({ revision }) => revision ?? []))]
  const unready = targets
    .filter(({ ready }) => !ready)
    .map(({ name, reason, message }) => `${name} (${message ?? reason})`)
  const runs = revisions.length > 0 ? `runs ${revisions.join(' and ')}` : 'runs nothing that is known'
  const count = targetsTotal === undefined ? '' : `, ${targetsDone ?? 0} of ${targetsTotal} targets have the new one`
  const troubled = unready.length > 0 ? `; not ready: ${unready.join(', ')}` : ''
  if (!promotion) return `${runs}${troubled}`
  const { revision, phase, because, phaseAt } = promotion
  // What keeps one at a gate the gates say.
  const why = phase === 'Gated' ? '' : `: ${sentenceOf(because as Because)}`
  return `${runs}${count}${troubled}; the promotion of ${revision} is ${phase} since ${phaseAt}${why}`
}

/** What is in the way, each with the time at which that may change. */
function waiting({ gates = [], promotion }: EnvironmentStatus): readonly string[] {
  const closed = gates
    .filter(({ state }) => state !== 'Open')
    .map(
      ({ name, reason, message, nextCheckAt }) =>
        `the gate ${name} is closed: ${message ?? sentenceOf(reason as Because)}${nextCheckAt ? ` (until ${nextCheckAt})` : ''}`,
    )
  const { lastError, pullRequest, nextAttemptAt } = promotion ?? {}
  return [
    ...closed,
    ...(pullRequest ? [`pull request ${pullRequest.url} is ${pullRequest.state}`] : []),
    ...(lastError
      ? [`the last try failed: ${lastError.message}${nextAttemptAt ? ` (again at ${nextAttemptAt})` : ''}`]
      : []),
  ]
}

function approvals(
  { waitingApproval }: EnvironmentStatus,
  given: { readonly environment: string; readonly pipeline: StoredObject['metadata'] },
): readonly string[] {
  if (!waitingApproval) return []
  const { revision, required = 1, approvals: had = [] } = waitingApproval
  const { name, namespace } = given.pipeline
  const people = new Set(had.map(({ approver }) => approver))
  return [
    `${given.environment}: ${people.size} of ${required} approvals for ${revision}; to give one: sojourn approve ${name} ${given.environment} ${revision} -n ${namespace}`,
  ]
}

/** What has ended without success ends there for this revision, unless somebody asks again. */
function another({ promotion }: EnvironmentStatus, { name, namespace }: StoredObject['metadata']): readonly string[] {
  const again = `kubectl annotate --overwrite pipeline ${name} ${retryAnnotation}="$(date)" -n ${namespace}`
  if (promotion?.phase === 'Failed')
    return [`it goes on by itself once the spec or a Secret is changed; to have it tried again: ${again}`]
  return promotion?.phase === 'Rejected' ? [`the next revision goes ahead; to propose this one again: ${again}`] : []
}
