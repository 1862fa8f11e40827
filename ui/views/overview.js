/** @import { Mirror } from '../mirror.js' */
/** @import { CleanupCandidate } from '../../src/apis/cleanup-candidate.ts' */
/** @import { Environment } from '../../src/apis/environment.ts' */
/** @import { Pipeline } from '../../src/apis/pipeline.ts' */
/** @import { Attention } from '../attention.js' */
/** @import { Rights } from './cards.js' */
/** @import { Child, ListName, ManagedItem, View } from '../types.d.ts' */
import { attentionOf } from '../attention.js'
import { factList, fill, h, link, pill, stateWords } from '../dom.js'
import { openPanel } from '../dialogs.js'
import { filterBar, namespaceOwners } from '../filters.js'
import { kinds } from '../kinds.js'
import { managedItemsOf } from '../managed-items.js'
import { isHere, objectHref, objectLink } from '../objects.js'
import { rightsOf } from '../rights.js'
import {
  exactMoment,
  formatAhead,
  formatDistance,
  formatMoment,
  formatSpan,
  nextText,
  parseTime,
  withReadableTimes,
} from '../time.js'
import { toneOf } from '../tones.js'
import { VirtualList } from '../virtual-list.js'
import { actionButton, kindAndPlace, nothingFound, titleOf } from './cards.js'
import { optOutButton } from './cleanup.js'
import { openCascade } from './dependencies.js'
import { keepButton } from './environments.js'
import { decisionButtons, deniedOf, requestAction } from './pipelines.js'

const systems = ['environments', 'cleaner', 'janitor', 'activator', 'promoter', 'collector']
const day = 86_400_000
/** @type {[string, number][]} */
const ticks = [
  ['now', 0],
  ['1 min', 60_000],
  ['1 h', 3_600_000],
  ['1 d', day],
  ['1 wk', 7 * day],
  ['90 d', 90 * day],
]
/** @type {Set<ListName>} */
const lists = new Set([
  'cleaners',
  'ownCleaners',
  'ttls',
  'candidates',
  'pipelines',
  'bonds',
  'departures',
  'services',
  'deployments',
  'statefulsets',
  'environments',
])

/** What needs a person, then everything that Sojourn manages, by what happens next. @param {{ mirror: Mirror }} parts @returns {View} */
export function overviewView({ mirror }) {
  /** @type {Set<string>} */
  const wanted = new Set()
  /** @type {ManagedItem[]} */
  let items = []
  /** @type {Attention[]} */
  let attention = []
  const rights = rightsOf(() => showWanted())
  const summary = h('p.summary', { role: 'status' })
  const needed = h('section.attention', { 'aria-label': 'Needs you' })
  const list = new VirtualList({ label: 'Managed objects', row: itemRow, keyOf: keyOfItem, onOpen: openItem })
  const empty = h('div', { hidden: true })
  const axis = h('div.axis', { 'aria-hidden': 'true' }, legend(), h('div.track', {}, ...ticks.map(axisTick)))
  const problem = h('p.problem', { role: 'status' })
  const chips = systems.map((system) => systemChip(system, wanted, () => showWanted()))
  const filters = filterBar({
    label: 'Filter managed objects',
    onChange: () => showWanted(),
  })
  const showWanted = () => {
    const owners = namespaceOwners(mirror)
    const ownerOf = (/** @type {string} */ namespace = '') => owners.get(namespace)
    const isWanted = (/** @type {ManagedItem} */ item) => {
      const { namespace } = item.object
      const isOfSystem = wanted.size === 0 || wanted.has(item.system)
      return isOfSystem && filters.matches({ namespace, owner: ownerOf(namespace), text: textOf(item) })
    }
    const shown = items.filter(isWanted)
    const refused = [...lists].filter((name) => mirror.readError(name) !== undefined)
    filters.offer(
      items.map(({ object }) => object.namespace),
      owners.values(),
    )
    fill(summary, summaryOf(shown, items.length), environmentsText(mirror))
    fill(problem, refused.length > 0 && refusalOf(refused, mirror))
    empty.hidden = shown.length > 0
    list.element.hidden = axis.hidden = shown.length === 0
    if (shown.length === 0)
      fill(empty, refused.length === 0 && nothingFound(mirror, { of: items.length, clear: filters.clear }, nothingYet))
    const isOurs = (/** @type {Attention} */ { object, why, subject }) =>
      filters.matches({
        namespace: object.namespace,
        owner: ownerIn(subject) ?? ownerOf(object.namespace),
        text: `${object.kind}/${object.name} ${object.namespace ?? ''} ${why}`,
      })
    const ours = filters.isSet ? attention.filter(isOurs) : attention
    if (mirror.isComplete) showAttention(needed, ours, { mirror, rights, next: shown.find(({ next }) => next?.at) })
    list.show(shown)
  }
  return {
    element: h(
      'section.board',
      { 'aria-label': 'Overview' },
      h('h1.unseen', {}, 'Overview'),
      needed,
      h(
        'div.toolbar',
        {},
        ...filters.elements,
        h('div.chips', { role: 'group', 'aria-label': 'Systems' }, ...chips),
        summary,
      ),
      problem,
      axis,
      list.element,
      empty,
    ),
    show() {
      const now = Date.now()
      items = managedItemsOf(mirror, now)
      attention = attentionOf(mirror, items, now)
      showWanted()
    },
    concerns: (name) => lists.has(name),
    close: () => list.close(),
  }
}

