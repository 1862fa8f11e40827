/** @import { SavingsReport, SavingsRow } from '../../src/apis/savings-report.ts' */
/** @import { Mirror } from '../mirror.js' */
/** @import { View } from '../types.d.ts' */
import { ApiError, ask, messageIn } from '../api.js'
import { fill, h, svg } from '../dom.js'
import { emptyNote } from './cards.js'

const path = '/apis/sojourn.dev/v1alpha1/namespaces/sojourn-system/savingsreports'
const dayMs = 86_400_000
const refreshMs = 60_000
const ranges = /** @type {const} */ ({ 7: '7 days', 30: '30 days', 400: '13 months' })
const groupings = /** @type {const} */ (['namespace', 'owner', 'class', 'system', 'day'])
const units = /** @type {const} */ ({ cost: 'Cost', cpuSeconds: 'CPU hours', memoryGiBSeconds: 'GiB hours' })

/** @typedef {SavingsRow & { day: string }} DatedRow */
/** @typedef {keyof typeof units} Unit */

/** What sleep and deletions saved: a bar a day, and a table. The choices are kept in the URL. @param {{ mirror: Mirror, of: string }} parts @returns {View} */
export function savingsView({ mirror, of }) {
  const [range = '', by = '', unit = ''] = of.split('/')
  const choice = {
    range: Object.hasOwn(ranges, range) ? Number(range) : 30,
    by: groupings.find((each) => each === by) ?? 'namespace',
    unit: /** @type {Unit} */ (Object.hasOwn(units, unit) ? unit : 'cost'),
  }
  const body = h('div.savings', {}, emptyNote('Loading…'))
  let isClosed = false
  let isRefused = false
  const load = async () => {
    try {
      const { items } = await ask(path)
      if (!isClosed) fill(body, ...reportParts(items, choice))
    } catch (error) {
      isRefused = error instanceof ApiError && error.status === 403
      if (!isClosed) fill(body, isRefused ? ownEnvironments(mirror) : h('p.problem', {}, messageIn(error)))
    }
  }
  const refreshing = setInterval(() => void (document.hidden || load()), refreshMs)
  void load()
  return {
    element: h('section.page', { 'aria-label': 'Savings' }, h('h1', {}, 'Savings'), lead(), body),
    show: () => isRefused && fill(body, ownEnvironments(mirror)),
    concerns: (name) => isRefused && ['environments', 'deployments', 'statefulsets'].includes(name),
    close() {
      isClosed = true
      clearInterval(refreshing)
    },
  }
}

function lead() {
  return h('p.lead', {}, 'Requested capacity that sleep and deletions released. Money is saved only if nodes follow.')
}

/** @param {readonly SavingsReport[]} reports @param {{ range: number, by: typeof groupings[number], unit: Unit }} choice */
function reportParts(reports, { range, by, unit }) {
  const today = dayOf(Date.now())
  const since = dayOf(Date.now() - range * dayMs)
  const shown = reports
    .filter(({ spec }) => spec.day >= since)
    .sort((left, right) => (left.spec.day < right.spec.day ? -1 : 1))
  const rows = shown.flatMap(({ spec }) => spec.rows.map((row) => ({ ...row, day: spec.day })))
  const uncounted = shown.at(-1)?.spec.uncounted ?? 0
  const go = (/** @type {Partial<{ range: number, by: string, unit: string }>} */ change) => {
    const next = { range, by, unit, ...change }
    location.hash = `savings/${next.range}/${next.by}/${next.unit}`
  }
  const toolbar = h(
    'div.toolbar',
    {},
    chips('Time', ranges, String(range), (value) => go({ range: Number(value) })),
    chips('Unit', units, unit, (value) => go({ unit: value })),
    chips('By', Object.fromEntries(groupings.map((each) => [each, each])), by, (value) => go({ by: value })),
  )
  if (rows.length === 0)
    return [
      toolbar,
      emptyNote(
        'Nothing was saved in this time.',
        'Workloads save while they sleep. Annotate a Service, or apply an EnvironmentClass with a sleep rule.',
      ),
      notCounted(uncounted),
    ]
  // Currencies are never added.
  const charts = unit === 'cost' ? [...Map.groupBy(rows, ({ currency }) => currency).values()] : [rows]
  return [
    h('div.figures', {}, ...totals(rows)),
    toolbar,
    ...charts.map((own) => dayBars(own, { unit, since: range > 60 ? (rows[0]?.day ?? since) : since, today })),
    savingsTable(rows, by),
    notCounted(uncounted),
    explanation(),
  ]
}

