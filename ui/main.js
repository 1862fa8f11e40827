/** @import { ListName, MakeView, View } from './types.d.ts' */
import { ApiError, learnUser, messageIn, session } from './api.js'
import { notify } from './dialogs.js'
import { fill, h, pill } from './dom.js'
import { addressOf, readAddress } from './filters.js'
import { Mirror } from './mirror.js'
import { refIn } from './objects.js'
import { signInPage, takePlace } from './sign-in.js'
import { formatMoment } from './time.js'
import { overviewView } from './views/overview.js'
import { dependenciesView } from './views/dependencies.js'
import { departuresView } from './views/departures.js'
import { doorStateOf, safetyView, whatIsStopped } from './views/safety.js'
import { forecastView } from './views/forecast.js'
import { cleanupView } from './views/cleanup.js'
import { objectView } from './views/object.js'
import { environmentsView } from './views/environments.js'
import { savingsView } from './views/savings.js'
import { pipelinesView } from './views/pipelines.js'
import { servicesView } from './views/services.js'

/** @type {Record<string, [string, MakeView]>} */
const views = {
  overview: ['Overview', overviewView],
  environments: ['Environments', environmentsView],
  forecast: ['Forecast', forecastView],
  pipelines: ['Pipelines', pipelinesView],
  services: ['Services', servicesView],
  cleanup: ['Cleanup', cleanupView],
  departures: ['Departures', departuresView],
  dependencies: ['Dependencies', dependenciesView],
  savings: ['Savings', savingsView],
  safety: ['Safety', safetyView],
}
/** @type {Record<string, string>} Former hashes: bookmarks and links in old notices keep working. */
const formerNames = { board: 'overview', marks: 'cleanup', cascade: 'dependencies', door: 'safety' }
/** Relative times must be redrawn, but a redraw per event is too much with many objects. */
const tickMs = 5000
/** The session is prolonged while the page is seen. */
const refreshMs = 5 * 60_000
const drawMs = 150
/** The share of time left to user input: a pause of ten times the last draw. */
const restPerDraw = 10
const app = document.getElementById('app') ?? document.body

/** @param {string} [problem] */
async function begin(problem) {
  const isByLink = location.hash.startsWith('#once=')
  try {
    // Any site can link here: only a link that signs in ends the session that there is.
    await useLink().catch((error) => {
      if (!session.secret) throw error
      notify(messageIn(error), 'bad')
    })
    if (!session.secret) return fill(app, signInPage(problem, signedIn))
    await learnUser()
    runDashboard()
  } catch (error) {
    if (error instanceof ApiError) session.forget()
    const isOver = error instanceof ApiError && error.status === 401 && !isByLink
    fill(app, signInPage(isOver ? 'Your session has ended. Sign in again.' : messageIn(error), signedIn))
  }
}

/** Signs in by the code of a one-time link, or after the provider's page; both leave the address at once. */
async function useLink() {
  const [, how, value] = /^#(once|session)=([\w-]+)$/.exec(location.hash) ?? []
  if (value === undefined) return
  history.replaceState(null, '', `/${how === 'session' ? takePlace() : ''}`)
  if (how === 'once') return session.signIn('once', { code: value })
  await session.adopt(value)
}

function signedIn() {
  void begin()
}

