import { ask } from '../api.js'
import { confirm } from '../dialogs.js'
import { h, pill } from '../dom.js'
import { formatDistance, formatMoment, parseTime } from '../time.js'
import { toneOf } from './board.js'
import { cardsView } from './cards.js'

/** What left, when, why and by whose rule; what is gone can come back. */
export function departuresView({ mirror }) {
  return cardsView({
    title: 'Departures',
    lead: 'What left, when, why and by whose rule. Each record holds the manifest; a restore brings it back with all that left with it.',
    empty: 'Nothing has left.',
    lists: ['departures'],
    mirror,
    items: () =>
      mirror
        .all('departures')
        .filter(({ spec }) => !spec.page)
        .sort((left, right) => leftAt(right) - leftAt(left)),
    card: departureCard,
    textOf: ({ spec, status }) =>
      `${spec.object.kind}/${spec.object.name} ${spec.object.namespace ?? ''} ${spec.because} ${spec.by.system} ${status?.phase ?? ''}`,
  })
}

function leftAt({ spec, status }) {
  return parseTime(status?.goneAt) ?? parseTime(spec.recordedAt) ?? 0
}

function departureCard(record) {
  const { spec, status = {} } = record
  const { object, by } = spec
  const at = leftAt(record)
  const rule = by.object ? `${by.object.kind} ${by.object.name}` : by.system
  const facts = [
    ['Because', spec.because],
    ['By', rule],
    ['With it', spec.takes ? `${spec.takes} dependents` : 'nothing else'],
  ]
  if (status.message) facts.push(['Says', status.message])
  if (status.waitingFor?.length) facts.push(['Waits for', status.waitingFor.join(', ')])
  const isGone = status.phase === 'Gone'
  const hasManifest = Boolean(spec.manifest || spec.pages)
  return h(
    'article.card',
    {},
    h(
      'header',
      {},
      h(
        'div.who',
        {},
        h('strong', {}, object.name),
        h('small', {}, `${object.kind}${object.namespace ? ` · ${object.namespace}` : ''}`),
      ),
      pill(status.phase ?? 'Recorded', toneOf(status.phase)),
    ),
    h('p.when', { title: formatMoment(at) }, formatDistance(at, Date.now())),
    h('dl.facts', {}, ...facts.flatMap(([term, text]) => [h('dt', {}, term), h('dd', {}, text)])),
    isGone &&
      hasManifest &&
      h('div.actions', {}, h('button.primary', { type: 'button', onclick: () => confirmRestore(record) }, 'Restore')),
  )
}

function confirmRestore({ metadata, spec }) {
  const { kind, name } = spec.object
  const others = spec.takes ? ` and the ${spec.takes} objects that left with it` : ''
  confirm({
    title: `Bring ${name} back?`,
    text: `${kind} ${name}${others} will be created again from the record, with new uids. If that cannot be done whole, nothing is changed.`,
    action: 'Restore',
    async run() {
      const place = [metadata.namespace, metadata.name].map(encodeURIComponent).join('/')
      const { restored, notes } = await ask(`/sojourn/v1alpha1/departures/${place}/restore`, {
        method: 'POST',
        body: {},
      })
      return [`${restored.length === 1 ? restored[0] : `${restored.length} objects`} back`, ...notes].join('. ')
    },
  })
}
