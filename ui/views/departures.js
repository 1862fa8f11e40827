/** @import { Departure } from '../../src/apis/departure.ts' */
/** @import { Mirror } from '../mirror.js' */
/** @import { Rights } from './cards.js' */
import { ask } from '../api.js'
import { confirm } from '../dialogs.js'
import { factList, h } from '../dom.js'
import { objectHref } from '../objects.js'
import { exactMoment, formatDistance, parseTime } from '../time.js'
import { toneOf } from '../tones.js'
import { actionButton, cardHead, cardsView, kindAndPlace } from './cards.js'

/** Departure records: deleted objects, which can be restored. @param {{ mirror: Mirror }} parts */
export function departuresView({ mirror }) {
  return cardsView({
    title: 'Departures',
    lead: 'Deleted objects: when, why and by which rule. Each record holds the manifest; Restore recreates the object with everything deleted with it.',
    empty: [
      'No deletions are recorded.',
      'Sojourn writes a record before each deletion; you can restore the object for 30 days.',
    ],
    lists: ['departures'],
    mirror,
    items: () => mirror.all('departures').sort((left, right) => leftAt(right) - leftAt(left)),
    card: departureCard,
    namespaceOf: ({ spec }) => spec.object.namespace,
    ownerOf: ({ spec }) => ownerIn(spec.manifest),
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

/** Why objects are deleted, in words. @type {Record<string, string>} */
const reasons = {
  target: 'its Cleaner expired and its conditions are true',
  'conditions-met': 'it expired and its conditions are true',
  release: 'its Helm release is uninstalled',
  'requirement-gone': 'its dependency was deleted',
  'owners-gone': 'its owners were deleted',
  violates: 'a cleanup policy found it unused',
  deleted: 'a user deleted it',
  'helm-release': 'its Helm release is uninstalled',
  'pull-request-closed': 'its pull request is closed',
  'pull-request-stale': 'no push and no use came for a long time',
  unused: 'it was not used',
  'max-age': 'it reached the maximum age of its class',
  condition: 'the condition of its class is true',
  evicted: 'its class was full and it was the least recently used',
}

/** What became of an object. @type {Record<string, string>} */
const outcomes = { Recorded: 'Being deleted', Leaving: 'Being deleted', Gone: 'Deleted', Abandoned: 'Not deleted' }

/** @param {unknown} manifest */
function ownerIn(manifest) {
  const { metadata } = /** @type {{ metadata?: { annotations?: Record<string, string> } }} */ (manifest ?? {})
  return metadata?.annotations?.['sojourn.dev/owner']
}

/** @param {Departure} record @param {Rights} rights */
function departureCard(record, rights) {
  const { spec, status = {} } = record
  const { object, by } = spec
  const { phase = 'Recorded' } = status
  const at = leftAt(record)
  /** @type {[string, string][]} */
  const facts = [
    ['Because', reasons[spec.because] ?? spec.because],
    ['By', by.object ? `${by.object.kind} ${by.object.name}` : by.system],
    ['With it', spec.takes ? dependents(spec.takes) : 'nothing else'],
  ]
  if (status.message) facts.push(['Message', status.message])
  if (status.waitingFor?.length) facts.push(['Waits for', status.waitingFor.join(', ')])
  const canReturn = phase === 'Gone' && Boolean(spec.manifest || spec.pages)
  const restore = () => confirmRestore(record)
  return h(
    'article.card',
    { 'aria-label': `${object.kind} ${object.name}` },
    cardHead(object, kindAndPlace(object), [outcomes[phase] ?? phase, toneOf(phase)], hrefOf(record)),
    h('p.when', { title: exactMoment(at) }, formatDistance(at, Date.now())),
    factList(facts),
    canReturn &&
      h(
        'div.actions',
        {},
        actionButton('Restore', restore, {
          tone: 'primary',
          about: object.name,
          denied: rights.deniedKind('create', object),
        }),
      ),
  )
}

/** The record itself. @param {Departure} record */
function hrefOf({ metadata: { namespace, name } }) {
  return objectHref({ apiVersion: 'sojourn.dev/v1alpha1', kind: 'Departure', namespace, name })
}

/** @param {number} count */
function dependents(count) {
  return `${count} ${count === 1 ? 'dependent' : 'dependents'}`
}

/** @param {Departure} record */
function confirmRestore({ metadata, spec }) {
  const { kind, name } = spec.object
  const place = [metadata.namespace ?? '', metadata.name].map(encodeURIComponent).join('/')
  const path = `/sojourn/v1alpha1/departures/${place}/restore`
  const others = spec.takes ? `, with ${dependents(spec.takes)} deleted with it,` : ''
  confirm({
    title: `Restore ${name}?`,
    text: `${kind} ${name}${others} will be recreated from the record, with new uids. If the restore cannot be complete, nothing is changed.`,
    action: 'Restore',
    about: ask(`${path}?dryRun=true`, { method: 'POST', body: {} }).then(plannedRestore),
    async run() {
      const { restored, already, notes } = await ask(path, { method: 'POST', body: {} })
      const back = `${restored.length === 1 ? restored[0] : `${restored.length} objects`} restored`
      const before = already.length > 0 ? [`${already.length} were restored before`] : []
      return [back, ...before, ...notes].join('. ')
    },
  })
}

const shownObjects = 8

/** What a dry run of the restore says. @param {{ restored: string[], already: string[], notes: string[] }} planned */
function plannedRestore({ restored, already, notes }) {
  const more = restored.length - shownObjects
  return h(
    'ul.events',
    { 'aria-label': 'Dry run' },
    ...restored.slice(0, shownObjects).map((each) => h('li', {}, `${each} is created`)),
    more > 0 && h('li', {}, `and ${more} more`),
    already.length > 0 && h('li', {}, `${already.length} were restored before`),
    ...notes.map((note) => h('li', {}, note)),
  )
}
