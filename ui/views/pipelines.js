/** @import { Gate, Promotion, TargetStatus, EnvironmentStatus } from '../../src/apis/pipeline-status.ts' */
/** @import { Pipeline } from '../../src/apis/pipeline.ts' */
/** @import { Mirror } from '../mirror.js' */
/** @import { Child } from '../types.d.ts' */
import { ask, session } from '../api.js'
import { confirm } from '../dialogs.js'
import { h, link, pill } from '../dom.js'
import { drawGraph } from '../graph.js'
import { pipelineState, readyOf, shortRevision } from '../managed-items.js'
import { formatAhead, formatDistance, formatMoment, formatSpan, parseTime, withReadableTimes } from '../time.js'
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
    pipelineActions(pipeline),
    h('div.picture', {}, wayOf(pipeline)),
    h('ol.environments', {}, ...spec.environments.map((environment) => environmentBox(pipeline, environment.name))),
    historyOf(pipeline),
    revisionsOf(pipeline),
  )
}

/** The environments as a graph: what runs where and since when. @param {Pipeline} pipeline */
function wayOf({ metadata, spec, status }) {
  const nodes = spec.environments.map(({ name, dependsOn }, index) => {
    const [through, ...also] = index === 0 ? [] : (dependsOn ?? [spec.environments[index - 1]?.name ?? ''])
    const { readyOn, promotion } = status?.environments?.[name] ?? {}
    const since = readyOn ? formatDistance(parseTime(readyOn.since) ?? Date.now(), Date.now()) : 'not ready'
    const tone =
      promotion?.phase === 'Failed' || promotion?.phase === 'Rejected'
        ? 'bad'
        : toneOfEnvironment(status, readyOn?.revision)
    return {
      id: name,
      ...(through === undefined ? {} : { through }),
      also,
      name,
      kind: `${shortRevision(readyOn?.revision ?? '?').replace(/^.*sha\d+:/, '')} · ${since}`,
      note: promotion ? `${promotion.phase} ${shortRevision(promotion.revision)}` : since,
      tone,
    }
  })
  const focus = (/** @type {string} */ id) =>
    document
      .getElementById(`environment-${metadata.namespace}-${metadata.name}-${id}`)
      ?.scrollIntoView({ block: 'nearest', inline: 'center' })
  return drawGraph(nodes, { label: `The way of a revision through ${metadata.name}`, onSelect: focus })
}

/** The foldable parts that the user has opened; a card is built anew at every change. @type {Set<string>} */
const unfolded = new Set()

/** @param {Pipeline} pipeline @param {string} title @param {Child} content */
function foldable({ metadata }, title, content) {
  const key = `${metadata.namespace}/${metadata.name} ${title.replace(/ \(.*/, '')}`
  const details = h(
    'details.history',
    { open: unfolded.has(key), ontoggle: () => (details.open ? unfolded.add(key) : unfolded.delete(key)) },
    h('summary', {}, title),
    content,
  )
  return details
}

/** @param {Pipeline['status']} status @param {string | undefined} running */
function toneOfEnvironment(status, running) {
  if (running === undefined) return 'plain'
  return running === (status?.run?.revision ?? status?.latestRevision) ? 'good' : 'warn'
}

const shownEntries = 30

/** Which revision reached which environment, when, by whose approval, and how long it took. @param {Pipeline} pipeline */
function historyOf(pipeline) {
  const { status } = pipeline
  const entries = Object.entries(status?.environments ?? {})
    .flatMap(([environment, { history = [], promotion }]) => {
      const current =
        promotion?.phase === 'Succeeded'
          ? [{ ...promotion, endedAt: promotion.phaseAt, pullRequest: promotion.pullRequest?.url }]
          : []
      return [...current, ...history].map((entry) => ({ environment, ...entry }))
    })
    .sort((left, right) => (parseTime(right.endedAt) ?? 0) - (parseTime(left.endedAt) ?? 0))
    .slice(0, shownEntries)
  if (entries.length === 0) return undefined
  const titles = ['When', 'Environment', 'Revision', 'Result', 'By', 'Lead time', 'Pull request']
  return foldable(
    pipeline,
    `History (${entries.length})`,
    h(
      'div.scroll',
      {},
      h(
        'table',
        {},
        h('thead', {}, h('tr', {}, ...titles.map((title) => h('th', { scope: 'col' }, title)))),
        h('tbody', {}, ...entries.map(historyRow)),
      ),
    ),
  )
}

