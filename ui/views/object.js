/** @import { Mirror } from '../mirror.js' */
/** @import { Rights } from './cards.js' */
/** @import { Ref, View } from '../types.d.ts' */
import { ask, messageIn } from '../api.js'
import { notify } from '../dialogs.js'
import { factList, fill, h, pill, timeOf } from '../dom.js'
import { managedItemsOf } from '../managed-items.js'
import { readObject, refIn, yamlOf } from '../objects.js'
import { rightsOf } from '../rights.js'
import { exactMoment, formatDistance, formatMoment, nextText, parseTime, withReadableTimes } from '../time.js'
import { actionButton, emptyNote, kindAndPlace, titleOf } from './cards.js'
import { openCascade } from './dependencies.js'
import { actionsFor } from './environments.js'
import { actionsOfPipeline } from './pipelines.js'
import { toneOf } from '../tones.js'

const askEveryMs = 5000
const maxEvents = 20
const maxHistory = 50

/** @typedef {{ type: string, reason: string, message: string, lastTimestamp?: string, eventTime?: string, count?: number, involvedObject: { kind: string, name: string } }} Event */
/** @typedef {{ at: number, what: string }} Past */

/** One object: why it is as it is, its Events, its history and its YAML. @param {{ mirror: Mirror, of: string }} parts @returns {View} */
export function objectView({ mirror, of }) {
  const ref = refIn(of)
  const [state, past, source] = [h('div'), h('div'), h('div')]
  let text = ''
  const rights = rightsOf(() => show())
  const show = () => fill(state, stateCard(ref, { mirror, rights }))
  const read = async () => {
    try {
      const object = await readObject(ref)
      const events = await eventsAbout(object.metadata.namespace ?? 'default', [object.metadata.uid])
      fill(past, ...eventsPart(events), ...historyPart(pastOf(object, ref, mirror)))
      // A selection in the YAML survives while nothing changes.
      if (yamlOf(object) !== text) fill(source, ...yamlPart(object, (text = yamlOf(object))))
    } catch (error) {
      text = ''
      fill(source)
      fill(past, h('p.problem', { role: 'alert' }, messageIn(error)), ...historyPart(pastOf(undefined, ref, mirror)))
    }
  }
  const timer = setInterval(() => void (document.hidden || read()), askEveryMs)
  void read()
  return {
    element: h(
      'section.page.one',
      { 'aria-label': `${ref.kind} ${ref.name}` },
      h('p', {}, h('a', { href: '#', onclick: back }, '← Back')),
      h('div.heading', {}, h('h1', {}, titleOf(ref), ' ', h('small', {}, kindAndPlace(ref)))),
      state,
      past,
      source,
    ),
    show,
    concerns: () => true,
    close: () => clearInterval(timer),
  }
}

/** @param {globalThis.Event} event */
function back(event) {
  event.preventDefault()
  if (history.length > 1) history.back()
  else location.hash = ''
}

/** The Events about these objects, newest first. @param {string} namespace @param {readonly string[]} uids @returns {Promise<Event[]>} */
export async function eventsAbout(namespace, uids) {
  const lists = await Promise.all(
    uids.map((uid) => {
      const query = new URLSearchParams({ fieldSelector: `involvedObject.uid=${uid}` })
      return ask(`/api/v1/namespaces/${namespace}/events?${query}`)
    }),
  )
  const all = /** @type {Event[]} */ (lists.flatMap(({ items }) => items))
  return all.sort((left, right) => (instantOf(right) ?? 0) - (instantOf(left) ?? 0)).slice(0, maxEvents)
}

/** @param {Event} event */
function instantOf({ lastTimestamp, eventTime }) {
  return parseTime(lastTimestamp ?? eventTime)
}

/** A heading and the Events below it. @param {readonly Event[] | undefined} events */
export function eventsPart(events) {
  const now = Date.now()
  return [
    h('h2', {}, 'Events'),
    events?.length === 0 && emptyNote('No Events in the last hour.'),
    events && events.length > 0 && h('ul.events.card', {}, ...events.map((event) => eventLine(event, now))),
  ]
}

/** @param {Event} event @param {number} now */
function eventLine(event, now) {
  const { type, reason, message, involvedObject } = event
  const at = instantOf(event)
  const when = at === undefined ? '' : `, ${formatDistance(at, now)}`
  return h(
    'li',
    {},
    pill(reason, type === 'Warning' ? 'warn' : 'plain'),
    ` ${message} `,
    h('small', { title: exactMoment(at) }, `${involvedObject.kind} ${involvedObject.name}${when}`),
  )
}

