/** @import { Gate, Promotion, TargetStatus, EnvironmentStatus } from '../../src/apis/pipeline-status.ts' */
/** @import { Pipeline } from '../../src/apis/pipeline.ts' */
/** @import { Mirror } from '../mirror.js' */
import { ask } from '../api.js'
import { confirm } from '../dialogs.js'
import { h, link, pill } from '../dom.js'
import { pipelineState, readyOf } from '../managed-items.js'
import { formatAhead, formatDistance, formatMoment, parseTime, withReadableTimes } from '../time.js'
import { toneOf } from './overview.js'
import { actionButton, cardHead, cardsView } from './cards.js'

/** Pipelines as the environments a revision passes through, with the gates between them. @param {{ mirror: Mirror }} parts */
export function pipelinesView({ mirror }) {
  return cardsView({
    title: 'Pipelines',
    lead: 'Each pipeline promotes one application through its environments: what runs where, which gates are closed, and who has to approve.',
    empty: [
      'There are no Pipelines.',
      'Create a Pipeline to promote revisions through environments; see examples/09-pipeline.',
    ],
    lists: ['pipelines'],
    mirror,
    items: () => mirror.all('pipelines').sort((left, right) => urgencyOf(left) - urgencyOf(right)),
    card: (pipeline) => pipelineCard(pipeline),
    textOf: ({ metadata, status }) => `${metadata.name} ${metadata.namespace} ${status?.latestRevision ?? ''}`,
  })
}

/** @param {Pipeline} pipeline */
function stateOf(pipeline) {
  const environments = Object.values(pipeline.status?.environments ?? {})
  const isWaiting = environments.some(({ waitingApproval }) => waitingApproval?.promotionId)
  return pipelineState(pipeline, { isWaiting, ...readyOf(pipeline) })
}

/** @type {WeakMap<Pipeline, number>} */
const urgencies = new WeakMap()

/** Pipelines that wait for approval first, then failing ones. @param {Pipeline} pipeline */
function urgencyOf(pipeline) {
  let urgency = urgencies.get(pipeline)
  if (urgency === undefined) {
    const { state } = stateOf(pipeline)
    urgency = state === 'AwaitingApproval' ? 0 : toneOf(state) === 'bad' ? 1 : 2
    urgencies.set(pipeline, urgency)
  }
  return urgency
}

/** @param {Pipeline} pipeline */
function pipelineCard(pipeline) {
  const { metadata, spec } = pipeline
  const { state, why } = stateOf(pipeline)
  const about = `${metadata.namespace} · ${spec.appRef.kind} ${spec.appRef.name}${spec.suspend ? ' · suspended' : ''}`
  return h(
    'article.card.wide',
    { 'aria-label': `Pipeline ${metadata.name}` },
    cardHead(metadata, about, [state, toneOf(state)]),
    h('p.why', {}, withReadableTimes(why)),
    h('ol.environments', {}, ...spec.environments.map((environment) => environmentBox(pipeline, environment.name))),
  )
}

/** @param {Pipeline} pipeline @param {string} name */
function environmentBox(pipeline, name) {
  const state = /** @type {Partial<EnvironmentStatus>} */ (pipeline.status?.environments?.[name] ?? {})
  const { readyOn, targets = [], gates = [], promotion, waitingApproval } = state
  const running = readyOn?.revision ?? targets.find(({ revision }) => revision)?.revision
  const isLatest = running !== undefined && running === pipeline.status?.latestRevision
  return h(
    `li.environment${isLatest ? '.latest' : ''}`,
    {},
    h('h3', {}, name),
    h('p.revision', { title: running ?? '' }, running ?? 'not known yet'),
    h(
      'small',
      {},
      readyOn ? `ready ${formatDistance(parseTime(readyOn.since) ?? Date.now(), Date.now())}` : targetsText(targets),
    ),
    promotion && promotionLine(promotion),
    gates.length > 0 &&
      h('ul.gates', {}, ...gates.filter(({ state }) => state !== 'Open').map(gateLine), openGates(gates)),
    waitingApproval?.promotionId && approvalBox(pipeline, name, waitingApproval),
  )
}

