/** @import { Environment } from '../../src/apis/environment.ts' */
/** @import { Mirror } from '../mirror.js' */
/** @import { Rights } from './cards.js' */
/** @import { Child, View } from '../types.d.ts' */
import { ask, patch, request } from '../api.js'
import { confirm } from '../dialogs.js'
import { factList, h, link, timeOf } from '../dom.js'
import { objectHref } from '../objects.js'
import { formatAhead, formatDistance, formatMoment, parseTime, timeText, withReadableTimes } from '../time.js'
import { toneOf } from '../tones.js'
import { weekChart } from '../week-chart.js'
import { actionButton, cardHead, cardsView } from './cards.js'

const hour = 3_600_000
const powerMs = 8 * hour
const keepMs = 72 * hour

/** Preview and test environments: where they are, whose they are, when they sleep and when they are deleted. @param {{ mirror: Mirror }} parts @returns {View} */
export function environmentsView({ mirror }) {
  return cardsView({
    title: 'Environments',
    lead: 'Environments sleep while they are not used, and are deleted after their owner was told. Those to be deleted come first.',
    empty: [
      'There are no environments here.',
      'Label a Namespace so that the namespaceSelector of an EnvironmentClass matches it: kubectl label namespace NAME env=preview',
    ],
    lists: ['environments'],
    mirror,
    items: () => mirror.all('environments').toSorted(byUrgency),
    card: (environment, rights) => environmentCard(environment, { mirror, rights }),
    ownerOf: ({ spec, status }) => status?.owner ?? spec.owner,
    textOf: ({ metadata, spec, status }) =>
      [metadata.namespace, spec.className, status?.owner, status?.phase, ...(status?.urls ?? [])].join(' '),
  })
}

/** Announced, held and deleting ones first, then by last use. @param {Environment} left @param {Environment} right */
function byUrgency(left, right) {
  const rank = (/** @type {Environment} */ { status }) =>
    ['Held', 'Deleting', 'Announced'].includes(status?.phase ?? '') ? 0 : 1
  const used = (/** @type {Environment} */ { status }) => parseTime(status?.lastUsedAt) ?? 0
  return rank(left) - rank(right) || used(right) - used(left)
}

/** @typedef {{ mirror: Mirror, rights: Rights }} Parts */

