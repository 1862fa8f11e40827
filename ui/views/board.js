import { fill, h, pill } from '../dom.js'
import { openPanel } from '../dialogs.js'
import { staysOf } from '../stays.js'
import { formatDistance, formatMoment, formatSpan } from '../time.js'
import { VirtualList } from '../virtual-list.js'
import { openCascade } from './cascade.js'

const systems = ['cleaner', 'janitor', 'activator', 'promoter', 'collector']
const ticks = [
  ['now', 0],
  ['1 min', 60_000],
  ['1 h', 3_600_000],
  ['1 d', 86_400_000],
  ['1 wk', 7 * 86_400_000],
  ['90 d', 90 * 86_400_000],
]
const lists = new Set(['cleaners', 'ttls', 'candidates', 'pipelines', 'bonds', 'departures', 'services', 'deployments'])

/** The stay board: every object on a timeline of what happens to it next and when it ends. */
export function boardView({ mirror }) {
  const wanted = { text: '', systems: new Set() }
  const summary = h('p.summary', { role: 'status' })
  const list = new VirtualList({ label: 'Stays', row: stayRow, keyOf: ({ object }) => object.uid, onOpen: openStay })
  const empty = h('p.empty', { hidden: true })
  const chips = systems.map((system) => systemChip(system, wanted.systems, () => show()))
  const search = h('input', {
    type: 'search',
    placeholder: 'Filter by name, kind, namespace, state',
    'aria-label': 'Filter stays',
    oninput: () => {
      wanted.text = search.value.toLowerCase()
      show()
    },
  })
  const show = () => {
    const stays = staysOf(mirror, Date.now())
    const shown = stays.filter((stay) => isWanted(stay, wanted))
    const leaving = shown.filter(
      ({ next }) => next?.isEnd && next.at !== undefined && next.at < Date.now() + 86_400_000,
    )
    fill(
      summary,
      `${shown.length === stays.length ? stays.length : `${shown.length} of ${stays.length}`} in our care`,
      leaving.length > 0 ? ` · ${leaving.length} ${leaving.length === 1 ? 'ends' : 'end'} within a day` : '',
    )
    empty.hidden = shown.length > 0
    fill(empty, stays.length === 0 ? 'Nothing is in our care yet.' : 'Nothing matches the filter.')
    list.show(shown)
  }
  return {
    element: h(
      'section.board',
      { 'aria-label': 'Stay board' },
      h('div.toolbar', {}, search, h('div.chips', { role: 'group', 'aria-label': 'Systems' }, ...chips), summary),
      h('div.axis', { 'aria-hidden': 'true' }, legend(), h('div.track', {}, ...ticks.map(axisTick))),
      list.element,
      empty,
    ),
    show,
    concerns: (name) => lists.has(name),
    close: () => list.close(),
  }
}

function legend() {
  return h('span.legend', {}, h('i.mark.next'), 'what happens next', h('i.mark.end'), 'when it ends')
}

function systemChip(system, chosen, onChange) {
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

function isWanted({ object, system, state }, wanted) {
  if (wanted.systems.size > 0 && !wanted.systems.has(system)) return false
  return `${object.kind}/${object.name} ${object.namespace ?? ''} ${state}`.toLowerCase().includes(wanted.text)
}

/** Where a distance from now stands on the track, in percent: logarithmic, from a second to ninety days. */
function positionOf(ms) {
  if (ms <= 1000) return 0
  return Math.min(100, (Math.log(ms / 1000) / Math.log(90 * 86_400)) * 100)
}

function axisTick([label, ms]) {
  const tick = h('span.tick', {}, label)
  tick.style.insetInlineStart = `${positionOf(ms)}%`
  return tick
}

function stayRow(stay) {
  const { object, state, next, why } = stay
  const now = Date.now()
  const when = next?.at === undefined ? (next?.what ?? 'stays') : `${next.what} ${formatDistance(next.at, now)}`
  return h(
    'div.stay',
    { 'aria-label': `${object.kind} ${object.name}, ${state}, ${when}. ${why}` },
    h(
      'div.who',
      {},
      h('strong', { title: object.name }, object.name),
      h('small', {}, `${object.kind}${object.namespace ? ` · ${object.namespace}` : ''}`),
    ),
    h('div.state', {}, pill(state, toneOf(state)), h('small', { title: why }, why)),
    h('div.when', {}, when),
    timeline(stay, now),
  )
}

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

const tones = {
  good: ['Awake', 'Active', 'Succeeded', 'Ready', 'OptedOut', 'Complete', 'Restored'],
  bad: ['Leaving', 'Deleting', 'Failed', 'Broken', 'Due', 'InvalidSpec'],
  warn: ['Marked', 'Notified', 'AwaitingApproval', 'Pending', 'Unknown', 'ConditionsNotMet'],
  calm: ['Asleep', 'NotExpired', 'New'],
}

/** The colour a state is shown in. */
export function toneOf(state) {
  return Object.entries(tones).find(([, states]) => states.includes(state))?.[0] ?? 'plain'
}

function openStay({ object, system, state, since, next, why }) {
  const now = Date.now()
  const facts = [
    ['Kind', `${object.kind} (${object.apiVersion})`],
    ['Namespace', object.namespace ?? 'none'],
    ['Looked after by', system],
    ['State', state],
    ['Here for', since === undefined ? 'unknown' : `${formatSpan(now - since)} (since ${formatMoment(since)})`],
    ['Next', next ? next.what : 'nothing is planned'],
    [
      'When',
      next?.at === undefined ? 'no time is known' : `${formatDistance(next.at, now)} (${formatMoment(next.at)})`,
    ],
    ['Why', why],
  ]
  openPanel(
    object.name,
    h('dl.facts', {}, ...facts.flatMap(([term, text]) => [h('dt', {}, term), h('dd', {}, text)])),
    h(
      'div.actions',
      {},
      object.uid && h('button', { type: 'button', onclick: () => openCascade(object) }, 'What would leave with it?'),
    ),
  )
}
