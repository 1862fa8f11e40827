/** @import { Gate, Promotion, TargetStatus, EnvironmentStatus } from '../../src/apis/pipeline-status.ts' */
/** @import { Pipeline } from '../../src/apis/pipeline.ts' */
/** @import { Mirror } from '../mirror.js' */
/** @import { Rights } from './cards.js' */
/** @import { Child } from '../types.d.ts' */
import { ask, pause, session } from '../api.js'
import { confirm } from '../dialogs.js'
import { h, link, pill, stateWords, timeOf } from '../dom.js'
import { drawGraph } from '../graph.js'
import { kinds } from '../kinds.js'
import { objectHref } from '../objects.js'
import { pipelineState, readyOf, shortRevision } from '../managed-items.js'
import {
  exactMoment,
  formatAhead,
  formatDistance,
  formatMoment,
  formatSpan,
  parseTime,
  withReadableTimes,
} from '../time.js'
import { toneOf } from '../tones.js'
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
    card: (pipeline, rights) => pipelineCard(pipeline, deniedOf(pipeline, rights)),
    textOf: ({ metadata, status }) => `${metadata.name} ${metadata.namespace} ${status?.latestRevision ?? ''}`,
  })
}

/** Why the user may decide nothing for a pipeline; '' when they may. @param {Pipeline} pipeline @param {Rights} rights */
export function deniedOf({ metadata: { namespace = '' } }, rights) {
  return rights.denied({ verb: 'create', group: 'sojourn.dev', resource: 'approvals', namespace })
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

/** @param {Pipeline} pipeline @param {string} denied */
function pipelineCard(pipeline, denied) {
  const { metadata, spec } = pipeline
  const { state, why } = stateOf(pipeline)
  const about = `${metadata.namespace} · ${spec.appRef.kind} ${spec.appRef.name}${spec.suspend ? ' · suspended' : ''}`
  return h(
    'article.card.wide',
    { 'aria-label': `Pipeline ${metadata.name}` },
    cardHead(metadata, about, [state, toneOf(state)], objectHref({ ...kinds.pipelines, ...metadata })),
    h('div.heading', {}, h('p.why', {}, withReadableTimes(why)), pipelineActions(pipeline, denied)),
    h('div.picture', {}, wayOf(pipeline)),
    h('ol.way', {}, ...spec.environments.map((environment) => environmentBox(pipeline, environment.name, denied))),
    historyOf(pipeline),
    revisionsOf(pipeline, denied),
    requestsOf(pipeline),
  )
}

/** The environments as a graph: what runs where and since when. @param {Pipeline} pipeline */
function wayOf({ metadata, spec, status }) {
  const before = dependenciesOf(spec)
  const nodes = spec.environments.map(({ name }) => {
    const [through, ...also] = before.get(name) ?? []
    const { readyOn, promotion } = status?.environments?.[name] ?? {}
    const since = readyOn ? ago(readyOn.since) : 'not ready'
    const tone = hasFailed(promotion) ? 'bad' : toneOfEnvironment(status, readyOn?.revision)
    return {
      id: name,
      ...(through === undefined ? {} : { through }),
      also,
      name,
      kind: `${shortRevision(readyOn?.revision ?? '?').replace(/^.*sha\d+:/, '')} · ${since}`,
      note: promotion ? `${stateWords(promotion.phase)} ${shortRevision(promotion.revision)}` : since,
      tone,
    }
  })
  const focus = (/** @type {string} */ id) =>
    document
      .getElementById(`environment-${metadata.namespace}-${metadata.name}-${id}`)
      ?.scrollIntoView({ block: 'nearest', inline: 'center' })
  return drawGraph(nodes, { label: `The way of a revision through ${metadata.name}`, onSelect: focus })
}

/** @param {string} time */
const ago = (time) => formatDistance(parseTime(time) ?? Date.now(), Date.now())

/** What each environment depends on, the furthest along the way first: it is drawn to the right of that. @param {Pipeline['spec']} spec */
function dependenciesOf({ environments }) {
  const named = new Map(
    environments.map(({ name, dependsOn }, index) => [
      name,
      index === 0 ? [] : (dependsOn ?? [environments[index - 1]?.name ?? '']),
    ]),
  )
  /** @param {string} name @param {readonly string[]} seen @returns {number} */
  const depthOf = (name, seen = []) =>
    Math.max(
      0,
      ...(seen.includes(name) ? [] : (named.get(name) ?? []).map((from) => 1 + depthOf(from, [...seen, name]))),
    )
  return new Map(
    [...named].map(([name, from]) => [name, from.toSorted((left, right) => depthOf(right) - depthOf(left))]),
  )
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
  return foldable(pipeline, `History (${entries.length})`, tableOf(titles, entries.map(historyRow)))
}

/** @param {string[]} titles @param {HTMLElement[]} rows */
function tableOf(titles, rows) {
  const head = h('tr', {}, ...titles.map((title) => h('th', { scope: 'col' }, title)))
  return h('div.scroll', {}, h('table', {}, h('thead', {}, head), h('tbody', {}, ...rows)))
}

/** Who asked for what, and what became of it. @param {Pipeline} pipeline */
function requestsOf(pipeline) {
  const { requests = [] } = pipeline.status ?? {}
  if (requests.length === 0) return undefined
  const rows = requests.map(({ at, by, decision, environment, revision, result, comment }) => {
    const time = parseTime(at)
    const what = `${decision}${revision ? ` ${shortRevision(revision)}` : ''}`
    const cells = [
      time === undefined ? '' : timeOf(time, formatMoment(time)),
      by,
      what,
      environment.replace('*', 'all'),
      result,
    ]
    return h('tr', {}, ...[...cells, comment ?? ''].map((text) => h('td', {}, text)))
  })
  const titles = ['When', 'By', 'Request', 'Environment', 'Result', 'Comment']
  return foldable(pipeline, `Requests (${requests.length})`, tableOf(titles, rows))
}

/** @param {{ environment: string, revision: string, phase: string, endedAt: string, approvedBy?: string[], requestedBy?: string, leadSeconds?: number, pullRequest?: string }} entry */
function historyRow({ environment, revision, phase, endedAt, approvedBy = [], requestedBy, leadSeconds, pullRequest }) {
  const at = parseTime(endedAt)
  const by = [...(requestedBy ? [`requested by ${requestedBy}`] : []), ...approvedBy]
  return h(
    'tr',
    {},
    h('td', { title: exactMoment(at) }, at === undefined ? '' : formatMoment(at)),
    h('td', {}, environment),
    h('td.revision', { title: revision }, shortRevision(revision)),
    h('td', {}, pill(phase, promotionTones.get(phase) ?? 'plain')),
    h('td', {}, by.join(', ')),
    h('td', {}, leadSeconds === undefined ? '' : formatSpan(leadSeconds * 1000)),
    h('td', {}, pullRequest && link(pullRequest, `#${pullRequest.split('/').at(-1)}`)),
  )
}

/** The revisions seen in the first environment; each can be promoted. @param {Pipeline} pipeline @param {string} denied */
function revisionsOf(pipeline, denied) {
  const { revisions = [] } = pipeline.status ?? {}
  if (revisions.length === 0) return undefined
  const later = pipeline.spec.environments.slice(1)
  const row = (/** @type {{ revision: string, seenAt: string }} */ { revision, seenAt }) =>
    h(
      'li',
      {},
      h('span.revision', { title: revision }, shortRevision(revision)),
      h('small', { title: exactMoment(parseTime(seenAt)) }, `seen ${ago(seenAt)}`),
      ...later.map(({ name }) =>
        requestButton(pipeline, {
          decision: 'Promote',
          environment: name,
          revision,
          about: revision,
          denied,
          label: `Promote to ${name}`,
        }),
      ),
    )
  return foldable(pipeline, `Revisions (${revisions.length})`, h('ul.revisions', {}, ...revisions.map(row)))
}

/** The buttons of a pipeline, on its own page. @param {Pipeline} pipeline @param {Rights} rights */
export function actionsOfPipeline(pipeline, rights) {
  const denied = deniedOf(pipeline, rights)
  const decisions = Object.entries(pipeline.status?.environments ?? {}).flatMap(([name, { waitingApproval }]) =>
    waitingApproval?.promotionId ? decisionButtons(pipeline, name, waitingApproval, denied) : [],
  )
  return h('div.actions', {}, ...decisions, pipelineActions(pipeline, denied))
}

/** @param {Pipeline} pipeline @param {string} denied */
function pipelineActions(pipeline, denied) {
  const { status, metadata } = pipeline
  const isRetryable =
    status?.conditions?.some(({ type }) => type === 'Stalled') ||
    pipeline.spec.environments.some(({ name }) => canRetry(status, name))
  const wanted = { environment: '*', about: metadata.name, denied }
  return h(
    'div.actions',
    {},
    isRetryable && requestButton(pipeline, { ...wanted, decision: 'Retry' }),
    status?.suspension
      ? requestButton(pipeline, { ...wanted, decision: 'Resume', tone: 'primary' })
      : requestButton(pipeline, { ...wanted, decision: 'Suspend' }),
  )
}

/**
 * @param {Pipeline} pipeline
 * @param {{ decision: string, environment: string, revision?: string, about: string, denied: string, tone?: string, label?: string }} wanted
 */
function requestButton(pipeline, { about, denied, tone, label, ...wanted }) {
  return actionButton(label ?? wanted.decision, () => requestAction(pipeline, wanted), { about, denied, tone })
}

/** Whether a retry of an environment finds something to do. @param {Pipeline['status']} status @param {string} name */
function canRetry(status, name) {
  const { promotion, readyOn, pin } = status?.environments?.[name] ?? {}
  const { run } = status ?? {}
  const isDrifted = promotion && run?.phase === 'Complete' && readyOn?.revision !== run.revision && !pin
  return isDrifted || promotion?.nextAttemptAt || hasFailed(promotion)
}

/** @param {Promotion | undefined} promotion */
function hasFailed(promotion) {
  return ['Failed', 'Rejected'].includes(promotion?.phase ?? '') || promotion?.because === 'RolloutTimedOut'
}

/** @type {Record<string, string>} */
const consequences = {
  Promote:
    'It passes the gates and approvals of the environment, but does not wait for those before it. It lasts until a newer revision is due there.',
  Rollback:
    'The previous good revision passes the gates and approvals of the environment. It lasts until a newer revision is due there.',
  Retry: 'Promotions that failed, were rejected, timed out or drifted are tried again.',
  Suspend: 'Nothing is promoted until a user resumes the pipeline. Open pull requests stay open.',
  Resume: 'Promotions continue as soon as their gates are open.',
}

/**
 * Creates an Approval that asks for something, in the name and with the rights of the user.
 * @param {Pipeline} pipeline
 * @param {{ decision: string, environment: string, revision?: string }} wanted
 */
export function requestAction(pipeline, { decision, environment, revision }) {
  confirm({
    title: `${decision}${revision ? ` ${shortRevision(revision)}` : ''}${environment === '*' ? '' : ` in ${environment}`}?`,
    text: consequences[decision] ?? '',
    action: decision,
    tone: decision === 'Rollback' ? 'danger' : 'primary',
    reason: 'Comment',
    async run(comment) {
      const path = await createApproval(pipeline, { environment, decision, revision, comment })
      const { state, message } = (await answerTo(path)) ?? {}
      if (state === 'Ignored') throw new Error(`${decision} was refused: ${message}`)
      return `${decision} of ${pipeline.metadata.name} requested${message ? `: ${message}` : ''}`
    },
  })
}

/** What the promoter made of a request; undefined when it has not answered in time. @param {string} path */
async function answerTo(path) {
  const signal = AbortSignal.timeout(3000)
  for (; !signal.aborted; await pause(250, signal)) {
    const { status } = await ask(path).catch(() => ({}))
    if (status) return status
  }
  return undefined
}

/**
 * Creates an Approval and returns its path.
 * @param {Pipeline} pipeline
 * @param {{ environment: string, decision: string, revision?: string, promotionId?: string, comment?: string }} said
 */
async function createApproval({ metadata, apiVersion, kind }, { environment, decision, ...said }) {
  const { namespace = '', name, uid } = metadata
  const given = Object.fromEntries(Object.entries(said).filter(([, text]) => text))
  const now = await ask(`/apis/${apiVersion}/namespaces/${namespace}/pipelines/${name}`)
  if (now.metadata.uid !== uid) throw new Error(`${name} was created anew meanwhile. Close this and look at it again.`)
  const body = {
    apiVersion: 'sojourn.dev/v1alpha1',
    kind: 'Approval',
    metadata: {
      generateName: `${name}-${decision.toLowerCase()}-`,
      ownerReferences: [{ apiVersion, kind, name, uid }],
    },
    spec: { pipeline: name, environment, decision, approver: session.user, ...given },
  }
  const path = `/apis/sojourn.dev/v1alpha1/namespaces/${encodeURIComponent(namespace)}/approvals`
  const { metadata: created } = await ask(path, { method: 'POST', body })
  return `${path}/${encodeURIComponent(created.name)}`
}

/** @param {Pipeline} pipeline @param {string} name @param {string} denied */
function environmentBox(pipeline, name, denied) {
  const state = /** @type {Partial<EnvironmentStatus>} */ (pipeline.status?.environments?.[name] ?? {})
  const { readyOn, targets = [], gates = [], promotion, waitingApproval } = state
  const running = readyOn?.revision ?? targets.find(({ revision }) => revision)?.revision
  const isLatest = running !== undefined && running === pipeline.status?.latestRevision
  const wanted = { environment: name, about: name, denied }
  const actions = [
    canRetry(pipeline.status, name) && requestButton(pipeline, { ...wanted, decision: 'Retry' }),
    canRollBack(state) && requestButton(pipeline, { ...wanted, decision: 'Rollback', label: 'Roll back' }),
  ].filter((button) => button)
  return h(
    `li.environment${isLatest ? '.latest' : ''}`,
    { id: `environment-${pipeline.metadata.namespace}-${pipeline.metadata.name}-${name}` },
    h('h3', {}, name),
    h('p.revision', { title: running ?? '' }, running === undefined ? 'not known yet' : shortRevision(running)),
    h(
      'small',
      { title: exactMoment(parseTime(readyOn?.since)) },
      readyOn ? `ready ${ago(readyOn.since)}` : targetsText(targets),
    ),
    promotion && promotionLine(promotion),
    gates.length > 0 &&
      h('ul.gates', {}, ...gates.filter(({ state }) => state !== 'Open').map(gateLine), openGates(gates)),
    waitingApproval?.promotionId && approvalBox(pipeline, name, waitingApproval, denied),
    actions.length > 0 && h('div.actions', {}, ...actions),
  )
}

/** Whether an earlier revision is known. @param {Partial<EnvironmentStatus>} state */
function canRollBack({ promotion, history = [] }) {
  const isDelivered = promotion?.phase === 'Succeeded' || promotion?.phase === 'RollingOut'
  return (isDelivered && promotion?.fromRevision) || history.some(({ phase }) => phase === 'Succeeded')
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
    { title: exactMoment(at) },
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
 * @param {string} denied
 */
function approvalBox(pipeline, environment, waiting, denied) {
  const { revision, required = 1, approvals = [] } = waiting
  const given = approvals.filter(({ decision }) => decision === 'Approve')
  return h(
    'div.approval',
    {},
    h('p', {}, `${shortRevision(revision)} waits for approval (${given.length} of ${required})`),
    given.length > 0 && h('small', {}, `by ${given.map(({ approver }) => approver).join(', ')}`),
    h('div.actions', {}, ...decisionButtons(pipeline, environment, waiting, denied)),
  )
}

/**
 * @param {Pipeline} pipeline
 * @param {string} environment
 * @param {NonNullable<EnvironmentStatus['waitingApproval']>} waiting
 * @param {string} denied
 */
export function decisionButtons(pipeline, environment, waiting, denied) {
  const about = `${shortRevision(waiting.revision)} for ${environment}`
  const decide = (/** @type {'Approve' | 'Reject'} */ decision) =>
    confirmDecision(pipeline, environment, { ...waiting, decision })
  return [
    actionButton('Reject', () => decide('Reject'), { about, denied }),
    actionButton('Approve', () => decide('Approve'), { tone: 'primary', about, denied }),
  ]
}

/**
 * @param {Pipeline} pipeline
 * @param {string} environment
 * @param {NonNullable<EnvironmentStatus['waitingApproval']> & { decision: 'Approve' | 'Reject' }} options
 */
function confirmDecision(pipeline, environment, { revision, promotionId, decision, required = 1, approvals = [] }) {
  const { name, namespace } = pipeline.metadata
  const short = shortRevision(revision)
  const gates = pipeline.status?.environments?.[environment]?.gates ?? []
  const closed = gates.filter((gate) => gate.state !== 'Open' && gate.name !== 'approval')
  const waits = closed.map((gate) => `${gate.name} (${gate.message ?? gate.reason})`).join(', ')
  const isYes = decision === 'Approve'
  const others = approvals.filter(
    ({ decision, approver }) => decision === 'Approve' && approver !== session.user,
  ).length
  const missing = required - others - 1
  const when =
    missing > 0
      ? `after ${missing} more approval${missing === 1 ? '' : 's'}`
      : waits
        ? `as soon as these gates are open: ${waits}`
        : 'at once: no other gate is closed'
  confirm({
    title: `${decision} ${short}?`,
    text: isYes
      ? `${name} promotes ${short} to ${environment} ${when}.`
      : `${name} does not promote ${short} to ${environment}.`,
    action: decision,
    tone: isYes ? 'primary' : 'danger',
    reason: 'Comment',
    ...(isYes ? { whatIf: { namespace, assume: [`approve:${namespace}/${name}/${environment}`] } } : {}),
    async run(comment) {
      await createApproval(pipeline, { environment, decision, revision, promotionId, comment })
      return `${short} ${isYes ? 'approved' : 'rejected'} for ${environment}`
    },
  })
}
