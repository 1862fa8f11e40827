import type { Pipeline } from '../../../apis/pipeline.ts'
import type { Promotion } from '../../../apis/pipeline-status.ts'
import { at } from '../decision/draft.ts'
import type { Effect } from '../decision/effects.ts'
import { sentenceOf, type Because } from '../../../apis/pipeline-reasons.ts'
import { environmentPlanOf, validPlan } from '../model/plan.ts'
import type { CommitCheck } from '../../../forges/forge.ts'
import { commitOf, defaultValue } from '../model/revision.ts'
import { isOwnChange } from '../repository/change.ts'
import { openRepository, type AccessPorts } from '../repository/repository-access.ts'
import { isForeign, type EffectResult } from '../decision/results.ts'
import {
  commitToBase,
  poll,
  propose,
  push,
  recheck,
  withdraw,
  type PullRequestWork,
} from '../strategies/pull-request.ts'
import { notify, type NotificationPorts, callWebhook } from '../strategies/notification.ts'
import { type CommitRepository, type JobCheck, verify } from '../strategies/verify.ts'
import { toPromotionError } from '../../../git/promotion-error.ts'
import { templateValues, type TemplateValues } from '../repository/templates.ts'

export interface EffectPorts extends AccessPorts, Omit<NotificationPorts, 'http'> {
  /** Computes the value for the marker from a revision; throws PromotionError when it cannot. */
  readonly valueOf: (expression: string, revision: string) => string
  /** Why the Job of a check has not succeeded, undefined when it has. Creates the Job if there is none. */
  readonly jobProblem: (check: JobCheck) => Promise<string | undefined>
}

interface EffectContext {
  readonly ports: EffectPorts
  readonly signal: AbortSignal
}

/** Carries out one recorded effect. Never throws: an error becomes a `failed` result, free of secrets. */
export async function performEffect(effect: Effect, pipeline: Pipeline, context: EffectContext): Promise<EffectResult> {
  const secrets = new Set<string>()
  const ports = { ...context.ports, readSecret: collectSecrets(context.ports.readSecret, secrets) }
  try {
    return await dispatch(effect, pipeline, { ...context, ports })
  } catch (error) {
    const promotionError = toPromotionError(error)
    const { retryAt } = promotionError
    const record = promotionError.toRecord(secrets)
    return { result: 'failed', error: record, ...(retryAt === undefined ? {} : { retryAt }) }
  }
}

async function dispatch(effect: Effect, pipeline: Pipeline, context: EffectContext): Promise<EffectResult> {
  const { ports, signal } = context
  const { promotion } = effect
  const { namespace = '' } = pipeline.metadata
  const values = valuesFor(effect, pipeline, ports)
  switch (effect.do) {
    case 'verify': {
      const plan = environmentPlanOf(pipeline, effect.environment)?.verification
      if (!plan) return { result: 'verified' }
      const http = ports.rateLimiter.wrap(ports.http, `verification of ${namespace}`)
      return verify(plan, {
        http,
        now: ports.now,
        signal,
        readSecret: (name) => ports.readSecret({ namespace, name }),
        jobProblem: (fromCronJob) => ports.jobProblem({ pipeline, fromCronJob, effect }),
        checksOf: (repository) => checksOfRevision(effect, repository, { namespace, ports, signal }),
      })
    }
    case 'inspect':
      return { result: 'inspected', isOwn: await isOwnSomewhere(promotion, pipeline, context) }
    case 'notify':
      return notify(pipeline, values, { ports, signal })
    case 'call': {
      const name = promotion.strategy?.secretName
      const secret = name ? await ports.readSecret({ namespace, name }) : undefined
      const http = ports.rateLimiter.wrap(ports.http, `webhook of ${namespace}/${name ?? ''}`)
      return callWebhook({ promotion, values, secret }, { http, now: ports.now(), signal })
    }
    default:
      return inRepository(effect, pipeline, { values, ...context })
  }
}