/** @param {number} uncounted */
function notCounted(uncounted) {
  return (
    uncounted > 0 &&
    h('p.muted', {}, `Not counted: ${uncounted} sleeping workload${uncounted === 1 ? '' : 's'} without requests.`)
  )
}

/** @param {readonly DatedRow[]} rows */
function totals(rows) {
  const currencies = [...new Set(rows.map(({ currency }) => currency))]
  const shown = (/** @type {string} */ value, /** @type {string} */ what) =>
    h('div.figure', {}, h('strong', {}, value), h('span', {}, what))
  return [
    ...currencies.map((currency) => {
      const own = rows.filter((row) => row.currency === currency)
      const asleep = sumOf(
        own.filter(({ state }) => state === 'Asleep'),
        'cost',
      )
      return shown(
        money(sumOf(own, 'cost'), currency),
        `saved: ${money(asleep, currency)} asleep, ${money(sumOf(own, 'cost') - asleep, currency)} deleted`,
      )
    }),
    shown(hours(sumOf(rows, 'cpuSeconds')), 'CPU hours'),
    shown(hours(sumOf(rows, 'memoryGiBSeconds')), 'GiB hours of memory'),
  ]
}

/** @param {string} label @param {Record<string, string>} choices @param {string} chosen @param {(value: string) => void} choose */
function chips(label, choices, chosen, choose) {
  const buttons = Object.entries(choices).map(([value, text]) =>
    h('button.chip', { type: 'button', 'aria-pressed': value === chosen, onclick: () => choose(value) }, text),
  )
  return h('div.chips', { role: 'group', 'aria-label': label }, ...buttons)
}

const chart = { width: 720, height: 180 }