/** What Sojourn says of the object, and what the user may do. @param {Ref} ref @param {{ mirror: Mirror, rights: Rights }} parts */
function stateCard(ref, { mirror, rights }) {
  const now = Date.now()
  const isIt = (/** @type {Ref} */ { kind, namespace, name }) =>
    kind === ref.kind && (namespace ?? '') === (ref.namespace ?? '') && name === ref.name
  const item = managedItemsOf(mirror, now).find(({ object }) => isIt(object))
  if (!item) return false
  const { system, state, why, next } = item
  const when = next?.at === undefined ? '' : ` (${formatMoment(next.at)})`
  const environment = ref.kind === 'Environment' && mirror.find('environments', ref.namespace, ref.name)
  const pipeline = ref.kind === 'Pipeline' && mirror.find('pipelines', ref.namespace, ref.name)
  return h(
    'article.card.wide',
    { 'aria-label': 'State' },
    h(
      'header',
      {},
      h('p.big', {}, next ? `${nextText(next, now)}${when}` : 'nothing planned'),
      pill(state, toneOf(state)),
    ),
    factList([
      ['Managed by', system],
      ['Why', withReadableTimes(why)],
    ]),
    environment && h('div.actions', {}, ...actionsFor(environment, { mirror, rights })),
    pipeline && actionsOfPipeline(pipeline, rights),
  )
}

/** @param {any} object @param {string} yaml */
function yamlPart(object, yaml) {
  const { apiVersion, kind, metadata } = object
  const ref = { apiVersion, kind, namespace: metadata.namespace, name: metadata.name, uid: metadata.uid }
  const copy = () =>
    void navigator.clipboard.writeText(yaml).then(
      () => notify('Copied.'),
      (error) => notify(messageIn(error), 'bad'),
    )
  return [
    h(
      'div.heading',
      {},
      h('h2', {}, 'YAML'),
      h(
        'div.actions',
        {},
        actionButton('What would be deleted with it?', () => openCascade(ref)),
        h('button', { type: 'button', onclick: copy }, 'Copy'),
      ),
    ),
    h('pre.yaml.card', { tabIndex: 0, role: 'region', 'aria-label': 'YAML' }, yaml),
  ]
}

/** @param {readonly Past[]} past */
function historyPart(past) {
  const line = (/** @type {Past} */ { at, what }) => h('li', {}, timeOf(at, formatMoment(at)), ` ${what}`)
  return [
    h('h2', {}, 'History'),
    past.length === 0 ? emptyNote('Nothing is known of its past.') : h('ul.events.card', {}, ...past.map(line)),
  ]
}

/** What is known of an object's past, newest first: from its status, and from records of deletions. @param {any} object @param {Ref} ref @param {Mirror} mirror */
function pastOf(object, ref, mirror) {
  /** @type {Past[]} */
  const past = []
  const add = (/** @type {unknown} */ text, /** @type {string} */ what) => {
    const at = parseTime(text)
    if (at !== undefined) past.push({ at, what })
  }
  const { conditions = [], timeline = [], notices = [], environments = {}, markedAt } = object?.status ?? {}
  add(object?.metadata.creationTimestamp, 'created')
  add(markedAt, 'marked for deletion')
  for (const { type, status, reason, lastTransitionTime } of conditions)
    add(lastTransitionTime, `${type} became ${status}${reason ? `: ${reason}` : ''}`)
  for (const { at, power } of timeline) add(at, power === 'Asleep' ? 'put to sleep' : 'woken')
  for (const { at, recipient, channel, error } of notices)
    add(at, error ? `notice failed: ${error}` : `notice sent to ${recipient ?? channel}`)
  for (const [name, { history: promotions = [] }] of Object.entries(environments))
    for (const { endedAt, phase, revision } of promotions) add(endedAt, `${phase}: ${revision} in ${name}`)
  for (const { spec, status } of mirror.all('departures')) {
    const { kind, namespace, name } = spec.object
    if (kind !== ref.kind || (namespace ?? '') !== (ref.namespace ?? '') || name !== ref.name) continue
    add(
      status?.goneAt,
      `deleted by ${spec.by.object ? `${spec.by.object.kind} ${spec.by.object.name}` : spec.by.system}`,
    )
    add(status?.restoredAt, 'restored')
  }
  return past.sort((left, right) => right.at - left.at).slice(0, maxHistory)
}
