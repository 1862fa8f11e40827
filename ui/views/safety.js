/** @import { Mirror } from '../mirror.js' */
/** @import { View } from '../types.d.ts' */
import { ApiError, ask, messageIn, patch, unlessThere } from '../api.js'
import { CardGrid } from '../card-grid.js'
import { confirm } from '../dialogs.js'
import { fill, h, pill } from '../dom.js'
import { managedItemsOf } from '../managed-items.js'
import { objectLink } from '../objects.js'
import { rightsOf } from '../rights.js'
import { exactMoment, formatDistance, formatMoment, nowText, parseTime, withReadableTimes } from '../time.js'
import { actionButton, emptyNote, titleOf } from './cards.js'
import { eventsAbout, eventsPart } from './object.js'

const path = '/api/v1/namespaces/sojourn-system/configmaps'

/** Before the name of a namespace whose deletions the breaker holds. */
const circuit = 'circuit.'

/** @typedef {{ isOpen: boolean, circuits: [string, string][], because?: string, openedAt?: number, closedAt?: number, isPaused: boolean, isDryRun: boolean }} DoorState `circuits`: the namespaces in which deletions are held, and why */

/** The deletion switches. An unknown value counts as stopped, as on the server. @param {Mirror} mirror @returns {DoorState} */
export function doorStateOf(mirror) {
  const data = mirror.find('door', 'sojourn-system', 'sojourn-door')?.data ?? {}
  return {
    isOpen: (data['breaker'] ?? 'closed') !== 'closed',
    circuits: Object.entries(data).flatMap(([key, why]) =>
      key.startsWith(circuit) ? [[key.slice(circuit.length), why]] : [],
    ),
    because: data['because'],
    openedAt: parseTime(data['openedAt']),
    closedAt: parseTime(data['closedAt']),
    isPaused: (data['paused'] ?? 'false') !== 'false',
    isDryRun: (data['dryRun'] ?? 'false') !== 'false',
  }
}

/** What is not deleted for now, and why; '' if deletions run. @param {DoorState} state */
export function whatIsStopped({ isOpen, circuits, isPaused, isDryRun, because }) {
  if (isOpen) return `No deletions${because ? `: ${because}` : '.'}`
  if (isPaused || isDryRun) return 'Nothing is deleted for now.'
  return circuits.length === 0 ? '' : `No deletions in ${circuits.map(([name]) => name).join(', ')}: too many at once.`
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
  const [held, past] = [h('div'), h('div')]
  /** Who did what, from the Events of the switches. */
  const read = async () => {
    const { uid = '' } = mirror.find('door', 'sojourn-system', 'sojourn-door')?.metadata ?? {}
    const events = uid === '' ? [] : await eventsAbout('sojourn-system', [uid])
    fill(past, ...eventsPart(events))
  }
  const readAgain = () => void read().catch((error) => fill(past, h('p.problem', {}, messageIn(error))))
  const timer = setInterval(() => document.hidden || readAgain(), askEveryMs)
  setTimeout(readAgain)
  const show = () => {
    const refused = mirror.readError('door')
    const isKnown = mirror.isKnown('door') && !refused
    const state = doorStateOf(mirror)
    fill(
      note,
      refused && h('p.problem', {}, `The deletion safeguards cannot be read. ${refused}`),
      !isKnown && !refused && emptyNote('Loading…'),
    )
    fill(held, isKnown && whatIsStopped(state) !== '' && heldPart(mirror))
    grid.show(isKnown ? [breakerSwitch(state, mirror), pauseSwitch(state, mirror), dryRunSwitch(state, mirror)] : [])
  }
  return {
    element: h(
      'section.page.one',
      { 'aria-label': 'Safety' },
      h('h1', {}, 'Safety'),
      h(
        'p.lead',
        {},
        'The deletion safeguards: they apply to every deletion by Sojourn. Use them to stop deletions at once.',
      ),
      note,
      grid.element,
      held,
      past,
    ),
    show,
    concerns: (name) => name === 'door',
    close() {
      clearInterval(timer)
      grid.close()
    },
  }
}

const askEveryMs = 5000
const shownHeld = 20

/** What is due, or within this time. @param {Mirror} mirror @param {number} withinMs */
function dueWithin(mirror, withinMs) {
  const now = Date.now()
  return managedItemsOf(mirror, now).filter(({ next }) => next?.isEnd && (next.at ?? now) <= now + withinMs)
}

/** What would be deleted now. @param {Mirror} mirror */
function heldPart(mirror) {
  const due = dueWithin(mirror, 0)
  const line = (/** @type {import('../types.d.ts').ManagedItem} */ { object, why }) =>
    h('li', {}, objectLink(object, `${object.kind} ${titleOf(object)}`), ` ${withReadableTimes(why)}`)
  const rest = due.length - shownHeld
  return h(
    'section',
    { 'aria-label': 'Held now' },
    h('h2', {}, 'Held now ', h('span.count', {}, due.length)),
    due.length === 0
      ? emptyNote('Nothing is due: no deletion waits for these switches.')
      : h('ul.events.card', {}, ...due.slice(0, shownHeld).map(line), rest > 0 && h('li', {}, `and ${rest} more`)),
  )
}

