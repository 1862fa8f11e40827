/** @import { Step } from '../day-chart.js' */
/** @import { Mirror } from '../mirror.js' */
/** @import { Rights } from './cards.js' */
/** @import { Service, View } from '../types.d.ts' */
import { ask } from '../api.js'
import { dayChart } from '../day-chart.js'
import { factList, h } from '../dom.js'
import { isOnDemand, serviceStateOf, workloadOf } from '../service-state.js'
import { cardHead, cardsView } from './cards.js'
import { factsOf, faultNote, idOf, powerButton, serviceView, toneOf, whatNext } from './service.js'

const askEveryMs = 5000

/** On-demand services: awake or asleep, since when, and their last day of requests and cold starts. @param {{ mirror: Mirror, of: string }} parts @returns {View} */
export function servicesView({ mirror, of }) {
  if (of) return serviceView({ mirror, of })
  /** @type {Map<string, Step[]>} */
  const days = new Map()
  const view = cardsView({
    title: 'On-demand services',
    lead: 'On-demand Services sleep without requests and wake with the next one. Each chart shows the last day: bars are requests, dots are requests that waited for a start, the line below shows when it was awake.',
    empty: [
      'There are no on-demand Services.',
      'Annotate a Service with proxless/deployment: its Deployment then sleeps without requests.',
    ],
    lists: ['services', 'deployments', 'statefulsets'],
    mirror,
    items: () => mirror.all('services').filter(isOnDemand),
    card: (service, rights) => serviceCard(service, { mirror, rights }, days.get(idOf(service))),
    textOf: ({ metadata }) =>
      `${metadata.name} ${metadata.namespace} ${metadata.annotations?.['proxless/domains'] ?? ''}`,
  })
  const read = async () => {
    try {
      if (await readDays(view.element, days)) view.show()
    } catch {
      // Without an activator there is no history.
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

/** @param {Service} service @param {{ mirror: Mirror, rights: Rights }} parts @param {Step[] | undefined} day */
function serviceCard(service, parts, day) {
  const { namespace, name } = service.metadata
  const now = Date.now()
  const current = serviceStateOf(service, workloadOf(parts.mirror, service), now)
  const { state, why } = current
  return h(
    `article.card.service.${state.toLowerCase()}`,
    { 'aria-label': `Service ${name}`, 'data-service': idOf(service) },
    cardHead({ name }, namespace ?? '', [state, toneOf(state)], `#services/${idOf(service)}`),
    whatNext(current, now),
    day && dayChart(day, now),
    factList(factsOf(service, current, now)),
    faultNote(service),
    h('p.why', {}, why),
    h('div.actions', {}, powerButton(service, parts)),
  )
}

/** Reads the last day of the visible Services. @param {HTMLElement} page @param {Map<string, Step[]>} days */
async function readDays(page, days) {
  const shown = [...page.querySelectorAll('[data-service]')].map((card) => card.getAttribute('data-service') ?? '')
  if (shown.length === 0) return false
  const { items } = await ask(`/sojourn/v1alpha1/on-demand?${new URLSearchParams({ of: shown.join(',') })}`)
  for (const { service, steps } of items) days.set(service, steps)
  return true
}