async function inRepository(
  effect: Effect,
  pipeline: Pipeline,
  { values, ports, signal }: EffectContext & { readonly values: TemplateValues },
): Promise<EffectResult> {
  const { promotion, paused } = effect
  const { namespace = '' } = pipeline.metadata
  const strategy = promotion.strategy ?? { kind: 'pull-request' }
  const access = await openRepository(strategy, namespace, { ports, signal, atMs: at(promotion.intentAt) })
  const plan = environmentPlanOf(pipeline, effect.environment)?.promotion
  const { commit = {}, 'pull-request': spec = {} } = plan?.spec.strategy ?? {}
  // A recheck needs `paths`, which both strategies have.
  const settings = strategy.kind === 'commit' ? commit : spec
  const work: PullRequestWork = { promotion, values, access, spec: settings, paused }
  try {
    switch (effect.do) {
      case 'commit':
        return await commitToBase({ ...work, spec: commit })
      case 'push':
        return await push(work)
      case 'recheck':
        return await recheck(work)
      case 'propose':
        return await propose(work)
      case 'withdraw':
        return await withdraw(work, withdrawalComment(effect))
      default:
        return await poll(work)
    }
  } finally {
    access.git.close()
  }
}

/** Looks in every repository that promotions are written to: the first environment may follow any of them. */
async function isOwnSomewhere(
  promotion: Promotion,
  pipeline: Pipeline,
  { ports, signal }: EffectContext,
): Promise<boolean> {
  const strategies = validPlan(pipeline)?.environments.flatMap(({ promotion: each }) => each?.strategy ?? []) ?? []
  const repositories = new Map(strategies.filter(({ baseBranch }) => baseBranch).map((each) => [each.url, each]))
  const { namespace = '' } = pipeline.metadata
  let unread: unknown
  for (const strategy of repositories.values()) {
    try {
      const { git } = await openRepository(strategy, namespace, { ports, signal, atMs: 0 })
      if (await isOwnChange(git, promotion).finally(() => git.close())) return true
    } catch (error) {
      if (!isForeign(toPromotionError(error).because)) unread ??= error
    }
  }
  if (unread !== undefined) throw unread
  return false
}

/** The statuses of the revision's commit, from the repository that the check names, else from the one that promotions go to. */
async function checksOfRevision(
  { promotion }: Effect,
  repository: CommitRepository | undefined,
  { namespace, ports, signal }: EffectContext & { readonly namespace: string },
): Promise<readonly CommitCheck[]> {
  const commit = commitOf(promotion.revision)
  if (!commit) throw new Error(`${promotion.revision} is not a commit`)
  const kind = 'pull-request' as const
  const named = repository && { kind, ...repository, secretName: repository.secretRef.name }
  const strategy = named ?? promotion.strategy ?? { kind }
  const access = await openRepository(strategy, namespace, { ports, signal, atMs: 0 })
  try {
    return await access.forge().checks(commit)
  } finally {
    access.git.close()
  }
}

/** Collects every secret that is read, because a server may repeat one in an error message. */
function collectSecrets(read: EffectPorts['readSecret'], secrets: Set<string>): EffectPorts['readSecret'] {
  return async (place) => {
    const data = await read(place)
    for (const value of Object.values(data ?? {})) secrets.add(value)
    return data
  }
}

function valuesFor(effect: Effect, pipeline: Pipeline, { valueOf }: EffectPorts): TemplateValues {
  const { namespace = '', name } = pipeline.metadata
  const values = templateValues({ namespace, name }, effect.environment, effect.promotion)
  const expression = pipeline.spec.adapter?.value
  // The value is recorded with the push; from then on a changed expression must not change it.
  if (effect.promotion.value !== undefined || effect.do === 'inspect') return values
  const { revision } = values
  return { ...values, value: expression ? valueOf(expression, revision) : defaultValue(revision) }
}

function withdrawalComment({ promotion }: Effect): string {
  const { because, supersededBy, id } = promotion
  const next = supersededBy ? ` Superseded by \`${supersededBy.replace(/[`\p{Cc}]/gu, '').slice(0, 200)}\`.` : ''
  return `Closed by the promotion pipeline: ${sentenceOf(because as Because)}.${next} (promotion ${id})`
}
