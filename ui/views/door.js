import { ask, patch, unlessThere } from '../api.js'
import { confirm } from '../dialogs.js'
import { fill, h, pill } from '../dom.js'
import { formatDistance, formatMoment, parseTime } from '../time.js'

const path = '/api/v1/namespaces/sojourn-system/configmaps'

/** The switches of the door. A word nobody knows counts as its careful side, as on the server. */
export function doorStateOf(mirror) {
  const data = mirror.find('door', 'sojourn-system', 'sojourn-door')?.data ?? {}
  return {
    isOpen: data.breaker !== undefined && data.breaker !== 'closed',
    because: data.because,
    openedAt: parseTime(data.openedAt),
    closedAt: parseTime(data.closedAt),
    isPaused: data.paused !== undefined && data.paused !== 'false',
    isDryRun: data.dryRun !== undefined && data.dryRun !== 'false',
  }
}

/** The one door out: its breaker, its pause and its dry run, each changed only after a second look. */
export function doorView({ mirror }) {
  const cards = h('div.cards')
  const show = () => {
    const state = doorStateOf(mirror)
    fill(cards, breakerCard(state, mirror), pauseCard(state, mirror), dryRunCard(state, mirror))
  }
  return {
    element: h(
      'section.page',
      {},
      h('h1', {}, 'The door'),
      h('p.lead', {}, 'Everything that leaves goes through one door. Here it is watched, paused and opened again.'),
      cards,
    ),
    show,
    concerns: (name) => name === 'door',
    close() {},
  }
}

function breakerCard({ isOpen, because, openedAt, closedAt }, mirror) {
  const told = isOpen
    ? `Too much left at once${openedAt ? `, ${formatDistance(openedAt, Date.now())}` : ''}: ${because ?? 'no reason was written'}. Everything is held until somebody has looked.`
    : `Departures are within their budget.${closedAt ? ` Last closed by a person ${formatMoment(closedAt)}.` : ''}`
  return switchCard({
    title: 'Breaker',
    state: isOpen ? ['open', 'bad'] : ['closed', 'good'],
    told,
    action: isOpen ? 'Close breaker' : 'Open breaker',
    tone: isOpen ? 'danger' : '',
    onAsk: () => (isOpen ? closeBreaker(mirror) : openBreaker(mirror)),
  })
}

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

function pauseCard({ isPaused }, mirror) {
  return switchCard({
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
  })
}

function dryRunCard({ isDryRun }, mirror) {
  return switchCard({
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
  })
}

function switchCard({ title, state: [word, colour], told, action, tone, onAsk }) {
  return h(
    'article.card',
    {},
    h('header', {}, h('h2', {}, title), pill(word, colour)),
    h('p', {}, told),
    h('div.actions', {}, h(`button${tone ? `.${tone}` : ''}`, { type: 'button', onclick: onAsk }, action)),
  )
}

async function change(mirror, data, done) {
  mirror.put('door', await write(mirror, data))
  return done
}

async function write(mirror, data) {
  const change = () => patch(`${path}/sojourn-door`, { data })
  if (mirror.find('door', 'sojourn-system', 'sojourn-door')) return change()
  const metadata = { name: 'sojourn-door', labels: { 'app.kubernetes.io/part-of': 'sojourn' } }
  const given = Object.fromEntries(Object.entries(data).filter(([, value]) => value !== null))
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: given }
  return ask(path, { method: 'POST', body }).catch(unlessThere(change))
}

function nowText() {
  return new Date().toISOString().replace(/\.\d+Z$/, 'Z')
}
