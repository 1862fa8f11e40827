/** @import { CleanupCandidate } from '../../src/apis/cleanup-candidate.ts' */
/** @import { CleanupOptOut } from '../../src/apis/cleanup-opt-out.ts' */
/** @import { Mirror } from '../mirror.js' */
/** @import { Resource } from '../opt-outs.js' */
/** @import { Rights } from './cards.js' */
import { confirm } from '../dialogs.js'
import { factList, h } from '../dom.js'
import { endOptOut, liveOptOut, optOut } from '../opt-outs.js'
import { nextOfMark, notifiedText } from '../managed-items.js'
import { isHere, objectHref } from '../objects.js'
import { exactMoment, formatMoment, nextText, parseTime, withReadableTimes } from '../time.js'
import { toneOf } from '../tones.js'
import { actionButton, cardHead, cardsView, kindAndPlace } from './cards.js'
import { openCascade } from './dependencies.js'

const over = new Set(['Deleted', 'Unmarked'])

/** Objects that cleanup policies have marked for deletion, and their opt-outs. @param {{ mirror: Mirror }} parts */
export function cleanupView({ mirror }) {
  return cardsView({
    title: 'Cleanup',
    lead: 'Objects marked by cleanup policies: who was notified, and when they are deleted. Opt out to keep an object from being deleted by any system.',
    empty: [
      'Nothing is marked for deletion.',
      'Create a CleanupPolicy to find unused objects; it notifies their owners before it deletes them.',
    ],
    lists: ['candidates', 'optOuts'],
    mirror,
    items: () =>
      mirror
        .all('candidates')
        .filter(({ status }) => !over.has(status?.phase ?? ''))
        .sort((left, right) => deletedAt(left) - deletedAt(right)),
    card: (candidate, rights) => markCard(candidate, { mirror, rights }),
    namespaceOf: ({ spec }) => spec.resource.namespace,
    ownerOf: ({ status }) => status?.owner?.address,
    textOf: ({ spec, status }) =>
      `${spec.resource.kind}/${spec.resource.name} ${spec.resource.namespace ?? ''} ${spec.policy} ${status?.phase ?? ''} ${status?.owner?.address ?? ''}`,
  })
}

/** @type {WeakMap<CleanupCandidate, number>} */
const instants = new WeakMap()

/** @param {CleanupCandidate} candidate */
function deletedAt(candidate) {
  let at = instants.get(candidate)
  if (at === undefined) {
    at = nextOfMark(candidate)?.at ?? Infinity
    instants.set(candidate, at)
  }
  return at
}

/** @param {CleanupCandidate} candidate @param {{ mirror: Mirror, rights: Rights }} parts */
function markCard(candidate, { mirror, rights }) {
  const { spec, status = {} } = candidate
  const { resource } = spec
  const next = spec.hold ? undefined : nextOfMark(candidate)
  const optedOut = liveOptOut(mirror.all('optOuts'), resource, Date.now())
  const state = optedOut ? 'OptedOut' : (status.phase ?? 'Marked')
  const isKept = optedOut !== undefined || status.phase === 'OptedOut'
  const rules = status.summaries?.map(({ description }) => description).join('; ')
  /** @type {[string, string][]} */
  const facts = [
    ['Owner', status.owner?.address ?? 'none found'],
    ['Policy', spec.policy],
    ['Notified', [notifiedText(status) || 'not yet', notifiedAt(status)].filter(Boolean).join(', ')],
    ['Why', rules || status.because || 'not known'],
  ]
  if (status.message) facts.push(['Message', withReadableTimes(status.message)])
  if (optedOut?.spec.requestedBy) facts.push(['Opted out by', optedOut.spec.requestedBy])
  if (optedOut?.spec.reason) facts.push(['Reason', optedOut.spec.reason])
  const about = `${resource.name}${placeOf(resource)}`
  const askOptIn = () => optedOut && confirmOptIn(optedOut, candidate, mirror)
  return h(
    'article.card',
    { 'aria-label': `${resource.kind} ${about}` },
    cardHead(
      resource,
      `${kindAndPlace(resource)}${placeOf(resource)}`,
      [state, optedOut ? 'good' : toneOf(state)],
      isHere(resource) ? objectHref(resource) : undefined,
    ),
    isKept ? h('p.big', {}, 'kept by an opt-out') : nextLine(next, spec.hold),
    factList(facts),
    h(
      'div.actions',
      {},
      isHere(resource) && actionButton('Dependencies', () => openCascade(resource), { about: `of ${about}` }),
      optedOut
        ? actionButton('End opt-out', askOptIn, {
            about: `of ${about}`,
            denied: rights.denied({ ...optOuts, verb: 'patch' }),
          })
        : optOutButton(candidate, { mirror, rights }),
    ),
  )
}