function runDashboard() {
  /** @type {View | undefined} */
  let view
  let isStale = false
  /** @type {Set<ListName>} */
  const changed = new Set()
  const main = h('main', { tabIndex: -1, id: 'main' })
  const alarm = h('div.alarm', { role: 'alert', hidden: true })
  const live = h('span.live', { role: 'img' })
  /** @type {number | undefined} Since when the API has not answered. */
  let lostAt
  const drawLive = () => {
    const isLive = lostAt === undefined
    live.classList.toggle('lost', !isLive)
    live.ariaLabel = live.title = isLive ? 'Watching the API' : 'The API cannot be reached; retrying'
    drawAlarm(alarm, doorStateOf(mirror), lostAt)
  }
  const showLive = (/** @type {boolean} */ isLive) => {
    if (isLive === (lostAt === undefined)) return
    lostAt = isLive ? undefined : Date.now()
    drawLive()
  }
  const links = new Map(Object.entries(views).map(([name, [label]]) => [name, h('a', { href: `#${name}` }, label)]))

  const mirror = new Mirror({
    onChange: (list) => changed.add(list),
    // An answer to a request sent before the loss proves nothing.
    onAnswer: (askedAt) => (lostAt === undefined || askedAt > lostAt) && showLive(true),
    onError(error) {
      if (error instanceof ApiError && error.status === 401) return end('Your session has ended. Sign in again.')
      showLive(false)
    },
  })
  drawLive()
  const draw = () => {
    // Nothing is redrawn behind an open dialog, so that the focus can return.
    if (document.hidden || !view || document.querySelector('dialog[open]')) return
    const concerns = [...changed].some((list) => view?.concerns(list))
    if (changed.has('door')) drawAlarm(alarm, doorStateOf(mirror), lostAt)
    changed.clear()
    if (concerns || isStale) view.show()
    isStale = false
  }
  const keepDrawing = () => {
    const startedAt = performance.now()
    draw()
    drawing = setTimeout(keepDrawing, Math.max(drawMs, (performance.now() - startedAt) * restPerDraw))
  }
  // The namespace and the owner stay chosen on the way to another page.
  const keepFilters = () => {
    const { ns, owner } = readAddress().filters
    for (const [name, anchor] of links) anchor.href = addressOf(name, { ns, owner })
  }
  const go = () => {
    keepFilters()
    const [wanted = '', ...place] = readAddress().place.split('/')
    const given = Object.hasOwn(formerNames, wanted) ? (formerNames[wanted] ?? '') : wanted
    const isObject = given === 'object'
    const name = isObject || Object.hasOwn(views, given) ? given : session.startPage
    const [label, make] = isObject ? ['Object', objectView] : (views[name] ?? ['Overview', overviewView])
    view?.close()
    main.scrollTop = 0
    const of = place.join('/')
    view = make({ mirror, of })
    document.title = `${name === 'savings' ? label : (isObject ? refIn(of).name : of) || label} · Sojourn`
    for (const [each, anchor] of links) anchor.ariaCurrent = each === name ? 'page' : null
    fill(main, view.element)
    links.get(name)?.scrollIntoView({ block: 'nearest', inline: 'center' })
    view.show()
  }
  let drawing = setTimeout(keepDrawing, drawMs)
  const ticking = setInterval(() => (isStale = true), tickMs)
  const refreshing = setInterval(() => void (document.hidden || session.refresh().catch(() => undefined)), refreshMs)
  const ended = new AbortController()
  /** @param {string} [problem] */
  const end = (problem) => {
    mirror.stop()
    view?.close()
    clearTimeout(drawing)
    clearInterval(ticking)
    clearInterval(refreshing)
    ended.abort()
    removeEventListener('hashchange', go)
    void session
      .signOut()
      .then((next) => (next && problem === undefined ? location.assign(next) : begin(problem ?? '')))
  }
  addEventListener('hashchange', go)
  addEventListener('filters', keepFilters, { signal: ended.signal })
  session.onEnd(() => end('You signed out in another tab.'), ended.signal)
  const skip = (/** @type {Event} */ event) =>
    (event.preventDefault(), main.focus())
  fill(
    app,
    h('a.skip', { href: '#main', onclick: skip }, 'Skip to content'),
    h(
      'header.top',
      {},
      h('a.brand', { href: '#' }, h('img', { src: '/ui/icon.svg', alt: '', width: 28, height: 28 }), 'Sojourn'),
      h('nav', { 'aria-label': 'Views' }, ...links.values()),
      h(
        'div.me',
        {},
        live,
        h('span.user', { title: session.user }, session.user),
        h('button.plain', { type: 'button', onclick: () => end() }, 'Sign out'),
      ),
    ),
    alarm,
    main,
  )
  go()
  mirror.start().catch((error) => notify(messageIn(error), 'bad'))
}

/** @param {HTMLElement} alarm @param {ReturnType<typeof doorStateOf>} state @param {number | undefined} lostAt */
function drawAlarm(alarm, state, lostAt) {
  const { isOpen, circuits, isPaused, isDryRun } = state
  const stopped = whatIsStopped(state)
  alarm.hidden = stopped === '' && lostAt === undefined
  fill(
    alarm,
    lostAt !== undefined && pill('not live', 'bad'),
    lostAt !== undefined &&
      h('span', {}, `The server cannot be reached. This page shows the state of ${formatMoment(lostAt)}. Retrying…`),
    (isOpen || circuits.length > 0) && pill('circuit breaker open', 'bad'),
    isPaused && pill('paused', 'warn'),
    isDryRun && pill('dry run', 'warn'),
    h('span', {}, stopped),
    stopped !== '' && h('a', { href: '#safety' }, 'Open Safety'),
  )
}

await begin()
