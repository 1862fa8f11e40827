/** @import { Environment } from '../../src/apis/environment.ts' */
/** @import { Mirror } from '../mirror.js' */
/** @import { Child, View } from '../types.d.ts' */
import { ask, patch, request } from '../api.js'
import { confirm } from '../dialogs.js'
import { factList, h, link } from '../dom.js'
import { rightsOf } from '../rights.js'
import { formatAhead, formatDistance, formatMoment, parseTime, timeText, withReadableTimes } from '../time.js'
import { actionButton, cardHead, cardsView } from './cards.js'

const hour = 3_600_000
const powerMs = 8 * hour
const keepMs = 72 * hour

/** Preview and test environments: where they are, whose they are, when they sleep and when they are deleted. @param {{ mirror: Mirror }} parts @returns {View} */
export function environmentsView({ mirror }) {
  const rights = rightsOf(() => view.show())
  const view = cardsView({
    title: 'Environments',
    lead: 'Environments sleep while they are not used, and are deleted after their owner was told. Those to be deleted come first.',
    empty: [
      'There are no environments here.',
      'Label a Namespace so that the namespaceSelector of an EnvironmentClass matches it: kubectl label namespace NAME env=preview',
    ],
    lists: ['environments'],
    mirror,
    items: () => mirror.all('environments').toSorted(byUrgency),
    card: (environment) => environmentCard(environment, { mirror, rights }),
    textOf: ({ metadata, spec, status }) =>
      [metadata.namespace, spec.className, status?.owner, status?.phase, ...(status?.urls ?? [])].join(' '),
  })
  return view
}

/** Announced, held and deleting ones first, then by last use. @param {Environment} left @param {Environment} right */
function byUrgency(left, right) {
  const rank = (/** @type {Environment} */ { status }) =>
    ['Held', 'Deleting', 'Announced'].includes(status?.phase ?? '') ? 0 : 1
  const used = (/** @type {Environment} */ { status }) => parseTime(status?.lastUsedAt) ?? 0
  return rank(left) - rank(right) || used(right) - used(left)
}

/** @typedef {{ mirror: Mirror, rights: ReturnType<typeof rightsOf> }} Parts */

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
  facts.push(['Last used', moment(status.lastUsedAt, formatDistance) ?? 'not yet'])
  if (status.power !== 'Asleep') facts.push(['Sleeps', moment(status.sleepsAt, formatAhead) ?? 'not by itself'])
  else facts.push(['Wakes', moment(status.wakesAt, formatAhead) ?? 'when it is woken'])
  facts.push(['Deleted', moment(status.deletesAt, formatAhead) ?? 'not by itself'])
  return h(
    'article.card',
    { 'aria-label': `Environment ${name}` },
    cardHead({ name }, `class ${spec.className}`, [phase, toneOf(phase)]),
    url && h('p', {}, link(url, url.replace(/^https?:\/\//, ''))),
    status.message && h('p.when', {}, withReadableTimes(status.message)),
    factList(facts),
    h('div.actions', {}, ...actionsFor(environment, parts)),
  )
}

/** @param {Environment} environment @param {Parts} parts */
function actionsFor(environment, { mirror, rights }) {
  const { metadata, status } = environment
  const name = metadata.namespace ?? ''
  if (status?.phase === 'Deleting') return []
  const write = async (/** @type {object} */ spec) =>
    mirror.put(
      'environments',
      await patch(`/apis/sojourn.dev/v1alpha1/namespaces/${name}/environments/${metadata.name}`, { spec }),
    )
  const isAsleep = status?.power === 'Asleep'
  const power = () => confirmPower(name, isAsleep ? 'Awake' : 'Asleep', write)
  const denied = rights.denied({ verb: 'patch', group: 'sojourn.dev', resource: 'environments', namespace: name })
  const kept = rights.denied({ verb: 'delete', group: '', resource: 'namespaces', namespace: name, name })
  return [
    actionButton(isAsleep ? 'Wake' : 'Sleep', power, { about: name, denied }),
    actionButton('Keep 3 days', () => confirmKeep(environment, write), { about: name, denied }),
    actionButton('Delete now', () => confirmDelete(name), { tone: 'danger', about: name, denied: kept }),
  ]
}

/** @param {string} name @param {'Awake' | 'Asleep'} power @param {(spec: object) => Promise<unknown>} write */
function confirmPower(name, power, write) {
  const isWake = power === 'Awake'
  const until = Date.now() + powerMs
  confirm({
    title: `${isWake ? 'Wake' : 'Put to sleep'}: ${name}?`,
    text: isWake
      ? `Its workloads start now and stay awake until ${formatMoment(until)}.`
      : `Its workloads stop now, until ${formatMoment(until)} at most. A request through the proxy still wakes them.`,
    action: isWake ? 'Wake' : 'Sleep',
    async run() {
      await write({ power, powerSince: timeText(Date.now()), powerUntil: timeText(until) })
      return isWake ? `${name} wakes` : `${name} goes to sleep`
    },
  })
}

/** @param {Environment} environment @param {(spec: object) => Promise<unknown>} write */
function confirmKeep({ metadata, status }, write) {
  const name = metadata.namespace ?? ''
  const until = Math.max(parseTime(status?.deletesAt) ?? 0, Date.now()) + keepMs
  confirm({
    title: `Keep ${name}?`,
    text: `It is not deleted before ${formatMoment(until)}, unless its class sets an earlier end by maxAge.`,
    action: 'Keep 3 days',
    async run() {
      await write({ keepUntil: timeText(until) })
      return `${name} is kept until ${formatMoment(until)}`
    },
  })
}

/** @param {string} name */
function confirmDelete(name) {
  confirm({
    title: `Delete ${name}?`,
    text: `The Namespace ${name} is deleted now with everything in it, as by kubectl delete namespace. Type its name to confirm.`,
    action: 'Delete now',
    tone: 'danger',
    reason: 'Name of the Namespace',
    async run(typed) {
      if (typed !== name) throw new Error(`Type ${name} to delete it.`)
      const path = `/api/v1/namespaces/${name}`
      const { metadata } = await ask(path)
      // A Namespace that was created anew under this name meanwhile is not the one on this page.
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
  return at === undefined ? undefined : h('time', { dateTime: text, title: formatMoment(at) }, format(at, Date.now()))
}

/** @param {string} phase */
function toneOf(phase) {
  return (
    { Awake: 'good', Waking: 'good', Asleep: 'calm', Announced: 'warn', Held: 'bad', Deleting: 'bad' }[phase] ?? 'plain'
  )
}
