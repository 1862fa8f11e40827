/** @import { Step } from '../day-chart.js' */
/** @import { Mirror } from '../mirror.js' */
/** @import { Service, View } from '../types.d.ts' */
import { ApiError, ask, messageIn } from '../api.js'
import { dayChart } from '../day-chart.js'
import { factList, fill, h, pill } from '../dom.js'
import { callersOf, faultOf, serviceStateOf, workloadOf } from '../service-state.js'
import { formatAhead, formatDistance, formatMoment, parseTime } from '../time.js'
import { emptyNote } from './cards.js'

const askEveryMs = 5000
const maxEvents = 20

/** @typedef {{ inFlight: number, waiting: number, history: Step[] }} Now its state in the proxy replica that answered */
/** @typedef {{ type: string, reason: string, message: string, lastTimestamp?: string, involvedObject: { kind: string, name: string } }} Event */

/** One on-demand Service: its state, the route of its callers, its last day and its Events. @param {{ mirror: Mirror, of: string }} parts @returns {View} */
export function serviceView({ mirror, of }) {
  const [namespace = '', name = ''] = of.split('/')
  const body = h('div')
  /** @type {Now | undefined} */
  let seen
  /** @type {Event[] | undefined} */
  let events
  let problem = ''
  const find = () => mirror.find('services', namespace, name)
  const show = () => {
    const service = find()
    if (service) return fill(body, ...serviceDetails(service, mirror, { seen, events }), h('p.problem', {}, problem))
    fill(body, mirror.isComplete ? emptyNote(`There is no Service ${name} in ${namespace}.`) : emptyNote('Loading…'))
  }
  /** Reads Events and history. What cannot be read keeps its last known state. */
  const read = async () => {
    const service = find()
    const path = `/sojourn/v1alpha1/on-demand/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`
    const [said, day] = await Promise.allSettled([service ? eventsOf(service, mirror) : [], ask(path)])
    // Without an activator there is no history.
    const isUnknown = day.status === 'rejected' && day.reason instanceof ApiError && day.reason.status === 404
    if (said.status === 'fulfilled') events = said.value
    if (day.status === 'fulfilled') seen = day.value
    else if (isUnknown) seen = undefined
    const failed = [said, isUnknown ? said : day].find(({ status }) => status === 'rejected')
    problem = failed?.status === 'rejected' ? messageIn(failed.reason) : ''
    show()
  }
  const timer = setInterval(() => void read(), askEveryMs)
  setTimeout(() => void read())
  return {
    element: h(
      'section.page.one',
      { 'aria-label': `Service ${name}` },
      h('p', {}, h('a', { href: '#services' }, '← On-demand services')),
      h('div.heading', {}, h('h1', {}, name, ' ', h('small', {}, namespace))),
      body,
    ),
    show,
    concerns: (list) => ['services', 'deployments', 'statefulsets'].includes(list),
    close: () => clearInterval(timer),
  }
}

/**
 * @param {Service} service
 * @param {Mirror} mirror
 * @param {{ seen: Now | undefined, events: readonly Event[] | undefined }} read
 */
function serviceDetails(service, mirror, { seen, events }) {
  const now = Date.now()
  const current = serviceStateOf(service, workloadOf(mirror, service), now)
  const callers = callersOf(service)
  return [
    h(
      'article.card.wide.service',
      { 'aria-label': 'State' },
      h('header', {}, whatNext(current, now), pill(current.state, toneOf(current.state))),
      seen && dayChart(seen.history, now, 4),
      factList([
        ...factsOf(service, current, now),
        ...(seen
          ? /** @type {[string, string][]} */ ([
              ['In flight', `${seen.inFlight}`],
              ['Waiting', `${seen.waiting}`],
            ])
          : []),
      ]),
      faultNote(service),
      callers && h('p.why', {}, callers.message),
      h('p.why', {}, current.why),
    ),
    h('h2', {}, 'Events'),
    events?.length === 0 && emptyNote('No Events in the last hour.'),
    events && events.length > 0 && h('ul.events.card', {}, ...events.map((event) => eventLine(event, now))),
  ]
}

/** @param {Event} event @param {number} now */
function eventLine({ type, reason, message, lastTimestamp, involvedObject: { kind, name } }, now) {
  const at = parseTime(lastTimestamp)
  return h(
    'li',
    {},
    pill(reason, type === 'Warning' ? 'warn' : 'plain'),
    ` ${message} `,
    h('small', { title: formatMoment(at) }, `${kind} ${name}${at === undefined ? '' : `, ${formatDistance(at, now)}`}`),
  )
}

/** The Events of a Service and its workload, newest first. @param {Service} service @param {Mirror} mirror @returns {Promise<Event[]>} */
async function eventsOf(service, mirror) {
  const { namespace } = service.metadata
  const about = [service, workloadOf(mirror, service)].flatMap((object) => object?.metadata.uid ?? [])
  const lists = await Promise.all(
    about.map((uid) => {
      const query = new URLSearchParams({ fieldSelector: `involvedObject.uid=${uid}` })
      return ask(`/api/v1/namespaces/${namespace}/events?${query}`)
    }),
  )
  const all = /** @type {Event[]} */ (lists.flatMap(({ items }) => items))
  const timeOf = (/** @type {Event} */ { lastTimestamp }) => parseTime(lastTimestamp) ?? 0
  return all.sort((left, right) => timeOf(right) - timeOf(left)).slice(0, maxEvents)
}

/** @param {Service} service */
export function idOf({ metadata }) {
  return `${metadata.namespace}/${metadata.name}`
}

/** @param {string} state */
export function toneOf(state) {
  return state === 'Awake' ? 'good' : state === 'Asleep' ? 'calm' : 'warn'
}

/** What happens to it without requests. @param {ReturnType<typeof serviceStateOf>} current @param {number} now */
export function whatNext({ state, next }, now) {
  const calm = state === 'Asleep' ? 'wakes with the next request' : 'no change planned'
  return h(
    'p.big',
    { title: next ? formatMoment(next.at) : '' },
    next ? `${next.what} ${formatAhead(next.at, now)}` : calm,
  )
}

/**
 * @param {Service} service
 * @param {ReturnType<typeof serviceStateOf>} current
 * @param {number} now
 * @returns {[string, string][]}
 */
export function factsOf(service, { replicas, lastUsedAt }, now) {
  const callers = callersOf(service)
  return [
    ['Domains', service.metadata.annotations?.['proxless/domains'] ?? 'its own name'],
    ...(callers ? /** @type {[string, string][]} */ ([['Callers', callers.word]]) : []),
    ['Replicas', String(replicas)],
    ['Last used', lastUsedAt === undefined ? 'not yet' : formatDistance(lastUsedAt, now)],
  ]
}

/** The fault that the Service's owner has to fix. @param {Service} service */
export function faultNote(service) {
  const fault = faultOf(service)
  return fault !== undefined && h('p.problem', {}, fault)
}
