/** @import { Workload } from './types.d.ts' */
import { h, svg } from './dom.js'
import { formatSpan } from './time.js'

const stepMs = 1_800_000
const steps = 48
const width = 288
const height = 54
const bar = width / steps

/** @typedef {{ at: number, requests: number, coldStarts: number, awakeSeconds: number }} Step */

/** The last day of a workload, as the activator notes it there. @param {Workload | undefined} workload @returns {Step[]} */
export function lastDayOf(workload) {
  const text = workload?.metadata.annotations?.['sojourn.dev/last-day'] ?? ''
  return [...text.matchAll(/(\d{1,9}):(\d{1,9})\/(\d{1,9})\/(\d{1,9})/g)].map((entry) => {
    const [step = 0, requests = 0, coldStarts = 0, awakeSeconds = 0] = entry.slice(1).map(Number)
    return { at: step * stepMs, requests, coldStarts, awakeSeconds }
  })
}

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })

/**
 * A Service's last day: bars for requests, dots for cold starts, a line below for when it was awake.
 * @param {readonly Step[]} given
 * @param {number} now
 * @param {number} parts in how many parts the hours below divide the day
 */
export function dayChart(given, now, parts = 1) {
  const first = Math.floor(now / stepMs) - steps + 1
  const slots = Array.from({ length: steps }, () => ({ requests: 0, coldStarts: 0, awakeSeconds: 0 }))
  for (const { at, requests, coldStarts, awakeSeconds } of given) {
    const slot = slots[Math.floor(at / stepMs) - first]
    if (!slot) continue
    slot.requests += requests
    slot.coldStarts += coldStarts
    slot.awakeSeconds += awakeSeconds
  }
  const most = Math.max(1, ...slots.map(({ requests }) => requests))
  const sum = (/** @type {'requests' | 'coldStarts' | 'awakeSeconds'} */ key) =>
    slots.reduce((total, slot) => total + slot[key], 0)
  const summary = `${count(sum('requests'), 'request')} and ${count(sum('coldStarts'), 'cold start')} in the last day, awake for ${formatSpan(sum('awakeSeconds') * 1000)}`
  const picture = svg(
    'svg',
    { class: 'day', viewBox: `0 0 ${width} ${height + 12}`, role: 'img', 'aria-label': summary },
    ...slots.map((slot, index) => slotMarks(slot, { index, most, at: (first + index) * stepMs })),
    svg('line', { class: 'base', x1: 0, x2: width, y1: height, y2: height }),
  )
  const hours = Array.from({ length: parts }, (_, part) => clock.format((first + (part * steps) / parts) * stepMs))
  if (parts === 1) hours[0] = 'a day ago'
  return h(
    'figure.day',
    {},
    picture,
    h('div.hours', { 'aria-hidden': 'true' }, ...[...hours, 'now'].map((hour) => h('span', {}, hour))),
    h('figcaption', {}, summary),
  )
}

/** @param {Omit<Step, 'at'>} slot @param {{ index: number, most: number, at: number }} place */
function slotMarks({ requests, coldStarts, awakeSeconds }, { index, most, at }) {
  const x = index * bar
  const summary = `${clock.format(at)}: ${count(requests, 'request')}, ${count(coldStarts, 'cold start')}, awake for ${formatSpan(awakeSeconds * 1000)}`
  const tall = requests === 0 ? 0 : Math.max(2, (requests / most) * (height - 12))
  const share = Math.min(1, awakeSeconds / (stepMs / 1000))
  return svg(
    'g',
    { class: 'slot' },
    svg('title', {}, summary),
    svg('rect', { class: 'ground', x, y: 0, width: bar, height: height + 12 }),
    requests > 0 &&
      svg('rect', { class: 'requests', x: x + 0.7, y: height - tall, width: bar - 1.4, height: tall, rx: 1.2 }),
    coldStarts > 0 && svg('circle', { class: 'cold', cx: x + bar / 2, cy: height - tall - 5, r: 2.4 }),
    share > 0 && svg('rect', { class: 'awake', x, y: height + 4, width: bar * Math.max(0.2, share), height: 4 }),
  )
}

/** @param {number} number @param {string} word */
function count(number, word) {
  return `${number} ${word}${number === 1 ? '' : 's'}`
}
