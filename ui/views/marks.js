/** @import { CleanupCandidate } from '../../src/apis/cleanup-candidate.ts' */
/** @import { CleanupOptOut } from '../../src/apis/cleanup-opt-out.ts' */
/** @import { Mirror } from '../mirror.js' */
/** @import { Resource } from '../opt-outs.js' */
import { confirm } from '../dialogs.js'
import { factList, h } from '../dom.js'
import { endSparing, spare, sparing } from '../opt-outs.js'
import { nextOfMark, told } from '../stays.js'
import { formatAhead, formatMoment, parseTime } from '../time.js'
import { toneOf } from './board.js'
import { actionButton, cardHead, cardsView, kindAndPlace } from './cards.js'
import { openCascade } from './cascade.js'

const over = new Set(['Deleted', 'Unmarked'])

/** What the janitor has marked: whose it is, when it leaves, and how to spare it. @param {{ mirror: Mirror }} parts */
export function marksView({ mirror }) {
  return cardsView({
    title: 'Marks',
    lead: 'What a policy wants gone, who was told, and when it leaves. An opt-out spares it from every system.',
    empty: ['Nothing is marked.', 'A CleanupPolicy marks what nobody uses, and tells its owner first.'],
    lists: ['candidates', 'optOuts'],
    mirror,
    items: () =>
      mirror
        .all('candidates')
        .filter(({ status }) => !over.has(status?.phase ?? ''))
        .sort((left, right) => leavesAt(left) - leavesAt(right)),
    card: (candidate) => markCard(candidate, mirror),
    textOf: ({ spec, status }) =>
      `${spec.resource.kind}/${spec.resource.name} ${spec.resource.namespace ?? ''} ${spec.policy} ${status?.phase ?? ''} ${status?.owner?.address ?? ''}`,
  })
}

/** @type {WeakMap<CleanupCandidate, number>} */
const instants = new WeakMap()

/** @param {CleanupCandidate} candidate */
function leavesAt(candidate) {
  let at = instants.get(candidate)
  if (at === undefined) {
    at = nextOfMark(candidate)?.at ?? Infinity
    instants.set(candidate, at)
  }
  return at
}

/** @param {CleanupCandidate} candidate @param {Mirror} mirror */
function markCard(candidate, mirror) {
  const { spec, status = {} } = candidate
  const { resource } = spec
  const next = spec.hold ? undefined : nextOfMark(candidate)
  const spared = sparing(mirror.all('optOuts'), resource, Date.now())
  const state = spared ? 'Spared' : (status.phase ?? 'Marked')
  const isStaying = spared !== undefined || status.phase === 'OptedOut'
  const rules = status.summaries?.map(({ description }) => description).join('; ')
  /** @type {[string, string][]} */
  const facts = [
    ['Owner', status.owner?.address ?? 'nobody was found'],
    ['Policy', spec.policy],
    ['Told', [told(status) || 'nobody', toldAt(status)].filter(Boolean).join(', ')],
    ['Why', rules || status.because || 'unknown'],
  ]
  if (spared?.spec.requestedBy) facts.push(['Spared by', spared.spec.requestedBy])
  if (spared?.spec.reason) facts.push(['Spared because', spared.spec.reason])
  const about = `${resource.name}${placeOf(resource)}`
  const isHere = resource.provider === 'kubernetes' && !resource.cluster
  const optIn = () => spared && confirmOptIn(spared, resource, mirror)
  const optOut = () => confirmOptOut(resource, mirror)
  return h(
    'article.card',
    { 'aria-label': `${resource.kind} ${about}` },
    cardHead(resource, `${kindAndPlace(resource)}${placeOf(resource)}`, [state, spared ? 'good' : toneOf(state)]),
    isStaying ? h('p.big', {}, 'stays') : nextLine(next, spec.hold),
    factList(facts),
    h(
      'div.actions',
      {},
      isHere && actionButton('Cascade', () => openCascade(resource), { about: `of ${about}` }),
      spared
        ? actionButton('End opt-out', optIn, { about: `of ${about}` })
        : actionButton('Opt out', optOut, { tone: 'primary', about }),
    ),
  )
}

/** @param {NonNullable<CleanupCandidate['status']>} status */
function toldAt({ notices = [] }) {
  const last = notices.findLast(({ error, kind }) => error === undefined && kind !== 'none' && kind !== 'copy')
  return last && formatMoment(parseTime(last.at))
}

/** @param {{ what: string, at?: number } | undefined} next @param {boolean | undefined} isHeld */
function nextLine(next, isHeld) {
  if (next?.at === undefined) return h('p.big', {}, isHeld ? 'stays while it is on hold' : 'no date yet')
  return h('p.big', { title: formatMoment(next.at) }, `${next.what} ${formatAhead(next.at, Date.now())}`)
}

/** @param {Resource} resource @param {Mirror} mirror */
function confirmOptOut(resource, mirror) {
  confirm({
    title: `Spare ${resource.name}?`,
    text: `No system deletes ${resource.kind} ${resource.name}${placeOf(resource)} until the opt-out is ended.`,
    action: 'Opt out',
    reason: 'Why, for those who find it later',
    async run(reason) {
      await spare(mirror, resource, reason)
      return `${resource.name} stays: no system deletes it`
    },
  })
}

/** @param {CleanupOptOut} optOut @param {Resource} resource @param {Mirror} mirror */
function confirmOptIn(optOut, resource, mirror) {
  confirm({
    title: `End the opt-out of ${resource.name}?`,
    text: 'It is subject to cleanup again, and may leave when its time is up.',
    action: 'End opt-out',
    tone: 'danger',
    async run() {
      await endSparing(mirror, optOut)
      return `${resource.name} is subject to cleanup again`
    },
  })
}

/** Where it is, of what is not in this cluster. @param {Resource} resource */
function placeOf({ cluster, account, region }) {
  const place = cluster ?? [account, region].filter(Boolean).join(', ')
  return place ? ` in ${place}` : ''
}
