/** @import { Departure } from '../../src/apis/departure.ts' */
/** @import { Mirror } from '../mirror.js' */
import { ask } from '../api.js'
import { confirm } from '../dialogs.js'
import { factList, h } from '../dom.js'
import { formatDistance, formatMoment, parseTime } from '../time.js'
import { toneOf } from './board.js'
import { actionButton, cardHead, cardsView, kindAndPlace } from './cards.js'

/** What left, when, why and by whose rule; what is gone can come back. @param {{ mirror: Mirror }} parts */
export function departuresView({ mirror }) {
  return cardsView({
    title: 'Departures',
    lead: 'What left, when, why and by whose rule. Each record holds the manifest; a restore brings it back with all that left with it.',
    empty: ['Nothing has left.', 'Whatever leaves is recorded here first, and can be brought back for 30 days.'],
    lists: ['departures'],
    mirror,
    items: () => mirror.all('departures').sort((left, right) => leftAt(right) - leftAt(left)),
    card: departureCard,
    textOf: ({ spec, status }) =>
      `${spec.object.kind}/${spec.object.name} ${spec.object.namespace ?? ''} ${spec.because} ${spec.by.system} ${status?.phase ?? ''}`,
  })
}

/** @type {WeakMap<Departure, number>} */
const instants = new WeakMap()

/** @param {Departure} record */
function leftAt(record) {
  let at = instants.get(record)
  if (at === undefined) {
    at = parseTime(record.status?.goneAt) ?? parseTime(record.spec.recordedAt) ?? 0
    instants.set(record, at)
  }
  return at
}

/** Why things leave, in words. @type {Record<string, string>} */
const reasons = {
  target: 'the time of its Cleaner is up and its conditions hold',
  'conditions-met': 'its time is up and its conditions hold',
  release: 'its Helm release is uninstalled',
  'requirement-gone': 'what it needed has left',
  'owners-gone': 'its owners have left',
  violates: 'nobody needs it any more',
  deleted: 'somebody deleted it',
}

/** @param {Departure} record */
function departureCard(record) {
  const { spec, status = {} } = record
  const { object, by } = spec
  const at = leftAt(record)
  /** @type {[string, string][]} */
  const facts = [
    ['Because', reasons[spec.because] ?? spec.because],
    ['By', by.object ? `${by.object.kind} ${by.object.name}` : by.system],
    ['With it', spec.takes ? dependents(spec.takes) : 'nothing else'],
  ]
  if (status.message) facts.push(['Says', status.message])
  if (status.waitingFor?.length) facts.push(['Waits for', status.waitingFor.join(', ')])
  const canReturn = status.phase === 'Gone' && Boolean(spec.manifest || spec.pages)
  const restore = () => confirmRestore(record)
  return h(
    'article.card',
    { 'aria-label': `${object.kind} ${object.name}` },
    cardHead(object, kindAndPlace(object), [status.phase ?? 'Recorded', toneOf(status.phase)]),
    h('p.when', { title: formatMoment(at) }, formatDistance(at, Date.now())),
    factList(facts),
    canReturn && h('div.actions', {}, actionButton('Restore', restore, { tone: 'primary', about: object.name })),
  )
}

/** @param {number} count */
function dependents(count) {
  return `${count} ${count === 1 ? 'dependent' : 'dependents'}`
}

/** @param {Departure} record */
function confirmRestore({ metadata, spec }) {
  const { kind, name } = spec.object
  const others = spec.takes ? `, with ${dependents(spec.takes)} that left with it,` : ''
  confirm({
    title: `Bring ${name} back?`,
    text: `${kind} ${name}${others} will be created again from the record, with new uids. If that cannot be done whole, nothing is changed.`,
    action: 'Restore',
    async run() {
      const place = [metadata.namespace ?? '', metadata.name].map(encodeURIComponent).join('/')
      const path = `/sojourn/v1alpha1/departures/${place}/restore`
      const { restored, already, notes } = await ask(path, { method: 'POST', body: {} })
      const back = `${restored.length === 1 ? restored[0] : `${restored.length} objects`} back`
      const before = already.length > 0 ? [`${already.length} were back already`] : []
      return [back, ...before, ...notes].join('. ')
    },
  })
}
