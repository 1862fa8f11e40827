import type { Pipeline } from '../apis/pipeline.ts'
import type { EnvironmentStatus } from '../apis/pipeline-status.ts'
import type { StoredObject } from '../kube/object.ts'
import { findCondition } from '../kube/conditions.ts'
import { sentenceOf, type Because } from '../apis/pipeline-reasons.ts'
import { shortRevision } from '../systems/promoter/model/revision.ts'

/** The state of each environment, what it waits for, and what would help. */
export function explainPipeline({ metadata, spec, status }: Pipeline & StoredObject): readonly string[] {
  const stopped = findCondition(status?.conditions, 'Suspended')
  const environments = spec.environments.flatMap(({ name }) => {
    const environment = status?.environments?.[name]
    if (!environment) return [`${name}: not read yet`]
    return [
      ...[stateOf(environment), ...waiting(environment)].map((fact) => `${name}: ${shortRevision(fact)}`),
      ...[...approvals(environment, name, metadata), ...retrySentences(environment, name, metadata)].map(
        (fact) => `${name}: ${fact}`,
      ),
    ]
  })
  const told = ['Drifted', 'RevisionNotDiscriminating'].flatMap(
    (type) => findCondition(status?.conditions, type)?.message ?? [],
  )
  return [
    ...(stopped?.status === 'True' ? [`Nothing is promoted now: ${stopped.message}`] : []),
    ...told,
    ...environments,
  ]
}

function stateOf({ targets = [], targetsDone, targetsTotal, promotion, pin }: EnvironmentStatus): string {
  const revisions = [...new Set(targets.flatMap(({ revision }) => revision ?? []))]
  const told = (those: typeof targets) =>
    those.map(({ kind, namespace, name, reason, message }) => `${kind} ${namespace}/${name} (${message ?? reason})`)
  const unready = told(targets.filter(({ ready }) => !ready))
  const remarks = told(targets.filter(({ ready, message }) => ready && message))
  const runs = revisions.length > 0 ? `runs ${revisions.join(' and ')}` : 'runs no known revision'
  // The targets are counted on the revision of the run, not on one that a user asked for.
  const count =
    targetsTotal === undefined || pin ? '' : `, ${targetsDone ?? 0} of ${targetsTotal} targets run the new revision`
  const notReady =
    (unready.length > 0 ? `; not ready: ${unready.join(', ')}` : '') +
    (remarks.length > 0 ? `; ready, but: ${remarks.join(', ')}` : '')
  if (!promotion) return `${runs}${notReady}`
  const { revision, phase, because, phaseAt } = promotion
  // The gates say what a gated promotion waits for.
  const why = phase === 'Gated' ? '' : `: ${sentenceOf(because as Because)}`
  return `${runs}${count}${notReady}; the promotion of ${revision} is ${phase} since ${phaseAt}${why}`
}

/** Closed gates, each with the time at which it may open, the pull request and the last error. */
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
    ...(pullRequest
      ? [
          `pull request ${pullRequest.url} is ${pullRequest.state}${pullRequest.checks ? ` (${pullRequest.checks})` : ''}`,
        ]
      : []),
    ...(lastError
      ? [`the last attempt failed: ${lastError.message}${nextAttemptAt ? ` (again at ${nextAttemptAt})` : ''}`]
      : []),
  ]
}

function approvals(
  { waitingApproval }: EnvironmentStatus,
  environment: string,
  { name, namespace }: StoredObject['metadata'],
): readonly string[] {
  if (!waitingApproval) return []
  const { revision, required = 1, approvals: had = [] } = waitingApproval
  const people = new Set(had.map(({ approver }) => approver))
  return [
    `${people.size} of ${required} approvals for ${revision}; to approve, run: sojourn approve ${name} ${environment} ${revision} -n ${namespace}`,
  ]
}

/** How to retry a promotion that has failed, was rejected or timed out. */
function retrySentences(
  { promotion }: EnvironmentStatus,
  environment: string,
  { name, namespace, deletionTimestamp }: StoredObject['metadata'],
): readonly string[] {
  if (promotion?.because === 'RolloutTimedOut')
    return [`to go back, run: sojourn rollback ${name} ${environment} -n ${namespace}`]
  const again = `sojourn retry ${name} -n ${namespace}`
  if (promotion?.withdraw === 'Due' && promotion.lastError)
    return [
      deletionTimestamp
        ? 'what it has open is closed before the pipeline is deleted; after five attempts it is left open'
        : `what it has open is closed before the next one begins; to retry that now, run: ${again}`,
    ]
  if (promotion?.phase === 'Failed')
    return [
      `it is retried when the spec or a Secret changes, and every spec.interval if git can cure it; to retry now, run: ${again}`,
    ]
  return promotion?.phase === 'Rejected'
    ? [`the next revision is promoted as usual; to propose this one again, run: ${again}`]
    : []
}
