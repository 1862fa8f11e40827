/** @import { Mirror } from '../mirror.js' */
/** @import { Rights } from './cards.js' */
/** @import { Service, View } from '../types.d.ts' */
import { dayChart, lastDayOf } from '../day-chart.js'
import { factList, h } from '../dom.js'
import { isOnDemand, serviceStateOf, workloadOf } from '../service-state.js'
import { cardHead, cardsView } from './cards.js'
import { factsOf, faultNote, idOf, powerButton, serviceView, toneOf, whatNext } from './service.js'

/** On-demand services: awake or asleep, since when, and their last day of requests and cold starts. @param {{ mirror: Mirror, of: string }} parts @returns {View} */
export function servicesView({ mirror, of }) {
  if (of) return serviceView({ mirror, of })
  return cardsView({
    title: 'On-demand services',
    lead: 'On-demand Services sleep without requests and wake with the next one. Each chart shows the last day: bars are requests, dots are requests that waited for a start, the line below shows when it was awake.',
    empty: [
      'There are no on-demand Services.',
      'Annotate a Service with proxless/deployment: its Deployment then sleeps without requests.',
    ],
    lists: ['services', 'deployments', 'statefulsets'],
    mirror,
    items: () => mirror.all('services').filter(isOnDemand),
    card: (service, rights) => serviceCard(service, { mirror, rights }),
    textOf: ({ metadata }) =>
      `${metadata.name} ${metadata.namespace} ${metadata.annotations?.['proxless/domains'] ?? ''}`,
  })
}

/** @param {Service} service @param {{ mirror: Mirror, rights: Rights }} parts */
function serviceCard(service, parts) {
  const { namespace, name } = service.metadata
  const now = Date.now()
  const workload = workloadOf(parts.mirror, service)
  const current = serviceStateOf(parts.mirror, service, now)
  const day = lastDayOf(workload)
  const { state, why } = current
  return h(
    `article.card.service.${state.toLowerCase()}`,
    { 'aria-label': `Service ${name}` },
    cardHead({ name }, namespace ?? '', [state, toneOf(state)], `#services/${idOf(service)}`),
    whatNext(current, now),
    day.length > 0 && dayChart(day, now),
    factList(factsOf(service, current, now)),
    faultNote(service),
    h('p.why', {}, why),
    h('div.actions', {}, powerButton(service, parts)),
  )
}
