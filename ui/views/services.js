import { request } from '../api.js'
import { h, pill } from '../dom.js'
import { deploymentNameOf, isOnDemand, standingOf } from '../standing.js'
import { formatDistance } from '../time.js'
import { cardsView } from './cards.js'

const metricsEveryMs = 5000

/** On-demand services: awake or asleep, since when, how often called and how often woken. */
export function servicesView({ mirror }) {
  const counters = new Map()
  const view = cardsView({
    title: 'On-demand services',
    lead: 'They sleep when nobody calls and wake with the next request.',
    empty: 'No Service is on demand. Annotate one with proxless/deployment to make it so.',
    lists: ['services', 'deployments'],
    mirror,
    items: () => mirror.all('services').filter(isOnDemand),
    card: (service) => serviceCard(service, mirror, counters),
    textOf: ({ metadata }) => `${metadata.name} ${metadata.namespace} ${JSON.stringify(metadata.annotations)}`,
  })
  const read = () =>
    readCounters(counters).then(
      () => view.show(),
      () => clearInterval(timer),
    )
  const timer = setInterval(read, metricsEveryMs)
  void read()
  return { ...view, close: () => clearInterval(timer) }
}

function serviceCard(service, mirror, counters) {
  const { namespace, name, annotations = {} } = service.metadata
  const workload = mirror.find('deployments', namespace, deploymentNameOf(service) ?? '')
  const { state, replicas, lastUsedAt, next, why } = standingOf(service, workload, Date.now())
  const { requests, coldStarts } = counters.get(`${namespace}/${name}`) ?? {}
  const facts = [
    ['Domains', annotations['proxless/domains'] ?? 'its own name'],
    ['Replicas', String(replicas)],
    ['Last used', lastUsedAt === undefined ? 'nobody has said' : formatDistance(lastUsedAt, Date.now())],
  ]
  if (requests !== undefined) facts.push(['Requests', `${requests}, ${coldStarts ?? 0} cold starts`])
  return h(
    `article.card.service.${state.toLowerCase()}`,
    {},
    h(
      'header',
      {},
      h('div.who', {}, h('strong', {}, name), h('small', {}, namespace)),
      pill(state, state === 'Awake' ? 'good' : state === 'Asleep' ? 'calm' : 'warn'),
    ),
    h(
      'p.big',
      {},
      next
        ? `${next.what} ${formatDistance(next.at, Date.now())}`
        : state === 'Asleep'
          ? 'wakes with a request'
          : 'stays as it is',
    ),
    h('dl.facts', {}, ...facts.flatMap(([term, text]) => [h('dt', {}, term), h('dd', {}, text)])),
    h('p.why', {}, why),
  )
}

/** What the proxy has counted, where this server says so; the first refusal ends the asking. */
async function readCounters(counters) {
  const text = await (await request('/metrics', { accept: 'text/plain' })).text()
  counters.clear()
  const lines = text.matchAll(/^sojourn_activator_(requests|cold_starts)_total\{[^}]*route="([^"]*)"[^}]*\} (\d+)/gm)
  for (const [, what, route, value] of lines) {
    const found = counters.get(route) ?? { requests: 0, coldStarts: 0 }
    found[what === 'requests' ? 'requests' : 'coldStarts'] += Number(value)
    counters.set(route, found)
  }
}
