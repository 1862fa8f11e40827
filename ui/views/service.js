/** @import { Mirror } from '../mirror.js' */
/** @import { Rights } from './cards.js' */
/** @import { Child, Service, View } from '../types.d.ts' */
import { messageIn, patch } from '../api.js'
import { dayChart, lastDayOf } from '../day-chart.js'
import { confirm } from '../dialogs.js'
import { factList, fill, h, pill, timeOf } from '../dom.js'
import { rightsOf } from '../rights.js'
import { callersOf, failureOf, faultOf, serviceStateOf, workloadOf } from '../service-state.js'
import { exactMoment, formatAhead, formatDistance, formatMoment, timeText } from '../time.js'
import { objectHref } from '../objects.js'
import { actionButton, emptyNote } from './cards.js'
import { eventsAbout, eventsPart } from './object.js'

const askEveryMs = 5000

/** One on-demand Service: its state, the route of its callers, its last day and its Events. @param {{ mirror: Mirror, of: string }} parts @returns {View} */
export function serviceView({ mirror, of }) {
  const [namespace = '', name = ''] = of.split('/')
  const body = h('div')
  const rights = rightsOf(() => show())
  /** @type {Awaited<ReturnType<typeof eventsAbout>> | undefined} */
  let events
  let problem = ''
  const find = () => mirror.find('services', namespace, name)
  const show = () => {
    const service = find()
    if (service) return fill(body, ...serviceDetails(service, { mirror, rights }, events), h('p.problem', {}, problem))
    fill(body, mirror.isComplete ? emptyNote(`There is no Service ${name} in ${namespace}.`) : emptyNote('Loading…'))
  }
  /** What cannot be read keeps its last known state. */
  const read = async () => {
    try {
      events = await eventsOf(find(), mirror)
      problem = ''
    } catch (error) {
      problem = messageIn(error)
    }
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
 * @param {{ mirror: Mirror, rights: Rights }} parts
 * @param {Awaited<ReturnType<typeof eventsAbout>> | undefined} events
 */
function serviceDetails(service, { mirror, rights }, events) {
  const now = Date.now()
  const workload = workloadOf(mirror, service)
  const current = serviceStateOf(mirror, service, now)
  const day = lastDayOf(workload)
  const callers = callersOf(service)
  const { namespace, name } = service.metadata
  return [
    h(
      'article.card.wide.service',
      { 'aria-label': 'State' },
      h('header', {}, whatNext(current, now), pill(current.state, toneOf(current.state))),
      day.length > 0 && dayChart(day, now, 4),
      factList(factsOf(service, current, now)),
      faultNote(service),
      callers && h('p.why', {}, callers.message),
      h('p.why', {}, current.why),
      h(
        'p',
        {},
        h('a', { href: objectHref({ apiVersion: 'v1', kind: 'Service', namespace, name }) }, 'History and YAML'),
      ),
      h('div.actions', {}, powerButton(service, { mirror, rights })),
    ),
    ...eventsPart(events),
  ]
}

/** The Events of a Service and its workload. @param {Service | undefined} service @param {Mirror} mirror */
async function eventsOf(service, mirror) {
  if (!service) return []
  const about = [service, workloadOf(mirror, service)].flatMap((object) => object?.metadata.uid ?? [])
  return eventsAbout(service.metadata.namespace ?? '', about)
}

const powerMs = 8 * 3_600_000

/** Wakes the workload of a Service, or puts it to sleep, as `sojourn wake` does. @param {Service} service @param {{ mirror: Mirror, rights: Rights }} parts */
export function powerButton(service, { mirror, rights }) {
  const workload = workloadOf(mirror, service)
  if (!workload) return undefined
  // With its uid, so that one that was created anew under this name is left alone.
  const { name, namespace = '', uid } = workload.metadata
  const isStateful = mirror.find('statefulsets', namespace, name) === workload
  const resource = isStateful ? 'statefulsets' : 'deployments'
  const isWake = (workload.spec?.replicas ?? 1) === 0
  const denied = rights.denied({ verb: 'patch', group: 'apps', resource, namespace })
  const [action, kind] = [isWake ? 'Wake' : 'Sleep', isStateful ? 'StatefulSet' : 'Deployment']
  const ask = () => {
    const until = Date.now() + powerMs
    const annotations = {
      'sojourn.dev/awake-until': isWake ? timeText(until) : null,
      'sojourn.dev/asleep-until': isWake ? null : timeText(until),
      'sojourn.dev/by-hand-since': isWake ? null : timeText(Date.now()),
      'sojourn.dev/contended': null,
    }
    const set = Object.fromEntries(Object.entries(annotations).filter(([, value]) => value !== null))
    confirm({
      title: `${action} ${name}?`,
      text: isWake
        ? `${kind} ${name} starts now and stays awake until ${formatMoment(until)}.`
        : `${kind} ${name} stops now, until ${formatMoment(until)} at most. A request through the proxy still wakes it.`,
      action,
      whatIf: {
        namespace,
        apply: [{ apiVersion: 'apps/v1', kind, metadata: { namespace, name, annotations: set } }],
      },
      async run() {
        const path = `/apis/apps/v1/namespaces/${namespace}/${resource}/${name}`
        mirror.put(resource, await patch(path, { metadata: { uid, annotations } }))
        return isWake ? `${name} wakes` : `${name} goes to sleep`
      },
    })
  }
  return actionButton(action, ask, { about: name, denied })
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
  return h('p.big', { title: exactMoment(next?.at) }, next ? `${next.what} ${formatAhead(next.at, now)}` : calm)
}

/**
 * @param {Service} service
 * @param {ReturnType<typeof serviceStateOf>} current
 * @param {number} now
 * @returns {[string, Child][]}
 */
export function factsOf(service, { replicas, lastUsedAt }, now) {
  const callers = callersOf(service)
  return [
    ['Domains', service.metadata.annotations?.['proxless/domains'] ?? 'its own name'],
    ...(callers ? /** @type {[string, Child][]} */ ([['Callers', callers.word]]) : []),
    ['Replicas', String(replicas)],
    ['Last used', lastUsedAt === undefined ? 'not yet' : timeOf(lastUsedAt, formatDistance(lastUsedAt, now))],
  ]
}

/** The fault that the Service's owner has to fix. @param {Service} service */
export function faultNote(service) {
  const problems = [faultOf(service), failureOf(service)].filter((each) => each !== undefined)
  return problems.map((problem) => h('p.problem', {}, problem))
}
