/** @import { Mirror } from '../mirror.js' */
/** @import { ListName, ManagedItem, View } from '../types.d.ts' */
import { factList, fill, h, pill } from '../dom.js'
import { openPanel } from '../dialogs.js'
import { kinds } from '../kinds.js'
import { managedItemsOf } from '../managed-items.js'
import { formatAhead, formatMoment, formatSpan, withReadableTimes } from '../time.js'
import { VirtualList } from '../virtual-list.js'
import { actionButton, kindAndPlace, nothingFound } from './cards.js'
import { openCascade } from './dependencies.js'

const systems = ['cleaner', 'janitor', 'activator', 'promoter', 'collector']
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
])

/** Everything that Sojourn manages, on a timeline of what happens next and when it is deleted. @param {{ mirror: Mirror }} parts @returns {View} */
export function overviewView({ mirror }) {
  /** @type {{ text: string, systems: Set<string> }} */
  const wanted = { text: '', systems: new Set() }
  /** @type {ManagedItem[]} */
  let items = []
  const summary = h('p.summary', { role: 'status' })
  const list = new VirtualList({ label: 'Managed objects', row: itemRow, keyOf: keyOfItem, onOpen: openItem })
  const empty = h('div', { hidden: true })
  const problem = h('p.problem', { role: 'status' })
  const chips = systems.map((system) => systemChip(system, wanted.systems, () => showWanted()))
  const search = h('input', {
    type: 'search',
    placeholder: 'Filter by name, kind, namespace, state',
    'aria-label': 'Filter managed objects',
    oninput: () => {
      wanted.text = search.value.toLowerCase()
      showWanted()
    },
  })
  const showWanted = () => {
    const shown = items.filter((item) => isWanted(item, wanted))
    const refused = [...lists].filter((name) => mirror.readError(name) !== undefined)
    fill(summary, summaryOf(shown, items.length))
    fill(problem, refused.length > 0 && refusalOf(refused, mirror))
    empty.hidden = shown.length > 0
    if (shown.length === 0) fill(empty, refused.length === 0 && nothingFound(mirror, items.length, nothingYet))
    list.show(shown)
  }
  return {
    element: h(
      'section.board',
      { 'aria-label': 'Managed objects by time' },
      h('h1.unseen', {}, 'Overview'),
      h('div.toolbar', {}, search, h('div.chips', { role: 'group', 'aria-label': 'Systems' }, ...chips), summary),
      problem,
      h('div.axis', { 'aria-hidden': 'true' }, legend(), h('div.track', {}, ...ticks.map(axisTick))),
      list.element,
      empty,
    ),
    show() {
      items = managedItemsOf(mirror, Date.now())
      showWanted()
    },
    concerns: (name) => lists.has(name),
    close: () => list.close(),
  }
}

/** @type {[string, string]} */
const nothingYet = [
  'Sojourn manages nothing here yet.',
  'Run “sojourn demo” to see an example, or apply a Cleaner, Pipeline, Bond or CleanupPolicy, or annotate a Service with proxless/deployment.',
]

/** @param {readonly ListName[]} refused @param {Mirror} mirror */
function refusalOf(refused, mirror) {
  const [first = 'cleaners'] = refused
  return `Incomplete: ${refused.map((name) => kinds[name].kind).join(', ')} cannot be read: ${mirror.readError(first)}`
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

/** @param {ManagedItem} item @param {{ text: string, systems: Set<string> }} wanted */
function isWanted(item, wanted) {
  if (wanted.systems.size > 0 && !wanted.systems.has(item.system)) return false
  if (wanted.text === '') return true
  let text = texts.get(item)
  if (text === undefined) {
    const { object, state } = item
    text = `${object.kind}/${object.name} ${object.namespace ?? ''} ${state}`.toLowerCase()
    texts.set(item, text)
  }
  return text.includes(wanted.text)
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
  const when = next?.at === undefined ? (next?.what ?? 'nothing planned') : `${next.what} ${formatAhead(next.at, now)}`
  return h(
    'div.stay',
    {},
    h('div.who', {}, h('strong', { title: object.name }, object.name), h('small', {}, kindAndPlace(object))),
    h('div.state', {}, pill(state, toneOf(state)), h('small', { title: why }, why)),
    h('div.when', { title: next?.at === undefined ? '' : formatMoment(next.at) }, when),
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

/** @type {Record<string, readonly string[]>} */
const tones = {
  good: ['Awake', 'Active', 'Succeeded', 'Ready', 'OptedOut', 'Complete', 'Restored'],
  bad: [
    'Leaving',
    'Deleting',
    'Failed',
    'Broken',
    'Due',
    'InvalidSpec',
    'TargetNotReadable',
    'TargetForbidden',
    'KindNotFound',
    'TooManyTargets',
    'TargetResolveError',
    'ConditionCompileError',
    'ConditionEvaluationError',
    'ConditionResultNotBoolean',
  ],
  warn: ['Held', 'Marked', 'Notified', 'AwaitingApproval', 'Pending', 'Unknown', 'WaitingForConditions'],
  calm: ['Superseded', 'Asleep', 'NotExpired', 'New', 'NoRevision'],
}

/** The colour a state is shown in. @param {string | undefined} state */
export function toneOf(state = '') {
  return Object.entries(tones).find(([, states]) => states.includes(state))?.[0] ?? 'plain'
}

/** @param {ManagedItem} item */
function openItem({ object, system, state, since, next, why }) {
  const now = Date.now()
  const when = next?.at === undefined ? 'unknown' : `${formatAhead(next.at, now)} (${formatMoment(next.at)})`
  openPanel(
    object.name,
    factList([
      ['Kind', `${object.kind} (${object.apiVersion})`],
      ['Namespace', object.namespace ?? 'none'],
      ['Managed by', system],
      ['State', state],
      ['Age', since === undefined ? 'unknown' : `${formatSpan(now - since)} (since ${formatMoment(since)})`],
      ['Next', next ? next.what : 'nothing planned'],
      ['When', when],
      ['Why', withReadableTimes(why)],
    ]),
    h('div.actions', {}, object.uid && actionButton('What would be deleted with it?', () => openCascade(object))),
  )
}
