/** @import { Step } from '../day-chart.js' */
/** @import { Mirror } from '../mirror.js' */
/** @import { Service, View } from '../types.d.ts' */
import { ask } from '../api.js'
import { dayChart } from '../day-chart.js'
import { factList, h } from '../dom.js'
import { deploymentNameOf, isOnDemand, standingOf } from '../standing.js'
import { formatDistance, formatMoment } from '../time.js'
import { cardHead, cardsView } from './cards.js'

const askEveryMs = 5000

/** On-demand services: awake or asleep, since when, and their last day of requests and cold starts. @param {{ mirror: Mirror }} parts @returns {View} */
export function servicesView({ mirror }) {
  /** @type {Map<string, Step[]>} */
  const days = new Map()
  const view = cardsView({
    title: 'On-demand services',
    lead: 'They sleep when nobody calls and wake with the next request. Each chart is the last day: bars are requests, dots are callers who waited, the line below is when it was awake.',
    empty: [
      'No Service is on demand.',
      'Annotate one with proxless/deployment, and its Deployment sleeps when nobody calls it through the proxy.',
    ],
    lists: ['services', 'deployments'],
    mirror,
    items: () => mirror.all('services').filter(isOnDemand),
    card: (service) => serviceCard(service, mirror, days.get(idOf(service))),
    textOf: ({ metadata }) =>
      `${metadata.name} ${metadata.namespace} ${metadata.annotations?.['proxless/domains'] ?? ''}`,
  })
  const read = async () => {
    try {
      if (await readDays(view.element, days)) view.show()
    } catch {
      // Where no activator runs there are no days to show.
      clearInterval(timer)
    }
  }
  const timer = setInterval(() => void read(), askEveryMs)
  setTimeout(() => void read())
  return {
    ...view,
    close() {
      clearInterval(timer)
      view.close()
    },
  }
}

/** @param {Service} service */
function idOf({ metadata }) {
  return `${metadata.namespace}/${metadata.name}`
}

/** @param {Service} service @param {Mirror} mirror @param {Step[] | undefined} day */
function serviceCard(service, mirror, day) {
  const { namespace, name, annotations = {} } = service.metadata
  const now = Date.now()
  const workload = mirror.find('deployments', namespace, deploymentNameOf(service) ?? '')
  const { state, replicas, lastUsedAt, next, why } = standingOf(service, workload, now)
  const tone = state === 'Awake' ? 'good' : state === 'Asleep' ? 'calm' : 'warn'
  const calm = state === 'Asleep' ? 'wakes with a request' : 'stays as it is'
  return h(
    `article.card.service.${state.toLowerCase()}`,
    { 'aria-label': `Service ${name}`, 'data-service': idOf(service) },
    cardHead({ name }, namespace ?? '', [state, tone]),
    h(
      'p.big',
      { title: next ? formatMoment(next.at) : '' },
      next ? `${next.what} ${formatDistance(next.at, now)}` : calm,
    ),
    day && dayChart(day, now),
    factList([
      ['Domains', annotations['proxless/domains'] ?? 'its own name'],
      ['Replicas', String(replicas)],
      ['Last used', lastUsedAt === undefined ? 'not yet' : formatDistance(lastUsedAt, now)],
    ]),
    h('p.why', {}, why),
  )
}

/** Asks for the last day of those that are shown. @param {HTMLElement} page @param {Map<string, Step[]>} days */
async function readDays(page, days) {
  const shown = [...page.querySelectorAll('[data-service]')].map((card) => card.getAttribute('data-service') ?? '')
  if (shown.length === 0) return false
  const { items } = await ask(`/sojourn/v1alpha1/on-demand?${new URLSearchParams({ of: shown.join(',') })}`)
  for (const { service, steps } of items) days.set(service, steps)
  return true
}
