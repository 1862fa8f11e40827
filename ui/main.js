/** @import { ListName, MakeView, View } from './types.d.ts' */
import { ApiError, learnUser, messageIn, session } from './api.js'
import { notify } from './dialogs.js'
import { fill, h, pill } from './dom.js'
import { Mirror } from './mirror.js'
import { signInPage } from './sign-in.js'
import { formatMoment } from './time.js'
import { boardView } from './views/board.js'
import { cascadeView } from './views/cascade.js'
import { departuresView } from './views/departures.js'
import { doorStateOf, doorView } from './views/door.js'
import { forecastView } from './views/forecast.js'
import { marksView } from './views/marks.js'
import { pipelinesView } from './views/pipelines.js'
import { servicesView } from './views/services.js'

/** @type {Record<string, [string, MakeView]>} */
const views = {
  board: ['Stays', boardView],
  forecast: ['Forecast', forecastView],
  pipelines: ['Pipelines', pipelinesView],
  services: ['Services', servicesView],
  marks: ['Marks', marksView],
  departures: ['Departures', departuresView],
  cascade: ['Cascade', cascadeView],
  door: ['Door', doorView],
}
/** Distances to now grow old; with many objects a redraw per event would be too much. */
const tickMs = 5000
const drawMs = 150
/** However much there is to draw, most of the time belongs to whoever clicks and types. */
const restPerDraw = 10
const app = document.getElementById('app') ?? document.body

/** @param {string} [problem] */
async function begin(problem) {
  if (!session.token) return fill(app, signInPage(problem, signedIn))
  try {
    await learnUser()
    runDashboard()
  } catch (error) {
    if (!(error instanceof ApiError)) return fill(app, signInPage(messageIn(error), signedIn))
    session.signOut()
    fill(app, signInPage(error.status === 401 ? 'The server does not know this token.' : error.message, signedIn))
  }
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
  /** @type {number | undefined} Since when the API does not answer. */
  let lostAt
  const drawLive = () => {
    const isLive = lostAt === undefined
    live.classList.toggle('lost', !isLive)
    live.ariaLabel = live.title = isLive ? 'Watching the API' : 'The API cannot be reached; trying again'
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
    // A watch that only came to its end proves nothing.
    onAnswer: (askedAt) => (lostAt === undefined || askedAt > lostAt) && showLive(true),
    onTrouble(error) {
      if (error instanceof ApiError && error.status === 401) return end('Your token is no longer valid.')
      showLive(false)
    },
  })
  drawLive()
  const draw = () => {
    // What is behind an open dialog stays as it is, so that the focus finds its way back.
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
  const go = () => {
    const [wanted = '', ...place] = location.hash.slice(1).split('/')
    const name = Object.hasOwn(views, wanted) ? wanted : 'board'
    const [label, make] = views[name] ?? ['Stays', boardView]
    view?.close()
    main.scrollTop = 0
    const of = place.join('/')
    view = make({ mirror, of })
    document.title = `${of || label} · Sojourn`
    for (const [each, anchor] of links) anchor.ariaCurrent = each === name ? 'page' : null
    fill(main, view.element)
    links.get(name)?.scrollIntoView({ block: 'nearest', inline: 'center' })
    view.show()
  }
  let drawing = setTimeout(keepDrawing, drawMs)
  const ticking = setInterval(() => (isStale = true), tickMs)
  /** @param {string} [problem] */
  const end = (problem) => {
    mirror.stop()
    view?.close()
    clearTimeout(drawing)
    clearInterval(ticking)
    removeEventListener('hashchange', go)
    session.signOut()
    void begin(problem)
  }
  addEventListener('hashchange', go)
  const skip = (/** @type {Event} */ event) =>
    (event.preventDefault(), main.focus())
  fill(
    app,
    h('a.skip', { href: '#main', onclick: skip }, 'Skip to content'),
    h(
      'header.top',
      {},
      h('a.brand', { href: '#board' }, h('img', { src: '/ui/icon.svg', alt: '', width: 28, height: 28 }), 'Sojourn'),
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
function drawAlarm(alarm, { isOpen, isPaused, isDryRun, because }, lostAt) {
  const isStopped = isOpen || isPaused || isDryRun
  alarm.hidden = !isStopped && lostAt === undefined
  fill(
    alarm,
    lostAt !== undefined && pill('not live', 'bad'),
    lostAt !== undefined &&
      h('span', {}, `The server cannot be reached; this is how things stood ${formatMoment(lostAt)}. Trying again…`),
    isOpen && pill('breaker open', 'bad'),
    isPaused && pill('paused', 'warn'),
    isDryRun && pill('dry run', 'warn'),
    isStopped &&
      h('span', {}, isOpen ? `Everything is held${because ? `: ${because}` : '.'}` : 'Nothing leaves for now.'),
    isStopped && h('a', { href: '#door' }, 'Go to the door'),
  )
}

await begin()