/** @param {readonly TargetStatus[]} targets */
function targetsText(targets) {
  const ready = targets.filter((target) => target.ready).length
  return targets.length === 0 ? 'no target' : `${ready} of ${targets.length} targets ready`
}

/** @type {Map<string, string>} */
const promotionTones = new Map([
  ['Succeeded', 'good'],
  ['Failed', 'bad'],
  ['Rejected', 'bad'],
  ['AwaitingApproval', 'warn'],
  ['Gated', 'warn'],
])

/** @param {Promotion} promotion */
function promotionLine({ revision, phase, pullRequest, lastError }) {
  const tone = promotionTones.get(phase)
  return h(
    'div.promotion',
    {},
    pill(phase, tone ?? 'plain'),
    h('span.revision', { title: revision }, revision),
    pullRequest && link(pullRequest.url, `#${pullRequest.number} ${pullRequest.state}`),
    lastError && h('small.problem', {}, lastError.message),
  )
}

/** A closed gate. @param {Gate} gate */
function gateLine({ name, state, reason, message, nextCheckAt }) {
  const sign = state === 'Closed' ? '✕' : '…'
  const at = parseTime(nextCheckAt)
  const when = at === undefined ? '' : `, ${formatAhead(at, Date.now())}`
  return h(
    `li.gate.${state.toLowerCase()}`,
    { title: at === undefined ? '' : formatMoment(at) },
    h('span', { 'aria-hidden': 'true' }, sign),
    h('span', {}, `${name}: ${message ?? reason}${when}`),
  )
}

/** The open gates, in one line. @param {readonly Gate[]} gates */
function openGates(gates) {
  const open = gates.filter(({ state }) => state === 'Open')
  if (open.length === 0) return undefined
  return h(
    'li.gate.open',
    { title: open.map(({ name, message, reason }) => `${name}: ${message ?? reason}`).join('\n') },
    h('span', { 'aria-hidden': 'true' }, '✓'),
    h('span', {}, `open: ${open.map(({ name }) => name).join(', ')}`),
  )
}

/**
 * @param {Pipeline} pipeline
 * @param {string} environment
 * @param {NonNullable<EnvironmentStatus['waitingApproval']>} waiting
 */
function approvalBox(pipeline, environment, { revision, promotionId, required = 1, approvals = [] }) {
  const given = approvals.filter(({ decision }) => decision === 'Approve')
  const decide = (/** @type {'Approve' | 'Reject'} */ decision) =>
    confirmDecision(pipeline, environment, { revision, promotionId, decision })
  return h(
    'div.approval',
    {},
    h('p', {}, `${revision} waits for approval (${given.length} of ${required})`),
    given.length > 0 && h('small', {}, `by ${given.map(({ approver }) => approver).join(', ')}`),
    h(
      'div.actions',
      {},
      actionButton('Reject', () => decide('Reject'), { about: `${revision} for ${environment}` }),
      actionButton('Approve', () => decide('Approve'), { tone: 'primary', about: `${revision} for ${environment}` }),
    ),
  )
}

/**
 * @param {Pipeline} pipeline
 * @param {string} environment
 * @param {{ revision: string, promotionId?: string, decision: 'Approve' | 'Reject' }} options
 */
function confirmDecision({ metadata }, environment, { revision, promotionId, decision }) {
  const { namespace, name } = metadata
  const isYes = decision === 'Approve'
  confirm({
    title: `${decision} ${revision}?`,
    text: isYes
      ? `${name} promotes ${revision} to ${environment} as soon as its other gates are open.`
      : `${name} does not promote ${revision} to ${environment}.`,
    action: decision,
    tone: isYes ? 'primary' : 'danger',
    reason: 'Comment',
    async run(comment) {
      const [at, pipeline, into] = [namespace ?? '', name, environment].map(encodeURIComponent)
      const body = { promotionId, revision, decision, ...(comment ? { comment } : {}) }
      await ask(`/v1/namespaces/${at}/pipelines/${pipeline}/environments/${into}/approvals`, { method: 'POST', body })
      return `${revision} ${isYes ? 'approved' : 'rejected'} for ${environment}`
    },
  })
}