/** @param {{ environment: string, revision: string, phase: string, endedAt: string, approvedBy?: string[], requestedBy?: string, leadSeconds?: number, pullRequest?: string }} entry */
function historyRow({ environment, revision, phase, endedAt, approvedBy = [], requestedBy, leadSeconds, pullRequest }) {
  const at = parseTime(endedAt)
  const by = [...(requestedBy ? [`requested by ${requestedBy}`] : []), ...approvedBy]
  return h(
    'tr',
    {},
    h('td', {}, at === undefined ? '' : formatMoment(at)),
    h('td', {}, environment),
    h('td.revision', { title: revision }, shortRevision(revision)),
    h('td', {}, pill(phase, promotionTones.get(phase) ?? 'plain')),
    h('td', {}, by.join(', ')),
    h('td', {}, leadSeconds === undefined ? '' : formatSpan(leadSeconds * 1000)),
    h('td', {}, pullRequest && link(pullRequest, `#${pullRequest.split('/').at(-1)}`)),
  )
}

/** The revisions seen in the first environment; each can be promoted. @param {Pipeline} pipeline */
function revisionsOf(pipeline) {
  const { revisions = [] } = pipeline.status ?? {}
  if (revisions.length === 0) return undefined
  const later = pipeline.spec.environments.slice(1)
  const row = (/** @type {{ revision: string, seenAt: string }} */ { revision, seenAt }) =>
    h(
      'li',
      {},
      h('span.revision', { title: revision }, shortRevision(revision)),
      h('small', {}, `seen ${formatDistance(parseTime(seenAt) ?? Date.now(), Date.now())}`),
      ...later.map(({ name }) =>
        actionButton(
          `Promote to ${name}`,
          () => requestAction(pipeline, { decision: 'Promote', environment: name, revision }),
          { about: revision },
        ),
      ),
    )
  return foldable(pipeline, `Revisions (${revisions.length})`, h('ul.revisions', {}, ...revisions.map(row)))
}

/** @param {Pipeline} pipeline */
function pipelineActions(pipeline) {
  const { status, metadata } = pipeline
  const isRetryable = Object.values(status?.environments ?? {}).some(
    ({ promotion }) =>
      promotion?.phase === 'Failed' || promotion?.phase === 'Rejected' || promotion?.because === 'RolloutTimedOut',
  )
  const isDrifted = status?.conditions?.some(({ type }) => type === 'Drifted')
  const about = metadata.name
  return h(
    'div.actions',
    {},
    (isRetryable || isDrifted) &&
      actionButton('Retry', () => requestAction(pipeline, { decision: 'Retry', environment: '*' }), { about }),
    status?.suspension
      ? actionButton('Resume', () => requestAction(pipeline, { decision: 'Resume', environment: '*' }), {
          about,
          tone: 'primary',
        })
      : actionButton('Suspend', () => requestAction(pipeline, { decision: 'Suspend', environment: '*' }), { about }),
  )
}

/** @type {Record<string, string>} */
const consequences = {
  Promote:
    'It passes the gates and approvals of the environment, but does not wait for those before it. It lasts until the next run.',
  Rollback:
    'The previous good revision passes the gates and approvals of the environment. It lasts until the next run.',
  Retry: 'Promotions that failed, were rejected, timed out or drifted are tried again.',
  Suspend: 'Nothing is promoted until a user resumes the pipeline. Open pull requests stay open.',
  Resume: 'Promotions continue as soon as their gates are open.',
}