/** Stacked bars, one a day: asleep plain, deleted hatched, so that colour is not needed. @param {readonly DatedRow[]} rows @param {{ unit: Unit, since: string, today: string }} options */
function dayBars(rows, { unit, since, today }) {
  const days = []
  for (let at = Date.parse(since); dayOf(at) <= today; at += dayMs) days.push(dayOf(at))
  const byDay = Map.groupBy(rows, ({ day }) => day)
  const bars = days.map((day) => {
    const own = byDay.get(day) ?? []
    const asleep = sumOf(
      own.filter(({ state }) => state === 'Asleep'),
      unit,
    )
    return { day, asleep, deleted: sumOf(own, unit) - asleep }
  })
  const most = Math.max(...bars.map(({ asleep, deleted }) => asleep + deleted)) || 1
  const step = chart.width / bars.length
  const scale = [0.5, 0].map((share) => chart.height * share)
  const label = (/** @type {number} */ value) => amount(value, unit, rows[0]?.currency ?? '')
  const total = bars.reduce((sum, { asleep, deleted }) => sum + asleep + deleted, 0)
  const summary = `${units[unit]} a day from ${since} to ${today}: ${label(total)} in all, at most ${label(most)} a day`
  return h(
    'figure.days',
    {},
    svg(
      'svg',
      {
        class: 'days',
        viewBox: `0 -26 ${chart.width} ${chart.height + 32}`,
        role: 'img',
        'aria-label': summary,
      },
      svg(
        'defs',
        {},
        svg(
          'pattern',
          { id: 'hatched', width: 6, height: 6, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' },
          svg('rect', { class: 'under', width: 6, height: 6 }),
          svg('rect', { class: 'stripe', width: 2.5, height: 6 }),
        ),
      ),
      ...scale.map((y) => svg('line', { class: 'grid', x1: 0, x2: chart.width, y1: y, y2: y })),
      ...bars.map(({ day, asleep, deleted }, index) => {
        const tall = { asleep: (asleep / most) * chart.height, deleted: (deleted / most) * chart.height }
        const place = { x: index * step + step * 0.12, width: step * 0.76 }
        return svg(
          'g',
          { class: 'slot' },
          svg(
            'title',
            {},
            `${day}${day === today ? ' so far' : ''}: ${label(asleep)} asleep, ${label(deleted)} deleted`,
          ),
          svg('rect', { class: 'ground', x: index * step, width: step, y: 0, height: chart.height }),
          svg('rect', { class: 'asleep', ...place, y: chart.height - tall.asleep, height: tall.asleep }),
          svg('rect', {
            class: 'deleted',
            ...place,
            y: chart.height - tall.asleep - tall.deleted,
            height: tall.deleted,
          }),
        )
      }),
      svg('line', { class: 'base', x1: 0, x2: chart.width, y1: chart.height, y2: chart.height }),
      // Over the bars, so that they stay readable.
      ...scale.map((y) => svg('text', { class: 'scale', x: 0, y: y - 3 }, label(most * (1 - y / chart.height)))),
    ),
    h('div.hours', { 'aria-hidden': 'true' }, h('span', {}, since), h('span', {}, `${today}, so far`)),
    h('figcaption', {}, h('span.key.asleep', {}), ' asleep ', h('span.key.deleted', {}), ' deleted · days in UTC'),
  )
}

/** @param {readonly DatedRow[]} rows @param {typeof groupings[number]} by */
function savingsTable(rows, by) {
  const groups = [...Map.groupBy(rows, (row) => `${row[by] ?? `(no ${by})`}\n${row.currency}`)].map(([key, own]) => {
    const [group = '', currency = ''] = key.split('\n')
    const asleep = sumOf(
      own.filter(({ state }) => state === 'Asleep'),
      'cost',
    )
    return { group, currency, own, asleep, cost: sumOf(own, 'cost') }
  })
  groups.sort((left, right) => (by === 'day' ? (left.group < right.group ? 1 : -1) : right.cost - left.cost))
  const headings = [by, 'CPU h', 'Memory GiB h', 'Storage GiB month', 'Asleep', 'Deleted', 'Cost']
  const cells = groups.map(({ group, currency, own, asleep, cost }) => [
    group,
    hours(sumOf(own, 'cpuSeconds')),
    hours(sumOf(own, 'memoryGiBSeconds')),
    (sumOf(own, 'storageGiBSeconds') / 3600 / 730).toFixed(1),
    figure(asleep),
    figure(cost - asleep),
    money(cost, currency),
  ])
  return h(
    'div.scrolls',
    { tabIndex: 0, role: 'region', 'aria-label': `Savings by ${by}` },
    h(
      'table.amounts',
      {},
      h('thead', {}, h('tr', {}, ...headings.map((text) => h('th', { scope: 'col' }, text)))),
      h(
        'tbody',
        {},
        ...cells
          .slice(0, 500)
          .map((row) =>
            h(
              'tr',
              {},
              ...row.map((text, index) => (index === 0 ? h('th', { scope: 'row' }, text) : h('td', {}, text))),
            ),
          ),
      ),
    ),
    h('button.plain', { type: 'button', onclick: () => download([headings, ...cells], by) }, 'Download CSV'),
  )
}

/** @param {string[][]} lines @param {string} by */
function download(lines, by) {
  // A cell that begins like a formula would be one in a spreadsheet.
  const cell = (/** @type {string} */ text) => `"${text.replace(/^[=+@-]/, "'$&").replaceAll('"', '""')}"`
  const text = lines.map((line) => line.map(cell).join(',')).join('\n')
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv' }))
  h('a', { href: url, download: `savings-by-${by}.csv` }).click()
  URL.revokeObjectURL(url)
}

function explanation() {
  return h(
    'details',
    {},
    h('summary', {}, 'How this is counted'),
    h(
      'p',
      {},
      'Asleep: former replicas × the requests of one Pod, while Sojourn keeps the workload asleep. Deleted: requests, claims and load balancers of what Sojourn deleted, for at most 30 days, until a restore or a new object of that name. Each object counts once at each instant. The cost is that of the prices when it was counted.',
    ),
  )
}

/** For users who may not read reports: how long the environments that they may see slept in the last week. @param {Mirror} mirror */
function ownEnvironments(mirror) {
  const now = Date.now()
  const workloads = [...mirror.all('deployments'), ...mirror.all('statefulsets')]
  const rows = mirror.all('environments').map((each) => {
    const { namespace = '' } = each.metadata
    const asleepHours = hoursAsleep(each.status?.timeline ?? [], now)
    const requests = workloads.filter(({ metadata }) => metadata.namespace === namespace).map(formerRequests)
    const sum = (/** @type {'cpu' | 'memory'} */ name) =>
      requests.reduce((total, one) => total + one[name], 0) * asleepHours
    return [namespace, asleepHours.toFixed(1), sum('cpu').toFixed(1), (sum('memory') / 2 ** 30).toFixed(1)]
  })
  const note =
    'The reports of the cluster need the right to list savingsreports in sojourn-system. These are the environments that you may see, in the last 7 days, asleep only.'
  if (rows.length === 0) return emptyNote('You may not read the savings of the cluster, and see no environments.', note)
  const headings = ['Environment', 'Hours asleep', 'CPU h', 'Memory GiB h']
  return h(
    'div.scrolls',
    { tabIndex: 0, role: 'region', 'aria-label': 'Savings of your environments' },
    h('p.muted', {}, note),
    h(
      'table.amounts',
      {},
      h('thead', {}, h('tr', {}, ...headings.map((text) => h('th', { scope: 'col' }, text)))),
      h(
        'tbody',
        {},
        ...rows.map((row) =>
          h('tr', {}, ...row.map((text, index) => (index === 0 ? h('th', { scope: 'row' }, text) : h('td', {}, text)))),
        ),
      ),
    ),
  )
}

/** @param {readonly { at: string, power: string }[]} timeline @param {number} now */
function hoursAsleep(timeline, now) {
  return timeline.reduce((total, { at, power }, index) => {
    if (power !== 'Asleep') return total
    const end = timeline[index + 1]
    const from = Math.max(Date.parse(at), now - 7 * dayMs)
    return total + Math.max(0, (end ? Date.parse(end.at) : now) - from) / 3_600_000
  }, 0)
}

/** What a workload requests when it is awake. @param {{ metadata: { annotations?: Readonly<Record<string, string>> }, spec?: any }} workload */
function formerRequests({ metadata, spec }) {
  const replicas = Number(metadata.annotations?.['sojourn.dev/former-replicas'] ?? spec?.replicas ?? 1)
  const containers = spec?.template?.spec?.containers ?? []
  const sum = (/** @type {string} */ name) =>
    containers.reduce(
      (/** @type {number} */ total, /** @type {any} */ { resources }) => total + quantity(resources?.requests?.[name]),
      0,
    )
  return { cpu: replicas * sum('cpu'), memory: replicas * sum('memory') }
}

/** @param {string | number | undefined} text */
function quantity(text) {
  const [, digits = '0', unit = ''] = /^([\d.]+)(m|[kMGT]i?|Ki)?$/.exec(String(text ?? 0)) ?? []
  const power = 'kMGT'.indexOf(unit.charAt(0).replace('K', 'k')) + 1
  return Number(digits) * (unit === 'm' ? 1e-3 : unit === '' ? 1 : (unit.endsWith('i') ? 1024 : 1000) ** power)
}

/** @param {readonly SavingsRow[]} rows @param {'cost' | 'cpuSeconds' | 'memoryGiBSeconds' | 'storageGiBSeconds'} field */
function sumOf(rows, field) {
  return rows.reduce((total, row) => total + (row[field] ?? 0), 0)
}

/** @param {number} value @param {Unit} unit @param {string} currency */
function amount(value, unit, currency) {
  return unit === 'cost' ? money(value, currency) : `${hours(value)} h`
}

/** Small amounts keep three digits that say something, so that a reader can recompute them. @param {number} value */
function figure(value) {
  if (value < 1e-9) return '0'
  return value.toFixed(value < 0.01 ? Math.min(9, 2 - Math.floor(Math.log10(value))) : value < 1 ? 4 : 2)
}

/** @param {number} value @param {string} currency */
function money(value, currency) {
  return `${figure(value)} ${currency}`
}

/** @param {number} seconds */
function hours(seconds) {
  return seconds > 0 && seconds < 360 ? figure(seconds / 3600) : (seconds / 3600).toFixed(1)
}

/** @param {number} at */
function dayOf(at) {
  return new Date(at).toISOString().slice(0, 10)
}
