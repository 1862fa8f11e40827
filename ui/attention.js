/** @import { Mirror } from './mirror.js' */
/** @import { CleanupCandidate } from '../src/apis/cleanup-candidate.ts' */
/** @import { Environment } from '../src/apis/environment.ts' */
/** @import { Pipeline } from '../src/apis/pipeline.ts' */
/** @import { ManagedItem, Ref } from './types.d.ts' */
import { kinds } from './kinds.js'
import { candidateItem, shortRevision } from './managed-items.js'
import { failureOf, faultOf, isOnDemand } from './service-state.js'
import { parseTime } from './time.js'

const day = 86_400_000

/**
 * Something that needs a person: it fails, waits for one, or is deleted within a day. `at` is since when, or when it is deleted; `subject`
 * is what its buttons act on, in a Pipeline the `environment` of it; `url` is where a person does what is waited for.
 * @typedef {{ what: 'failing' | 'waits' | 'due', object: Ref, why: string, url?: string, at?: number, subject?: Environment | Pipeline | CleanupCandidate, environment?: string }} Attention
 */

const failing = new Set([
  'Failed',
  'Broken',
  'Stalled',
  'InvalidSpec',
  'TargetNotReadable',
  'TargetForbidden',
  'KindNotFound',
  'TooManyTargets',
  'TargetResolveError',
  'ConditionCompileError',
  'ConditionEvaluationError',
  'ConditionResultNotBoolean',
])
const order = ['failing', 'waits', 'due']

/**
 * What needs a person now: failing first, then what waits for one, then what is deleted within a day, each the oldest first.
 * @param {Mirror} mirror
 * @param {readonly ManagedItem[]} items
 * @param {number} now
 * @returns {Attention[]}
 */
export function attentionOf(mirror, items, now) {
  const found = [
    ...mirror.all('pipelines').flatMap(ofPipeline),
    ...mirror.all('environments').flatMap((each) => ofEnvironment(each, now)),
    ...mirror.all('candidates').flatMap((each) => ofCandidate(each, now)),
    ...mirror.all('services').filter(isOnDemand).flatMap(ofService),
    ...items.flatMap((item) => ofItem(item, now)),
  ]
  const rank = (/** @type {Attention} */ { what }) => order.indexOf(what)
  return found.sort((left, right) => rank(left) - rank(right) || (left.at ?? 0) - (right.at ?? 0))
}

/** @param {Pipeline} pipeline @returns {Attention[]} */
function ofPipeline(pipeline) {
  const { apiVersion, kind } = kinds.pipelines
  const object = { apiVersion, kind, namespace: pipeline.metadata.namespace, name: pipeline.metadata.name }
  /** @type {Attention[]} */
  const found = Object.entries(pipeline.status?.environments ?? {}).flatMap(
    ([name, { promotion, waitingApproval }]) => {
      const { phase = '', phaseAt, revision = '', lastError, because, pullRequest } = promotion ?? {}
      const say = (
        /** @type {Attention['what']} */ what,
        /** @type {string} */ why,
        /** @type {string} */ url = '',
      ) => [
        { what, object, why: shortRevision(why), url, at: parseTime(phaseAt), subject: pipeline, environment: name },
      ]
      if (waitingApproval?.promotionId)
        return say('waits', `${waitingApproval.revision} waits for approval for ${name}`)
      if (phase === 'Failed' || phase === 'Rejected')
        return say('failing', `${revision} for ${name}: ${lastError?.message ?? because}`)
      if (because === 'RolloutTimedOut') return say('failing', `${revision} for ${name}: its roll-out takes too long`)
      if (phase === 'Proposed' && pullRequest) {
        const toDo = pullRequest.isConflicting ? 'has conflicts' : 'is to be merged'
        return say('waits', `${revision} for ${name}: pull request #${pullRequest.number} ${toDo}`, pullRequest.url)
      }
      return []
    },
  )
  const stalled = pipeline.status?.conditions?.find(({ type, status }) => type === 'Stalled' && status === 'True')
  if (!stalled || found.some(({ what }) => what === 'failing')) return found
  // Only a run that took too long is retried as a whole.
  const retry = stalled.reason === 'RunTimedOut' ? { subject: pipeline, environment: '*' } : {}
  const { message: why, lastTransitionTime } = stalled
  return [{ what: 'failing', object, why, at: parseTime(lastTransitionTime), ...retry }, ...found]
}

/** @param {Environment} environment @param {number} now @returns {Attention[]} */
function ofEnvironment(environment, now) {
  const { metadata, status = {} } = environment
  const object = { ...kinds.environments, namespace: metadata.namespace, name: metadata.name }
  const at = parseTime(status.deletesAt)
  const common = { object, subject: environment, at }
  if (status.phase === 'Held') return [{ ...common, what: 'failing', why: status.message ?? 'its deletion is held' }]
  if (at === undefined || at > now + day || status.phase === 'Deleting') return []
  return [{ ...common, what: 'due', why: status.message ?? 'it is not used' }]
}

/** @param {CleanupCandidate} candidate @param {number} now @returns {Attention[]} */
function ofCandidate(candidate, now) {
  const { state, next, why } = candidateItem(candidate)
  const common = { object: candidate.spec.resource, why, subject: candidate, at: next?.isEnd ? next.at : undefined }
  if (state === 'Failed') return [{ ...common, what: 'failing' }]
  return common.at === undefined || common.at > now + day ? [] : [{ ...common, what: 'due' }]
}

/** @param {import('./types.d.ts').Listed['services']} service @returns {Attention[]} */
function ofService(service) {
  const { namespace, name } = service.metadata
  const object = { ...kinds.services, namespace, name }
  return [faultOf(service), failureOf(service)].flatMap((why) =>
    why === undefined ? [] : [{ what: 'failing', object, why }],
  )
}

/** Cleaners and Bonds. @param {ManagedItem} item @param {number} now @returns {Attention[]} */
function ofItem({ object, system, state, since, next, why }, now) {
  if (system !== 'cleaner' && system !== 'collector') return []
  if (failing.has(state)) return [{ what: 'failing', object, why, at: since }]
  return next?.isEnd && next.at !== undefined && next.at <= now + day ? [{ what: 'due', object, why, at: next.at }] : []
}