const optOuts = { group: 'sojourn.dev', resource: 'cleanupoptouts' }

/** @param {CleanupCandidate} candidate @param {{ mirror: Mirror, rights: Rights }} parts */
export function optOutButton(candidate, { mirror, rights }) {
  const { resource } = candidate.spec
  const about = `${resource.name}${placeOf(resource)}`
  const denied = rights.denied({ ...optOuts, verb: 'create' })
  return actionButton('Opt out', () => confirmOptOut(candidate, mirror), { tone: 'primary', about, denied })
}

/** @param {NonNullable<CleanupCandidate['status']>} status */
function notifiedAt({ notices = [] }) {
  const last = notices.findLast(({ error, kind }) => error === undefined && kind !== 'none' && kind !== 'copy')
  return last && formatMoment(parseTime(last.at))
}

/** @param {ReturnType<typeof nextOfMark>} next @param {boolean | undefined} isHeld */
function nextLine(next, isHeld) {
  if (next?.at === undefined) return h('p.big', {}, isHeld ? 'on hold' : 'no date yet')
  return h('p.big', { title: exactMoment(next.at) }, nextText(next, Date.now()))
}

/** What happens at the date of a mark, as a sentence. @param {CleanupCandidate} candidate @param {string} otherwise */
function dueText(candidate, otherwise) {
  const { at } = nextOfMark(candidate) ?? {}
  return at === undefined ? otherwise : `deleted at ${formatMoment(Math.max(at, Date.now()))}`
}

/** @param {CleanupCandidate} candidate @param {Mirror} mirror */
function confirmOptOut(candidate, mirror) {
  const { resource } = candidate.spec
  const path = [resource.kind.toLowerCase(), resource.namespace, resource.name].filter(Boolean).join('/')
  confirm({
    title: `Opt out ${resource.name}?`,
    text: `No system deletes ${resource.kind} ${resource.name}${placeOf(resource)} until the opt-out is ended. Without it, it is ${dueText(candidate, 'deleted when it is due')}.`,
    action: 'Opt out',
    reason: 'Reason',
    ...(isHere(resource) ? { whatIf: { namespace: resource.namespace, assume: [`opt-out:${path}`] } } : {}),
    async run(reason) {
      await optOut(mirror, resource, reason)
      return `${resource.name} is opted out: no system deletes it`
    },
  })
}

/** @param {CleanupOptOut} optOut @param {CleanupCandidate} candidate @param {Mirror} mirror */
function confirmOptIn(optOut, candidate, mirror) {
  const { resource } = candidate.spec
  confirm({
    title: `End the opt-out of ${resource.name}?`,
    text: `It may be deleted again: ${dueText(candidate, 'when it is due, after its owner was notified')}.`,
    action: 'End opt-out',
    tone: 'danger',
    async run() {
      await endOptOut(mirror, optOut)
      return `${resource.name} may be deleted again`
    },
  })
}

/** The cluster or account of a resource that is not in this cluster. @param {Resource} resource */
function placeOf({ cluster, account, region }) {
  const place = cluster ?? [account, region].filter(Boolean).join(', ')
  return place ? ` in ${place}` : ''
}
