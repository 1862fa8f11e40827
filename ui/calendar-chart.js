import { fill, h, svg } from './dom.js'

const day = 86_400_000
const height = 150
const slot = 30
/** In pixels. Below this width dates are not readable, so the chart scrolls instead. */
const minSlotWidth = 26
/** A chart of fewer days would have columns that are far too wide. */
const minDays = 14
const dates = new Intl.DateTimeFormat(undefined, { weekday: 'short', day: 'numeric', month: 'short' })
const daysOfMonth = new Intl.DateTimeFormat(undefined, { day: 'numeric' })
const months = new Intl.DateTimeFormat(undefined, { month: 'short' })

const everyDay = 'All days are shown; choose a day to see only its events.'

/** @typedef {{ at: number, system: string }} CalendarEvent */

/**
 * One column per day, with its events stacked by system. The user selects a day by click, arrow keys, Home and End.
 * @param {{ from: number, until: number, events: readonly CalendarEvent[], onSelect: (day: { from: number, until: number } | undefined) => void }} options
 */
export function calendarChart({ from, until, events, onSelect }) {
  const start = new Date(from).setHours(0, 0, 0, 0)
  const days = daysOf(start, until, events)
  const most = Math.max(1, ...days.map(({ total }) => total))
  /** @type {number | undefined} */
  let chosen
  const width = days.length * slot
  const columns = days.map((each, index) => drawColumn(each, index, most))
  const picture = svg('svg', { viewBox: `0 0 ${width} ${height + 40}`, 'aria-hidden': 'true' }, ...columns)
  picture.style.minWidth = `${days.length * minSlotWidth}px`
  const summary = h('output', {})
  const element = h(
    'div.calendar',
    { tabIndex: 0, role: 'slider', 'aria-label': 'Day', 'aria-valuemin': 0 },
    picture,
    summary,
  )
  element.setAttribute('aria-valuemax', String(days.length - 1))
  const choose = (/** @type {number | undefined} */ index) => {
    chosen = index === chosen ? undefined : index
    for (const [each, drawn] of columns.entries()) drawn.classList.toggle('chosen', each === chosen)
    const selected = chosen === undefined ? undefined : days[chosen]
    const text = selected
      ? `${dates.format(selected.from)}: ${selected.total} ${selected.total === 1 ? 'event' : 'events'}`
      : 'all days'
    element.setAttribute('aria-valuenow', String(chosen ?? 0))
    element.setAttribute('aria-valuetext', text)
    fill(summary, selected ? text : everyDay)
    onSelect(selected && { from: selected.from, until: nextDay(selected.from) })
  }
  element.setAttribute('aria-valuenow', '0')
  element.setAttribute('aria-valuetext', 'all days')
  fill(summary, everyDay)
  for (const [index, drawn] of columns.entries()) drawn.addEventListener('click', () => choose(index))
  element.addEventListener('keydown', (event) => {
    const next = stepOf(event.key, chosen, days.length - 1)
    if (next === false) return
    event.preventDefault()
    if (next !== chosen) choose(next)
  })
  return element
}

/**
 * The day that a key selects, undefined for all days; false for keys without a meaning here.
 * @param {string} key @param {number | undefined} chosen @param {number} last
 */
function stepOf(key, chosen, last) {
  if (key === 'Escape') return undefined
  if (key === 'Home') return 0
  if (key === 'End') return last
  if (key === 'ArrowRight') return Math.min(last, (chosen ?? -1) + 1)
  if (key === 'ArrowLeft') return Math.max(0, (chosen ?? 1) - 1)
  return false
}

/** @param {number} start @param {number} until @param {readonly CalendarEvent[]} events */
function daysOf(start, until, events) {
  const count = Math.min(400, Math.max(minDays, Math.ceil((until - start) / day)))
  // Not every day has 24 hours.
  let from = start
  const midnights = Array.from({ length: count }, () => {
    const midnight = from
    from = nextDay(from)
    return midnight
  })
  const days = midnights.map((midnight) => ({
    from: midnight,
    total: 0,
    /** @type {Map<string, number>} */
    groups: new Map(),
  }))
  for (const { at, system } of events) {
    if (at >= from) continue
    const column = days.findLast((each) => each.from <= at)
    if (!column) continue
    column.total++
    column.groups.set(system, (column.groups.get(system) ?? 0) + 1)
  }
  return days
}

/** The midnight after this one. @param {number} midnight */
function nextDay(midnight) {
  const date = new Date(midnight)
  return date.setDate(date.getDate() + 1)
}

/** @param {ReturnType<typeof daysOf>[number]} column @param {number} index @param {number} most */
function drawColumn({ from, total, groups }, index, most) {
  const x = index * slot
  const isSunday = new Date(from).getDay() === 0
  const scale = (height - 22) / most
  let y = height
  const blocks = [...groups]
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([group, count]) => {
      const tall = Math.max(3, count * scale)
      y -= tall
      return svg('rect', { class: `block ${group}`, x: x + 5, y, width: slot - 10, height: tall - 1, rx: 2.5 })
    })
  return svg(
    'g',
    { class: `column${isSunday ? ' sunday' : ''}` },
    svg('title', {}, `${dates.format(from)}: ${total}`),
    svg('rect', { class: 'ground', x: x + 1, y: 0, width: slot - 2, height: height + 24, rx: 6 }),
    ...blocks,
    total > 0 &&
      svg('text', { class: 'total', x: x + slot / 2, y: y - 5 }, total > 999 ? `${Math.round(total / 1000)}k` : total),
    svg('text', { class: 'date', x: x + slot / 2, y: height + 17 }, daysOfMonth.format(from)),
    (index === 0 || new Date(from).getDate() === 1) &&
      svg('text', { class: 'month', x: x + slot / 2, y: height + 33 }, months.format(from)),
  )
}
