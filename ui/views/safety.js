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

/** The deletion switches. An unknown value counts as stopped, as on the server. @param {Mirror} mirror @returns {DoorState} */
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

/** The deletion safeguards: circuit breaker, pause and dry run. @param {{ mirror: Mirror }} parts @returns {View} */
export function safetyView({ mirror }) {
  const scroller = document.getElementById('main') ?? document.documentElement
  const grid = new CardGrid({ card: switchCard, keyOf: ({ title }) => title, scroller })
  const note = h('div')
  const show = () => {
    const refused = mirror.readError('door')
    const isKnown = mirror.isKnown('door') && !refused
    const state = doorStateOf(mirror)
    fill(
      note,
      refused && h('p.problem', {}, `The deletion safeguards cannot be read: ${refused}`),
      !isKnown && !refused && emptyNote('Loading…'),
    )
    grid.show(isKnown ? [breakerSwitch(state, mirror), pauseSwitch(state, mirror), dryRunSwitch(state, mirror)] : [])
  }
  return {
    element: h(
      'section.page',
      { 'aria-label': 'Safety' },
      h('h1', {}, 'Safety'),
      h(
        'p.lead',
        {},
        'The deletion safeguards: they apply to every deletion by Sojourn. Use them to stop deletions at once.',
      ),
      note,
      grid.element,
    ),
    show,
    concerns: (name) => name === 'door',
    close: () => grid.close(),
  }
}

/** @typedef {{ title: string, state: string[], text: string, action: string, tone: string, onAsk: () => void }} Switch */

/** @param {DoorState} state @param {Mirror} mirror @returns {Switch} */
function breakerSwitch({ isOpen, because, openedAt, closedAt }, mirror) {
  const text = isOpen
    ? `Too many deletions${openedAt ? `, ${formatDistance(openedAt, Date.now())}` : ''}: ${because ?? 'no reason is recorded'}. Nothing is deleted until you close the breaker.`
    : `Deletions are within their limits.${closedAt ? ` Last closed ${formatMoment(closedAt)}.` : ''}`
  return {
    title: 'Circuit breaker',
    state: isOpen ? ['open', 'bad'] : ['closed', 'good'],
    text,
    action: isOpen ? 'Close breaker' : 'Open breaker',
    tone: isOpen ? 'danger' : '',
    onAsk: () => (isOpen ? closeBreaker(mirror) : openBreaker(mirror)),
  }
}

/** @param {Mirror} mirror */
function closeBreaker(mirror) {
  confirm({
    title: 'Close the circuit breaker?',
    text: 'The counts start anew, and objects that are due may be deleted at once. Check the departures first.',
    action: 'Close breaker',
    tone: 'danger',
    run: () =>
      change(
        mirror,
        { breaker: 'closed', because: null, openedAt: null, closedAt: nowText() },
        'The circuit breaker is closed',
      ),
  })
}

/** @param {Mirror} mirror */
function openBreaker(mirror) {
  confirm({
    title: 'Open the circuit breaker?',
    text: 'Nothing is deleted until the breaker is closed.',
    action: 'Open breaker',
    reason: 'Reason',
    run: (reason) =>
      change(
        mirror,
        { breaker: 'open', because: reason || 'opened on the dashboard', openedAt: nowText() },
        'The circuit breaker is open: nothing is deleted',
      ),
  })
}

/** @param {DoorState} state @param {Mirror} mirror @returns {Switch} */
function pauseSwitch({ isPaused }, mirror) {
  return {
    title: 'Deletions',
    state: isPaused ? ['paused', 'warn'] : ['running', 'good'],
    text: isPaused ? 'Nothing is deleted until you resume.' : 'Objects that are due are deleted.',
    action: isPaused ? 'Resume' : 'Pause',
    tone: isPaused ? 'danger' : 'primary',
    onAsk: () =>
      confirm({
        title: isPaused ? 'Resume deletions?' : 'Pause all deletions?',
        text: isPaused
          ? 'Objects that are due may be deleted at once.'
          : 'No system deletes anything until you resume.',
        action: isPaused ? 'Resume' : 'Pause',
        tone: isPaused ? 'danger' : 'primary',
        run: () =>
          change(mirror, { paused: String(!isPaused) }, isPaused ? 'Deletions are running' : 'Deletions are paused'),
      }),
  }
}

/** @param {DoorState} state @param {Mirror} mirror @returns {Switch} */
function dryRunSwitch({ isDryRun }, mirror) {
  return {
    title: 'Dry run',
    state: isDryRun ? ['on', 'warn'] : ['off', 'plain'],
    text: isDryRun ? 'All decisions are made and reported; nothing is deleted.' : 'Decisions are carried out.',
    action: isDryRun ? 'Turn off dry run' : 'Turn on dry run',
    tone: isDryRun ? 'danger' : '',
    onAsk: () =>
      confirm({
        title: isDryRun ? 'Turn off dry run?' : 'Turn on dry run?',
        text: isDryRun
          ? 'Objects that are due may be deleted at once.'
          : 'Systems decide and report, but delete nothing.',
        action: isDryRun ? 'Turn off dry run' : 'Turn on dry run',
        tone: isDryRun ? 'danger' : 'primary',
        run: () =>
          change(
            mirror,
            { dryRun: String(!isDryRun) },
            isDryRun ? 'Dry run is off' : 'Dry run is on: nothing is deleted',
          ),
      }),
  }
}

/** @param {Switch} options */
function switchCard({ title, state: [word = '', colour], text, action, tone, onAsk }) {
  return h(
    'article.card',
    { 'aria-label': title },
    h('header', {}, h('h2', {}, title), pill(word, colour)),
    h('p', {}, text),
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
