import type { Pipeline } from '../../../apis/pipeline.ts'
import { at } from '../decision/draft.ts'
import type { Effect } from '../decision/effects.ts'
import { sentenceOf, type Because } from '../../../apis/pipeline-reasons.ts'
import { planOf, type EnvironmentPlan } from '../model/plan.ts'
import { openRepository, type AccessPorts } from '../repository/repository-access.ts'
import type { EffectResult } from '../decision/results.ts'
import { commitToBase } from '../strategies/commit.ts'
import { notify, type NotificationPorts } from '../strategies/notification.ts'
import { poll, propose, push, withdraw, type PullRequestWork } from '../strategies/pull-request.ts'
import { verify } from '../strategies/verify.ts'
import { call } from '../strategies/webhook.ts'
import { troubleOf } from '../../../git/trouble.ts'
import { wordsOf, type Words } from '../repository/wording.ts'

export interface ActPorts extends AccessPorts, Omit<NotificationPorts, 'http'> {
  /** What is written at the marker for a revision; throws Trouble when it cannot be computed. */
  readonly valueOf: (expression: string, revision: string) => string
}

/** Carries one recorded effect out. Never throws: what went wrong is a result too. */
export async function perform(
  effect: Effect,
  pipeline: Pipeline,
  given: { readonly ports: ActPorts; readonly signal: AbortSignal },
): Promise<EffectResult> {
  const secrets = new Set<string>()
  const ports = { ...given.ports, secret: remembered(given.ports.secret, secrets) }
  try {
    return await carryOut(effect, pipeline, { ...given, ports })
  } catch (error) {
    const trouble = troubleOf(error)
    const { retryAt } = trouble
    return { result: 'failed', error: trouble.toRecord(secrets), ...(retryAt === undefined ? {} : { retryAt }) }
  }
}

async function carryOut(
  effect: Effect,
  pipeline: Pipeline,
  given: { readonly ports: ActPorts; readonly signal: AbortSignal },
): Promise<EffectResult> {
  const { ports, signal } = given
  const { promotion } = effect
  const words = worded(effect, pipeline, ports)
  switch (effect.do) {
    case 'verify': {
      const plan = environmentOf(effect, pipeline)?.verification
      const http = ports.budget.wrap(ports.http, 'verification')
      return plan ? verify(plan, { http, now: ports.now, signal }) : { result: 'verified' }
    }
    case 'notify':
      return notify(pipeline, words, { ports, signal })
    case 'call': {
      const { namespace = '' } = pipeline.metadata
      const name = promotion.strategy?.secretName
      const secret = name ? await ports.secret({ namespace, name }) : undefined
      const http = ports.budget.wrap(ports.http, promotion.strategy?.secretName ?? '')
      return call({ promotion, words, secret }, { http, now: ports.now(), signal })
    }
    case 'commit':
    case 'push':
    case 'propose':
    case 'poll':
    case 'withdraw':
      return withRepository(effect, pipeline, { words, ...given })
  }
}

async function withRepository(
  effect: Effect,
  pipeline: Pipeline,
  { words, ports, signal }: { readonly words: Words; readonly ports: ActPorts; readonly signal: AbortSignal },
): Promise<EffectResult> {
  const { promotion, paused } = effect
  const access = await openRepository(
    promotion.strategy ?? { kind: 'pull-request' },
    pipeline.metadata.namespace ?? '',
    {
      ports,
      signal,
      atMs: at(promotion.intentAt),
    },
  )
  const { commit, 'pull-request': spec = {} } = environmentOf(effect, pipeline)?.promotion?.spec.strategy ?? {}
  const work: PullRequestWork = { promotion, words, access, spec, paused }
  try {
    switch (effect.do) {
      case 'commit':
        return await commitToBase({ ...work, spec: commit ?? {} })
      case 'push':
        return await push(work)
      case 'propose':
        return await propose(work)
      case 'withdraw':
        return await withdraw(work, whyWithdrawn(effect))
      default:
        return await poll(work)
    }
  } finally {
    access.git.close()
  }
}

/** Notes every secret that is read: a server may well repeat it in what it says. */
function remembered(read: ActPorts['secret'], secrets: Set<string>): ActPorts['secret'] {
  return async (place) => {
    const data = await read(place)
    for (const value of Object.values(data ?? {})) secrets.add(value)
    return data
  }
}

function worded(effect: Effect, pipeline: Pipeline, { valueOf }: ActPorts): Words {
  const { namespace = '', name } = pipeline.metadata
  const words = wordsOf({ namespace, name }, effect.environment, effect.promotion)
  const expression = pipeline.spec.adapter?.value
  // Once pushed, the value is on record and a changed expression does not matter any more.
  if (!expression || effect.promotion.value !== undefined) return words
  return { ...words, value: valueOf(expression, words.revision) }
}

/** The environment as it is planned now; absent when it is gone or the spec cannot be followed. */
function environmentOf({ environment }: Effect, { spec, metadata }: Pipeline): EnvironmentPlan | undefined {
  try {
    return planOf(spec, metadata.namespace ?? '').environments.find(({ name }) => name === environment)
  } catch {
    return undefined
  }
}

function whyWithdrawn({ promotion }: Effect): string {
  const { because, supersededBy, id } = promotion
  const next = supersededBy ? ` Superseded by \`${supersededBy.replace(/[`\p{Cc}]/gu, '').slice(0, 200)}\`.` : ''
  return `Closed by the promotion pipeline: ${sentenceOf(because as Because)}.${next} (promotion ${id})`
}