/** @param {Environment} environment @param {Parts} parts */
function environmentCard(environment, parts) {
  const { metadata, spec, status = {} } = environment
  const name = metadata.namespace ?? ''
  const phase = status.phase ?? 'New'
  const [url] = status.urls ?? []
  const pull = status.pullRequest ?? spec.pullRequest
  const number = /\/(\d+)\/?$/.exec(pull?.url ?? '')?.[1]
  const state = status.pullRequest ? ` (${status.pullRequest.state})` : ''
  /** @type {[string, Child][]} */
  const facts = [['Owner', status.owner ?? spec.owner ?? 'not known']]
  if (pull) facts.push(['Pull request', link(pull.url, `${number ? `#${number}` : pull.url}${state}`)])
  facts.push(['Last used', moment(status.lastUsedAt, formatDistance) ?? 'not yet'], ...nextFacts(status))
  return h(
    'article.card',
    { 'aria-label': `Environment ${name}` },
    cardHead({ name }, `class ${spec.className}`, [phase, toneOf(phase)], hrefOf(environment)),
    url && h('p', {}, link(url, url.replace(/^https?:\/\//, ''))),
    status.message && h('p.when', {}, withReadableTimes(status.message)),
    factList(facts),
    weekChart(environment, Date.now()),
    h('div.actions', {}, ...actionsFor(environment, parts)),
  )
}

/** When it sleeps or wakes, and when it is deleted. @param {NonNullable<Environment['status']>} status @returns {[string, Child][]} */
function nextFacts({ phase, power, sleepsAt, wakesAt, deletesAt }) {
  if (phase === 'Deleting') return []
  /** @type {[string, Child]} */
  const deleted =
    phase === 'Held' && deletesAt
      ? ['Due', moment(deletesAt, formatDistance)]
      : ['Deleted', moment(deletesAt, formatAhead) ?? 'not by itself']
  if (power === 'Asleep') return [['Wakes', moment(wakesAt, formatAhead) ?? 'by a request or by hand'], deleted]
  return [['Sleeps', moment(sleepsAt, formatAhead) ?? 'not by itself'], deleted]
}

/** @param {Environment} environment */
function hrefOf({ metadata: { namespace, name } }) {
  return objectHref({ apiVersion: 'sojourn.dev/v1alpha1', kind: 'Environment', namespace, name })
}

/** @param {Environment} environment */
function pathOf({ metadata: { namespace, name } }) {
  return `/apis/sojourn.dev/v1alpha1/namespaces/${namespace}/environments/${name}`
}

/** A change of an Environment: how to write it, and what a forecast takes for it. @param {Environment} environment @param {Mirror} mirror @param {object} spec */
function changeOf(environment, mirror, spec) {
  const { namespace = '', name, uid } = environment.metadata
  const path = pathOf(environment)
  const applied = { apiVersion: 'sojourn.dev/v1alpha1', kind: 'Environment', metadata: { namespace, name }, spec }
  return {
    // With its uid, so that one that was created anew under this name is left alone.
    write: async () => mirror.put('environments', await patch(path, { metadata: { uid }, spec })),
    whatIf: { namespace, apply: [applied] },
  }
}

/** The buttons of an environment. @param {Environment} environment @param {Parts} parts */
export function actionsFor(environment, { mirror, rights }) {
  const { metadata, status } = environment
  const name = metadata.namespace ?? ''
  if (status?.phase === 'Deleting') return []
  const isAsleep = status?.power === 'Asleep'
  const power = () => confirmPower(environment, isAsleep ? 'Awake' : 'Asleep', mirror)
  const denied = rights.denied({ verb: 'patch', group: 'sojourn.dev', resource: 'environments', namespace: name })
  const kept = rights.denied({ verb: 'delete', group: '', resource: 'namespaces', namespace: name, name })
  return [
    actionButton(isAsleep ? 'Wake' : 'Sleep', power, { about: name, denied }),
    keepButton(environment, { mirror, rights }),
    actionButton('Delete', () => confirmDelete(environment), { tone: 'danger', about: name, denied: kept }),
  ]
}

/** @param {Environment} environment @param {Parts} parts */
export function keepButton(environment, { mirror, rights }) {
  const { namespace = '' } = environment.metadata
  const denied = rights.denied({ verb: 'patch', group: 'sojourn.dev', resource: 'environments', namespace })
  return actionButton('Keep 3 days', () => confirmKeep(environment, mirror), { about: namespace, denied })
}

/** @param {Environment} environment @param {'Awake' | 'Asleep'} power @param {Mirror} mirror */
function confirmPower(environment, power, mirror) {
  const { namespace: name = '' } = environment.metadata
  const isWake = power === 'Awake'
  const until = Date.now() + powerMs
  const wanted = { power, powerSince: timeText(Date.now()), powerUntil: timeText(until) }
  const { write, whatIf } = changeOf(environment, mirror, wanted)
  const count = [...mirror.all('deployments'), ...mirror.all('statefulsets')].filter(
    ({ metadata }) => metadata.namespace === name,
  ).length
  confirm({
    title: `${isWake ? 'Wake' : 'Put to sleep'}: ${name}?`,
    text: isWake
      ? `Its workloads (${count}) start now and stay awake until ${formatMoment(until)}.`
      : `Its workloads (${count}) stop now, until ${formatMoment(until)} at most. A request through the proxy still wakes them.`,
    action: isWake ? 'Wake' : 'Sleep',
    whatIf,
    async run() {
      await write()
      return isWake ? `${name} wakes` : `${name} goes to sleep`
    },
  })
}

/** @param {Environment} environment @param {Mirror} mirror */
function confirmKeep(environment, mirror) {
  const { metadata, status } = environment
  const name = metadata.namespace ?? ''
  const before = parseTime(status?.deletesAt)
  const until = Math.max(before ?? 0, Date.now()) + keepMs
  const { write, whatIf } = changeOf(environment, mirror, { keepUntil: timeText(until) })
  confirm({
    title: `Keep ${name}?`,
    text: `It is not deleted before ${formatMoment(until)}${before === undefined ? '' : ` instead of ${formatMoment(before)}`}, unless its class sets an earlier end by maxAge.`,
    action: 'Keep 3 days',
    whatIf,
    async run() {
      await write()
      return `${name} is kept until ${formatMoment(until)}`
    },
  })
}

/** @param {Environment} environment */
function confirmDelete(environment) {
  const { namespace: name = '', uid } = environment.metadata
  confirm({
    title: `Delete ${name}?`,
    text: `The Namespace ${name} is deleted now with everything in it, as by kubectl delete namespace. Type its name to confirm.`,
    action: 'Delete',
    tone: 'danger',
    reason: 'Name of the Namespace',
    hint: '',
    whatIf: { namespace: name, assume: [`delete:namespace/${name}`] },
    async run(typed) {
      if (typed !== name) throw new Error(`Type ${name} to delete it.`)
      const path = `/api/v1/namespaces/${name}`
      const { metadata } = await ask(path)
      // Read after the Namespace: if the Environment is the one on this page, so is its Namespace.
      const now = await ask(pathOf(environment))
      if (now.metadata.uid !== uid)
        throw new Error(`${name} was created anew meanwhile. Close this and look at it again.`)
      await request(path, {
        method: 'DELETE',
        body: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid: metadata.uid } },
      })
      return `${name} is being deleted`
    },
  })
}

/** @param {string | undefined} text @param {(at: number, now: number) => string} format */
function moment(text, format) {
  const at = parseTime(text)
  return at === undefined ? undefined : timeOf(at, format(at, Date.now()))
}
