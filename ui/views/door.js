/** @import { Mirror } from '../mirror.js' */
/** @import { View } from '../types.d.ts' */
import { ask, patch, unlessThere } from '../api.js'
import { CardGrid } from '../card-grid.js'
import { confirm } from '../dialogs.js'
import { fill, h, pill } from '../dom.js'
import { formatDistance, formatMoment, nowText, parseTime } from '../time.js'
import { actionButton, emptyNote } from './cards.js'

const path = '/api/v1/namespaces/sojourn-system/configmaps'

/** @typedef {{ isOpen: boolean, because?: string, openedAt?: number, closedAt?: number, isPaused: boolean, isDryRun: boolean }} DoorState */

/** The switches of the door. A word nobody knows counts as its careful side, as on the server. @param {Mirror} mirror @returns {DoorState} */
export function doorStateOf(mirror) {
  const data = mirror.find('door', 'sojourn-system', 'sojourn-door')?.data ?? {}
  return {
    isOpen: (data['breaker'] ?? 'closed') !== 'closed',
    because: data['because'],
    openedAt: parseTime(data['openedAt']),
    closedAt: parseTime(data['closedAt']),
    isPaused: (data['paused'] ?? 'false') !== 'false',
    isDryRun: (data['dryRun'] ?? 'false') !== 'false',
  }
}

/** The one door out: its breaker, its pause and its dry run, each changed only after a second look. @param {{ mirror: Mirror }} parts @returns {View} */
export function doorView({ mirror }) {
  const scroller = document.getElementById('main') ?? document.documentElement
  const grid = new CardGrid({ card: switchCard, keyOf: ({ title }) => title, scroller })
  const note = h('div')
  const show = () => {
    const refused = mirror.trouble('door')
    const isKnown = mirror.isKnown('door') && !refused
    const state = doorStateOf(mirror)
    fill(
      note,
      refused && h('p.problem', {}, `How the switches stand cannot be read: ${refused}`),
      !isKnown && !refused && emptyNote('Reading…'),
    )
    grid.show(isKnown ? [breakerSwitch(state, mirror), pauseSwitch(state, mirror), dryRunSwitch(state, mirror)] : [])
  }
  return {
    element: h(
      'section.page',
      { 'aria-label': 'Door' },
      h('h1', {}, 'The door'),
      h('p.lead', {}, 'Everything that leaves goes through one door. Here it is watched, paused and opened again.'),
      note,
      grid.element,
    ),
    show,
    concerns: (name) => name === 'door',
    close: () => grid.close(),
  }
}

/** @typedef {{ title: string, state: string[], told: string, action: string, tone: string, onAsk: () => void }} Switch */

/** @param {DoorState} state @param {Mirror} mirror @returns {Switch} */
function breakerSwitch({ isOpen, because, openedAt, closedAt }, mirror) {
  const told = isOpen
    ? `Too much left at once${openedAt ? `, ${formatDistance(openedAt, Date.now())}` : ''}: ${because ?? 'no reason was written'}. Everything is held until somebody has looked.`
    : `Departures are within their budget.${closedAt ? ` Last closed by a person ${formatMoment(closedAt)}.` : ''}`
  return {
    title: 'Breaker',
    state: isOpen ? ['open', 'bad'] : ['closed', 'good'],
    told,
    action: isOpen ? 'Close breaker' : 'Open breaker',
    tone: isOpen ? 'danger' : '',
    onAsk: () => (isOpen ? closeBreaker(mirror) : openBreaker(mirror)),
  }
}

/** @param {Mirror} mirror */
function closeBreaker(mirror) {
  confirm({
    title: 'Close the breaker?',
    text: 'What left so far is forgiven, and what is due may leave at once. Look at the departures first.',
    action: 'Close breaker',
    tone: 'danger',
    run: () =>
      change(
        mirror,
        { breaker: 'closed', because: null, openedAt: null, closedAt: nowText() },
        'The breaker is closed',
      ),
  })
}

/** @param {Mirror} mirror */
function openBreaker(mirror) {
  confirm({
    title: 'Open the breaker?',
    text: 'Nothing leaves until somebody closes it again.',
    action: 'Open breaker',
    reason: 'Why',
    run: (reason) =>
      change(
        mirror,
        { breaker: 'open', because: reason || 'opened on the dashboard', openedAt: nowText() },
        'The breaker is open: nothing leaves',
      ),
  })
}

/** @param {DoorState} state @param {Mirror} mirror @returns {Switch} */
function pauseSwitch({ isPaused }, mirror) {
  return {
    title: 'Departures',
    state: isPaused ? ['paused', 'warn'] : ['running', 'good'],
    told: isPaused ? 'Nothing leaves until departures are resumed.' : 'What is due leaves.',
    action: isPaused ? 'Resume' : 'Pause',
    tone: isPaused ? 'danger' : 'primary',
    onAsk: () =>
      confirm({
        title: isPaused ? 'Resume departures?' : 'Pause all departures?',
        text: isPaused
          ? 'What is due may leave at once.'
          : 'Nothing leaves, whatever system wants it, until you resume.',
        action: isPaused ? 'Resume' : 'Pause',
        tone: isPaused ? 'danger' : 'primary',
        run: () =>
          change(mirror, { paused: String(!isPaused) }, isPaused ? 'Departures are running' : 'Nothing leaves now'),
      }),
  }
}

/** @param {DoorState} state @param {Mirror} mirror @returns {Switch} */
function dryRunSwitch({ isDryRun }, mirror) {
  return {
    title: 'Dry run',
    state: isDryRun ? ['on', 'warn'] : ['off', 'plain'],
    told: isDryRun ? 'Everything is decided and said; nothing is deleted.' : 'Decisions are acted on.',
    action: isDryRun ? 'Act for real' : 'Only say what would leave',
    tone: isDryRun ? 'danger' : '',
    onAsk: () =>
      confirm({
        title: isDryRun ? 'Act for real?' : 'Only say what would leave?',
        text: isDryRun ? 'What is due may leave at once.' : 'Systems decide and report, and delete nothing.',
        action: isDryRun ? 'Act for real' : 'Dry run',
        tone: isDryRun ? 'danger' : 'primary',
        run: () =>
          change(mirror, { dryRun: String(!isDryRun) }, isDryRun ? 'Decisions are acted on' : 'Nothing is deleted now'),
      }),
  }
}

/** @param {Switch} options */
function switchCard({ title, state: [word = '', colour], told, action, tone, onAsk }) {
  return h(
    'article.card',
    { 'aria-label': title },
    h('header', {}, h('h2', {}, title), pill(word, colour)),
    h('p', {}, told),
    h('div.actions', {}, actionButton(action, onAsk, { tone })),
  )
}

/** @param {Mirror} mirror @param {Record<string, string | null>} data @param {string} done */
async function change(mirror, data, done) {
  mirror.put('door', await write(mirror, data))
  return done
}

/** @param {Mirror} mirror @param {Record<string, string | null>} data */
async function write(mirror, data) {
  const change = () => patch(`${path}/sojourn-door`, { data })
  if (mirror.find('door', 'sojourn-system', 'sojourn-door')) return change()
  const metadata = { name: 'sojourn-door', labels: { 'app.kubernetes.io/part-of': 'sojourn' } }
  const given = Object.fromEntries(Object.entries(data).filter(([, value]) => value !== null))
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: given }
  return ask(path, { method: 'POST', body }).catch(unlessThere(change))
}
