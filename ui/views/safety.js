/** @import { Mirror } from '../mirror.js' */
/** @import { View } from '../types.d.ts' */
import { ask, patch, unlessThere } from '../api.js'
import { CardGrid } from '../card-grid.js'
import { confirm } from '../dialogs.js'
import { fill, h, pill } from '../dom.js'
import { managedItemsOf } from '../managed-items.js'
import { rightsOf } from '../rights.js'
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
  const rights = rightsOf(() => show())
  const grid = new CardGrid({
    card: (/** @type {Switch} */ given) => switchCard(given, rights.denied(access)),
    keyOf: ({ title }) => title,
    scroller,
  })
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

/** What is due, or within this time. @param {Mirror} mirror @param {number} withinMs */
function dueWithin(mirror, withinMs) {
  const now = Date.now()
  return managedItemsOf(mirror, now).filter(({ next }) => next?.isEnd && (next.at ?? now) <= now + withinMs).length
}

/** What follows when deletions go on. @param {Mirror} mirror */
function dueText(mirror) {
  const due = dueWithin(mirror, 0)
  return due === 0
    ? 'Nothing is due at the moment.'
    : `${due} due or held object${due === 1 ? ' is' : 's are'} deleted at once.`
}

/** What does not happen while deletions are stopped. @param {Mirror} mirror */
function soonText(mirror) {
  const due = dueWithin(mirror, 86_400_000)
  return due === 0
    ? 'Nothing is due in the next 24 hours.'
    : `${due} due in the next 24 hours stay${due === 1 ? 's' : ''}.`
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
    text: `The counts start anew. ${dueText(mirror)} Check the departures first.`,
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
    text: `Nothing is deleted until the breaker is closed. ${soonText(mirror)}`,
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
        text: isPaused ? dueText(mirror) : `No system deletes anything until you resume. ${soonText(mirror)}`,
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
        text: isDryRun ? dueText(mirror) : `Systems decide and report, but delete nothing. ${soonText(mirror)}`,
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

const access = { verb: 'patch', group: '', resource: 'configmaps', namespace: 'sojourn-system', name: 'sojourn-door' }

/** @param {Switch} options @param {string} denied */
function switchCard({ title, state: [word = '', colour], text, action, tone, onAsk }, denied) {
  return h(
    'article.card',
    { 'aria-label': title },
    h('header', {}, h('h2', {}, title), pill(word, colour)),
    h('p', {}, text),
    h('div.actions', {}, actionButton(action, onAsk, { tone, denied })),
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