const shownAtFirst = 5
let isUnfolded = false
/** @type {Record<Attention['what'], [string, string, string]>} sign, word and tone */
const needs = {
  failing: ['✖', 'failing', 'bad'],
  waits: ['◷', 'waits for you', 'warn'],
  due: ['⚠', 'due', 'warn'],
}

/** @param {HTMLElement} section @param {readonly Attention[]} attention @param {{ mirror: Mirror, rights: Rights, next: ManagedItem | undefined }} parts */
function showAttention(section, attention, { mirror, rights, next }) {
  const focused = section.contains(document.activeElement) ? document.activeElement?.getAttribute('aria-label') : null
  const shown = attention.slice(0, isUnfolded ? 100 : shownAtFirst)
  const toggle = () => {
    isUnfolded = !isUnfolded
    showAttention(section, attention, { mirror, rights, next })
  }
  const label = isUnfolded ? 'Show fewer' : `Show all ${attention.length}`
  const coming =
    next?.next?.at === undefined
      ? ''
      : ` Next: ${titleOf(next.object)} ${next.next.what} ${formatAhead(next.next.at, Date.now())}.`
  fill(
    section,
    h('h2', {}, 'Needs you ', h('span.count', {}, attention.length)),
    attention.length === 0 && h('p.muted', {}, `Nothing needs you.${coming}`),
    h('ul', {}, ...shown.map((each) => attentionRow(each, { mirror, rights }))),
    attention.length > shownAtFirst && h('button.plain', { type: 'button', onclick: toggle }, label),
  )
  if (focused) [...section.querySelectorAll('button')].find((each) => each.ariaLabel === focused)?.focus()
}

/** @param {Attention} attention @param {{ mirror: Mirror, rights: Rights }} parts */
function attentionRow(attention, parts) {
  const { what, object, why, url = '', at } = attention
  const [sign, word, tone] = needs[what]
  const now = Date.now()
  const time =
    at === undefined
      ? ''
      : what === 'due'
        ? nextText({ what: 'deleted', at, isEnd: true }, now)
        : formatDistance(at, now)
  return h(
    'li',
    {},
    h('span.sign', { 'aria-hidden': 'true' }, sign),
    pill(word, tone),
    objectLink(object, titleOf(object)),
    h('small', {}, kindAndPlace(object)),
    h('span.why', { title: withReadableTimes(why) }, withReadableTimes(why)),
    url !== '' && link(url, 'Open'),
    time !== '' && h('time', { title: exactMoment(at) }, time),
    h('span.actions', {}, ...attentionActions(attention, parts)),
  )
}

/** @param {Attention} attention @param {{ mirror: Mirror, rights: Rights }} parts @returns {Child[]} */
function attentionActions({ what, subject, environment = '' }, parts) {
  if (!subject) return []
  if ('resource' in subject.spec) return [optOutButton(/** @type {CleanupCandidate} */ (subject), parts)]
  if ('className' in subject.spec) return [keepButton(/** @type {Environment} */ (subject), parts)]
  const pipeline = /** @type {Pipeline} */ (subject)
  const denied = deniedOf(pipeline, parts.rights)
  const { waitingApproval } = pipeline.status?.environments?.[environment] ?? {}
  if (waitingApproval?.promotionId) return decisionButtons(pipeline, environment, waitingApproval, denied)
  const retry = () => requestAction(pipeline, { decision: 'Retry', environment })
  const about = `${pipeline.metadata.name} ${environment === '*' ? '' : environment}`.trim()
  return what === 'failing' ? [actionButton('Retry', retry, { about, denied })] : []
}

/** The owner that an object names itself. @param {Attention['subject']} subject */
function ownerIn(subject) {
  const { owner } = /** @type {{ owner?: string | { address?: string } }} */ (subject?.status ?? {})
  return typeof owner === 'string' ? owner : owner?.address
}

/** How many environments sleep, and how much was deleted. @param {Mirror} mirror */
function environmentsText(mirror) {
  const all = mirror.all('environments')
  const asleep = all.filter(({ status }) => status?.power === 'Asleep').length
  const week = Date.now() - 7 * day
  const deleted = mirror.all('departures').filter(({ status }) => (parseTime(status?.goneAt) ?? 0) > week).length
  const sleeping =
    all.length > 0 ? ` · ${asleep.toLocaleString()} of ${all.length.toLocaleString()} environments asleep` : ''
  return `${sleeping}${deleted > 0 ? ` · ${deleted.toLocaleString()} deleted this week` : ''}`
}