/**
 * Creates an Approval that asks for something, in the name and with the rights of the user.
 * @param {Pipeline} pipeline
 * @param {{ decision: string, environment: string, revision?: string }} wanted
 */
function requestAction(pipeline, { decision, environment, revision }) {
  confirm({
    title: `${decision}${revision ? ` ${shortRevision(revision)}` : ''}${environment === '*' ? '' : ` in ${environment}`}?`,
    text: consequences[decision] ?? '',
    action: decision,
    tone: decision === 'Rollback' ? 'danger' : 'primary',
    reason: 'Comment',
    async run(comment) {
      await createApproval(pipeline, { environment, decision, revision, comment })
      return `${decision} of ${pipeline.metadata.name} requested`
    },
  })
}

/**
 * @param {Pipeline} pipeline
 * @param {{ environment: string, decision: string, revision?: string, promotionId?: string, comment?: string }} said
 */
async function createApproval({ metadata, apiVersion, kind }, { environment, decision, ...said }) {
  const { namespace = '', name, uid } = metadata
  const given = Object.fromEntries(Object.entries(said).filter(([, text]) => text))
  const body = {
    apiVersion: 'sojourn.dev/v1alpha1',
    kind: 'Approval',
    metadata: {
      generateName: `${name}-${decision.toLowerCase()}-`,
      ownerReferences: [{ apiVersion, kind, name, uid }],
    },
    spec: { pipeline: name, environment, decision, approver: session.user, ...given },
  }
  await ask(`/apis/sojourn.dev/v1alpha1/namespaces/${encodeURIComponent(namespace)}/approvals`, {
    method: 'POST',
    body,
  })
}

/** @param {Pipeline} pipeline @param {string} name */
function environmentBox(pipeline, name) {
  const state = /** @type {Partial<EnvironmentStatus>} */ (pipeline.status?.environments?.[name] ?? {})
  const { readyOn, targets = [], gates = [], promotion, waitingApproval } = state
  const running = readyOn?.revision ?? targets.find(({ revision }) => revision)?.revision
  const isLatest = running !== undefined && running === pipeline.status?.latestRevision
  return h(
    `li.environment${isLatest ? '.latest' : ''}`,
    { id: `environment-${pipeline.metadata.namespace}-${pipeline.metadata.name}-${name}` },
    h('h3', {}, name),
    h('p.revision', { title: running ?? '' }, running === undefined ? 'not known yet' : shortRevision(running)),
    h(
      'small',
      {},
      readyOn ? `ready ${formatDistance(parseTime(readyOn.since) ?? Date.now(), Date.now())}` : targetsText(targets),
    ),
    promotion && promotionLine(promotion),
    gates.length > 0 &&
      h('ul.gates', {}, ...gates.filter(({ state }) => state !== 'Open').map(gateLine), openGates(gates)),
    waitingApproval?.promotionId && approvalBox(pipeline, name, waitingApproval),
    (state.history ?? []).some(({ phase }) => phase === 'Succeeded') &&
      h(
        'div.actions',
        {},
        actionButton('Roll back', () => requestAction(pipeline, { decision: 'Rollback', environment: name }), {
          about: name,
        }),
      ),
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
    h('span.revision', { title: revision }, shortRevision(revision)),
    pullRequest &&
      link(pullRequest.url, `#${pullRequest.number} ${pullRequest.isConflicting ? 'conflicts' : pullRequest.state}`),
    pullRequest?.checks && h('small', {}, pullRequest.checks),
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
function confirmDecision(pipeline, environment, { revision, promotionId, decision }) {
  const { name } = pipeline.metadata
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
      await createApproval(pipeline, { environment, decision, revision, promotionId, comment })
      return `${revision} ${isYes ? 'approved' : 'rejected'} for ${environment}`
    },
  })
}
