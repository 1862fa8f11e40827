/** @import { Forecast, ForecastEvent } from '../look-ahead.js' */
/** @import { View } from '../types.d.ts' */
import { messageIn, request } from '../api.js'
import { calendarChart } from '../calendar-chart.js'
import { notify, openPanel } from '../dialogs.js'
import { factList, fill, h, pill } from '../dom.js'
import { forecastPath, lookAhead, words } from '../look-ahead.js'
import { exactMoment, formatDistance, formatMoment, parseTime } from '../time.js'
import { VirtualList } from '../virtual-list.js'
import { emptyNote, kindAndPlace, titleOf } from './cards.js'

const spans = /** @type {const} */ ([
  ['7d', '7 days'],
  ['30d', '30 days'],
  ['90d', '90 days'],
])
/** What will happen without further action, from the real controllers on a copy of the cluster. @returns {View} */
export function forecastView() {
  const leaving = new AbortController()
  const result = h('div.forecast')
  const choose = h(
    'select',
    { onchange: () => void load() },
    ...spans.map(([value, label]) => h('option', { value, selected: value === '30d' }, label)),
  )
  /** @type {VirtualList<ForecastEvent> | undefined} */
  let list
  const load = async () => {
    list?.close()
    fill(result, emptyNote('Forecasting…', 'The real controllers run on a copy of the cluster, on a simulated clock.'))
    try {
      list = showForecast(result, await lookAhead({ for: choose.value }, leaving.signal))
    } catch (error) {
      if (!leaving.signal.aborted) fill(result, h('p.problem', { role: 'alert' }, messageIn(error)))
    }
  }
  void load()
  return {
    element: h(
      'section.page.tall',
      { 'aria-label': 'Forecast' },
      h(
        'div.heading',
        {},
        h('h1', {}, 'Forecast'),
        h('label.field.inline', {}, h('span', {}, 'Next'), choose),
        h('button', { type: 'button', onclick: () => void load() }, 'Refresh'),
        h('button', { type: 'button', onclick: () => void saveCalendar(choose.value) }, 'Save as calendar'),
      ),
      h('p.lead', {}, 'What will happen without further action. Nothing is changed, and nothing is sent.'),
      result,
    ),
    show() {},
    concerns: () => false,
    close() {
      leaving.abort()
      list?.close()
    },
  }
}

/** @param {string} span */
async function saveCalendar(span) {
  try {
    const answer = await request(forecastPath, { method: 'POST', body: { for: span }, accept: 'text/calendar' })
    const href = URL.createObjectURL(await answer.blob())
    h('a', { href, download: 'sojourn-forecast.ics' }).click()
    URL.revokeObjectURL(href)
  } catch (error) {
    notify(`The calendar cannot be saved: ${messageIn(error)}`, 'bad')
  }
}

/** @param {HTMLElement} result @param {Forecast} forecast */
function showForecast(result, { from, until, wanted, objects, events, assumed, halts, unread }) {
  const list = new VirtualList({
    label: 'Forecast events',
    row: (event) => eventRow(event, from),
    keyOf: ({ at, what, object }) => [at, what, object.kind, object.namespace, object.name].join('/'),
    onOpen: openEvent,
  })
  const note = h('div')
  const show = (/** @type {{ from: number, until: number } | undefined} */ day) => {
    const shown = day ? events.filter(({ at }) => at >= day.from && at < day.until) : events
    fill(note, shown.length === 0 && emptyNote('Nothing happens on this day.'))
    list.element.hidden = shown.length === 0
    list.show(shown)
  }
  const systems = [...new Set(events.map(({ system }) => system))].sort((left, right) => (left < right ? -1 : 1))
  const nothing = emptyNote(
    'Nothing will happen in this time.',
    `None of the ${objects} objects is due to be deleted, announced, promoted or put to sleep. Choose a longer time.`,
  )
  fill(
    result,
    events.length === 0 ? nothing : h('p.summary', { role: 'status' }, summaryOf(events, objects)),
    wanted &&
      h(
        'p.problem',
        {},
        `The forecast ran out of time at ${formatMoment(until)}. Run “sojourn forecast”, which has no time limit, to look further.`,
      ),
    ...halts.map((halt) => h('p.problem', {}, `${halt}.`)),
    unread.length > 0 && h('p.problem', {}, `Incomplete: could not read ${unread.join(', ')}.`),
    events.length > 0 &&
      h('div.chips', { 'aria-hidden': 'true' }, ...systems.map((system) => h(`span.chip.${system}`, {}, system))),
    events.length > 0 && calendarChart({ from, until, events, onSelect: show }),
    list.element,
    note,
    assumed.length > 0 &&
      h('details', {}, h('summary', {}, 'Assumptions'), h('ul', {}, ...assumed.map((text) => h('li', {}, text)))),
  )
  if (events.length > 0) show(undefined)
  else list.element.hidden = true
  return list
}

/** @param {readonly ForecastEvent[]} events @param {number} objects */
function summaryOf(events, objects) {
  const parts = [...Map.groupBy(events, ({ what }) => what)].map(
    ([what, those]) => `${those.length} × ${words[what][0]}`,
  )
  return `${parts.join(', ')}; ${objects} objects`
}

/** @param {ForecastEvent} event */
function detailsOf({ why, takes, to, environment, revision }) {
  const parts = [why, revision && `${revision}${environment ? ` in ${environment}` : ''}`]
  if (takes) parts.push(`with ${takes} dependents`)
  if (to?.length) parts.push(`to ${to.join(', ')}`)
  return parts.filter(Boolean).join(' · ')
}

/** @param {ForecastEvent} event @param {number} from */
function eventRow(event, from) {
  const { at, what, system, object, by } = event
  const told = detailsOf(event)
  return h(
    'div.stay.event',
    {},
    h('div.who', {}, h('strong', { title: titleOf(object) }, titleOf(object)), h('small', {}, kindAndPlace(object))),
    h('div.state', {}, pill(...words[what]), h('small', { title: told }, told)),
    h('div.when', { title: exactMoment(at) }, formatMoment(at), h('small', {}, formatDistance(at, from))),
    h(`div.by.${system}`, { title: by ?? system }, by ?? system),
  )
}

/** @param {ForecastEvent} event */
function openEvent(event) {
  const { at, what, system, object, because, why, by, takes, to, channel, leavesAt } = event
  /** @type {[string, string][]} */
  const facts = [
    ['Kind', `${object.kind}${object.apiVersion ? ` (${object.apiVersion})` : ''}`],
    ['Namespace', object.namespace ?? 'none'],
    ['What', words[what][0]],
    ['When', `${formatMoment(at)} (${formatDistance(at, Date.now())})`],
    ['Why', `${why} (${because})`],
    ['By', by ? `${system}, ${by}` : system],
  ]
  if (takes) facts.push(['With it', `${takes} dependents`])
  if (to?.length) facts.push(['To', `${to.join(', ')}${channel ? ` by ${channel}` : ''}`])
  if (leavesAt) facts.push(['Deleted', formatMoment(parseTime(leavesAt))])
  openPanel(titleOf(object), factList(facts))
}