/** What follows when deletions go on. @param {Mirror} mirror */
function dueText(mirror) {
  const due = dueWithin(mirror, 0).length
  return due === 0
    ? 'Nothing is due at the moment.'
    : `${due} due or held object${due === 1 ? ' is' : 's are'} deleted at once.`
}

/** What does not happen while deletions are stopped. @param {Mirror} mirror */
function soonText(mirror) {
  const due = dueWithin(mirror, 86_400_000).length
  return due === 0
    ? 'Nothing is due in the next 24 hours.'
    : `${due} due in the next 24 hours stay${due === 1 ? 's' : ''}.`
}

/** @typedef {{ title: string, state: string[], text: string, at?: number, action: string, tone: string, onAsk: () => void }} Switch */

/** @param {DoorState} state @param {Mirror} mirror @returns {Switch} */
function breakerSwitch(state, mirror) {
  const { isOpen, circuits } = state
  const isStopped = isOpen || circuits.length > 0
  return {
    title: 'Circuit breaker',
    state: isOpen
      ? ['open', 'bad']
      : isStopped
        ? [`open in ${countOf(circuits.length, 'namespace')}`, 'bad']
        : ['closed', 'good'],
    text: breakerText(state),
    at: isOpen ? state.openedAt : state.closedAt,
    action: isStopped ? 'Close breaker' : 'Open breaker',
    tone: isStopped ? 'danger' : '',
    onAsk: () => (isStopped ? closeBreaker(circuits, mirror) : openBreaker(mirror)),
  }
}

/** @param {DoorState} state */
function breakerText({ isOpen, circuits, because, openedAt, closedAt }) {
  const since = openedAt ? `, ${formatDistance(openedAt, Date.now())}` : ''
  if (isOpen)
    return `Too many deletions${since}: ${because ?? 'no reason is recorded'}. Nothing is deleted until you close the breaker.`
  if (circuits.length > 0)
    return `Too many deletions: ${circuits.map(([, why]) => why).join('; ')}. Nothing is deleted there until you close the breaker.`
  return `Deletions are within their limits.${closedAt ? ` Last closed ${formatMoment(closedAt)}.` : ''}`
}

/** @param {number} count @param {string} word */
function countOf(count, word) {
  return `${count} ${word}${count === 1 ? '' : 's'}`
}

/** @param {DoorState['circuits']} circuits @param {Mirror} mirror */
function closeBreaker(circuits, mirror) {
  const closed = Object.fromEntries(circuits.map(([name]) => [circuit + name, null]))
  confirm({
    title: 'Close the circuit breaker?',
    text: `The counts start anew. ${dueText(mirror)} Check the departures first.`,
    action: 'Close breaker',
    tone: 'danger',
    run: changeSeen(
      mirror,
      () => ({ ...closed, breaker: 'closed', because: null, openedAt: null, closedAt: nowText() }),
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
    tone: isPaused ? 'danger' : '',
    onAsk: () =>
      confirm({
        title: isPaused ? 'Resume deletions?' : 'Pause all deletions?',
        text: isPaused ? dueText(mirror) : `No system deletes anything until you resume. ${soonText(mirror)}`,
        action: isPaused ? 'Resume' : 'Pause',
        tone: isPaused ? 'danger' : 'primary',
        run: isPaused
          ? changeSeen(mirror, () => ({ paused: 'false' }), 'Deletions are running')
          : () => change(mirror, { paused: 'true' }, 'Deletions are paused'),
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
        run: isDryRun
          ? changeSeen(mirror, () => ({ dryRun: 'false' }), 'Dry run is off')
          : () => change(mirror, { dryRun: 'true' }, 'Dry run is on: nothing is deleted'),
      }),
  }
}

const access = { verb: 'patch', group: '', resource: 'configmaps', namespace: 'sojourn-system', name: 'sojourn-door' }

/** @param {Switch} options @param {string} denied */
function switchCard({ title, state: [word = '', colour], text, at, action, tone, onAsk }, denied) {
  return h(
    'article.card',
    { 'aria-label': title },
    h('header', {}, h('h2', {}, title), pill(word, colour)),
    h('p', { title: exactMoment(at) }, text),
    h('div.actions', {}, actionButton(action, onAsk, { tone, denied })),
  )
}

/**
 * A change that lets deletions go on: only while the switches are as they are now. A breaker that opened meanwhile stays open.
 * @param {Mirror} mirror @param {() => Record<string, string | null>} data @param {string} done
 */
function changeSeen(mirror, data, done) {
  const { resourceVersion } = mirror.find('door', 'sojourn-system', 'sojourn-door')?.metadata ?? {}
  return async () => {
    const body = { metadata: { resourceVersion }, data: data() }
    const written = await patch(`${path}/sojourn-door`, body).catch((error) => {
      if (!(error instanceof ApiError) || error.status !== 409) throw error
      throw new Error('The safeguards were changed meanwhile. Close this and look at them again.', { cause: error })
    })
    mirror.put('door', written)
    return done
  }
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