/** @type {[string, string]} */
const nothingYet = [
  'Sojourn manages nothing here yet.',
  'Run “sojourn demo” to see an example, or apply a Cleaner, Pipeline, Bond or CleanupPolicy, or annotate a Service with proxless/deployment.',
]

/** @param {readonly ListName[]} refused @param {Mirror} mirror */
function refusalOf(refused, mirror) {
  const [first = 'cleaners'] = refused
  return `Incomplete: ${refused.map((name) => kinds[name].kind).join(', ')} cannot be read. ${mirror.readError(first)}`
}

/** @param {readonly ManagedItem[]} shown @param {number} of */
function summaryOf(shown, of) {
  const soon = Date.now() + day
  const leaving = shown.filter(({ next }) => next?.isEnd && next.at !== undefined && next.at < soon).length
  const [some, all, ending] = [shown.length, of, leaving].map((count) => count.toLocaleString())
  const count = shown.length === of ? all : `${some} of ${all}`
  return `${count} managed${leaving > 0 ? ` · ${ending} to be deleted within a day` : ''}`
}

function legend() {
  return h('span.legend', {}, h('i.mark.next'), 'next event', h('i.mark.end'), 'deletion')
}

/** @param {string} system @param {Set<string>} chosen @param {() => void} onChange */
export function systemChip(system, chosen, onChange) {
  const chip = h(
    `button.chip.${system}`,
    {
      type: 'button',
      'aria-pressed': 'false',
      onclick() {
        if (!chosen.delete(system)) chosen.add(system)
        chip.setAttribute('aria-pressed', String(chosen.has(system)))
        onChange()
      },
    },
    system,
  )
  return chip
}

/** @param {ManagedItem} item */
function keyOfItem({ system, object: { kind, namespace, name, uid } }) {
  return [system, kind, namespace, name, uid].join('/')
}

/** @type {WeakMap<ManagedItem, string>} The text that the filter searches, made once. */
const texts = new WeakMap()

/** @param {ManagedItem} item */
function textOf(item) {
  let text = texts.get(item)
  if (text === undefined) {
    const { object, state } = item
    text = `${object.kind}/${object.name} ${object.namespace ?? ''} ${state} ${stateWords(state)}`
    texts.set(item, text)
  }
  return text
}

/** The position of a time on the track, in percent: logarithmic, from a second to ninety days. @param {number} ms */
function positionOf(ms) {
  if (ms <= 1000) return 0
  return Math.min(100, (Math.log(ms / 1000) / Math.log(90 * 86_400)) * 100)
}

/** @param {[string, number]} tick */
function axisTick([label, ms]) {
  const tick = h('span.tick', {}, label)
  tick.style.insetInlineStart = `${positionOf(ms)}%`
  return tick
}

/** @param {ManagedItem} item */
function itemRow(item) {
  const { object, state, next } = item
  const now = Date.now()
  const why = withReadableTimes(item.why)
  const when = next ? nextText(next, now) : 'nothing planned'
  return h(
    'div.stay',
    {},
    h('div.who', {}, h('strong', { title: titleOf(object) }, titleOf(object)), h('small', {}, kindAndPlace(object))),
    h('div.state', {}, pill(state, toneOf(state)), h('small', { title: why }, why)),
    h('div.when', { title: exactMoment(next?.at) || when }, when),
    timeline(item, now),
  )
}

/** @param {ManagedItem} item @param {number} now */
function timeline({ next, system }, now) {
  const track = h('div.track', { 'aria-hidden': 'true' })
  if (next?.at === undefined) {
    track.append(h(`div.bar.open.${system}`))
    return track
  }
  const position = positionOf(next.at - now)
  const bar = h(`div.bar.${system}`)
  bar.style.width = `${position}%`
  const mark = h(`div.mark.${next.isEnd ? 'end' : 'next'}.${system}`)
  mark.style.insetInlineStart = `${position}%`
  track.append(bar, mark)
  return track
}

/** @param {ManagedItem} item */
function openItem({ object, system, state, since, next, why }) {
  const now = Date.now()
  const when = next?.at === undefined ? 'unknown' : `${formatAhead(next.at, now)} (${formatMoment(next.at)})`
  openPanel(
    titleOf(object),
    factList([
      ['Kind', `${object.kind} (${object.apiVersion})`],
      ['Namespace', object.namespace ?? 'none'],
      ['Managed by', system],
      ['State', stateWords(state)],
      ['Age', since === undefined ? 'unknown' : `${formatSpan(now - since)} (since ${formatMoment(since)})`],
      ['Next', next ? next.what : 'nothing planned'],
      ['When', when],
      ['Why', withReadableTimes(why)],
    ]),
    isHere(object) && h('p', {}, h('a', { href: objectHref(object), onclick: closePanel }, 'Events, history and YAML')),
    h(
      'div.actions',
      {},
      object.uid && isHere(object) && actionButton('What would be deleted with it?', () => openCascade(object)),
    ),
  )
}

/** @param {Event} event */
function closePanel({ target }) {
  if (target instanceof Element) target.closest('dialog')?.close()
}
