/** @import { Environment } from '../src/apis/environment.ts' */
import { h, svg } from './dom.js'
import { formatMoment, formatSpan, parseTime } from './time.js'

const weekMs = 7 * 86_400_000
const width = 336
const height = 14

/** @typedef {{ from: number, to: number, power: 'Awake' | 'Asleep' }} Span */

/** When an environment was awake and asleep in the last seven days. @param {Environment} environment @param {number} now */
export function weekChart(environment, now) {
  const spans = spansOf(environment, now)
  if (spans.length === 0) return undefined
  const start = now - weekMs
  const x = (/** @type {number} */ at) => ((at - start) / weekMs) * width
  const awakeMs = spans.reduce((sum, { from, to, power }) => sum + (power === 'Awake' ? to - from : 0), 0)
  const summary = `Awake for ${formatSpan(awakeMs)} in the last 7 days`
  return h(
    'figure.week',
    {},
    svg(
      'svg',
      {
        class: 'week',
        viewBox: `0 0 ${width} ${height}`,
        preserveAspectRatio: 'none',
        role: 'img',
        'aria-label': summary,
      },
      ...spans.map(({ from, to, power }) =>
        svg(
          'rect',
          { class: power.toLowerCase(), x: x(from), y: 0, width: Math.max(1, x(to) - x(from)), height },
          svg('title', {}, `${power} from ${formatMoment(from)} to ${to === now ? 'now' : formatMoment(to)}`),
        ),
      ),
    ),
    h('figcaption', {}, h('span', {}, summary), h('span', {}, 'now')),
  )
}

/** The switches of a status as spans. Before its first switch an environment was what it was not after it. @param {Environment} environment @param {number} now @returns {Span[]} */
function spansOf({ metadata, status }, now) {
  const switches = (status?.timeline ?? []).flatMap(({ at, power }) => {
    const from = parseTime(at)
    return from === undefined || from > now ? [] : [{ from, power }]
  })
  const [first] = switches
  if (!first) return []
  const start = Math.max(now - weekMs, Math.min(parseTime(metadata.creationTimestamp) ?? first.from, first.from))
  const all = [
    { from: start, power: /** @type {Span['power']} */ (first.power === 'Awake' ? 'Asleep' : 'Awake') },
    ...switches,
  ]
  return all.flatMap(({ from, power }, index) => {
    const span = { from: Math.max(from, start), to: all[index + 1]?.from ?? now, power }
    // The first status of an environment comes some seconds after its creation.
    return span.to - span.from > (index === 0 ? 60_000 : 0) ? [span] : []
  })
}
