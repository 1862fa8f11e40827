/** @import { CleanupCandidate } from '../../src/apis/cleanup-candidate.ts' */
/** @import { CleanupOptOut } from '../../src/apis/cleanup-opt-out.ts' */
/** @import { Mirror } from '../mirror.js' */
/** @import { Ref } from '../types.d.ts' */
import { ask, patch, unlessThere } from '../api.js'
import { confirm } from '../dialogs.js'
import { factList, h } from '../dom.js'
import { formatAhead, formatMoment, nowText, parseTime } from '../time.js'
import { toneOf } from './board.js'
import { actionButton, cardHead, cardsView, kindAndPlace } from './cards.js'
import { openCascade } from './cascade.js'

const over = new Set(['Deleted', 'Unmarked'])
const optOuts = '/apis/sojourn.dev/v1alpha1/cleanupoptouts'

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
    at = parseTime(candidate.status?.projectedDeletionTime) ?? Infinity
    instants.set(candidate, at)
  }
  return at
}

/** @param {CleanupCandidate} candidate @param {Mirror} mirror */
function markCard({ spec, status = {} }, mirror) {
  const { resource } = spec
  const at = parseTime(status.projectedDeletionTime)
  const spared = optOutOf(resource, mirror)
  const state = spared ? 'Spared' : (status.phase ?? 'Marked')
  const rules = status.summaries?.map(({ description }) => description).join('; ')
  /** @type {[string, string][]} */
  const facts = [
    ['Owner', status.owner?.address ?? 'nobody was found'],
    ['Policy', spec.policy],
    ['Told', toldText(status.notices ?? [])],
    ['Why', rules || status.because || 'unknown'],
  ]
  if (spared?.spec.reason) facts.push(['Spared because', spared.spec.reason])
  const about = resource.name
  const optIn = () => spared && confirmOptIn(spared, resource, mirror)
  const optOut = () => confirmOptOut(resource, mirror)
  return h(
    'article.card',
    { 'aria-label': `${resource.kind} ${resource.name}` },
    cardHead(resource, kindAndPlace(resource), [state, spared ? 'good' : toneOf(state)]),
    h(
      'p.big',
      { title: formatMoment(at) },
      spared ? 'stays' : at === undefined ? 'no date yet' : `leaves ${formatAhead(at, Date.now())}`,
    ),
    factList(facts),
    h(
      'div.actions',
      {},
      actionButton('Cascade', () => openCascade(resource), { about: `of ${about}` }),
      spared
        ? actionButton('End opt-out', optIn, { about: `of ${about}` })
        : actionButton('Opt out', optOut, { tone: 'primary', about }),
    ),
  )
}

/** @param {readonly { at: string }[]} notices */
function toldText(notices) {
  const last = notices.at(-1)
  return last ? `${notices.length}×, last ${formatMoment(parseTime(last.at))}` : 'not yet'
}

/** An opt-out that still holds for this very resource. @param {Ref} resource @param {Mirror} mirror */
function optOutOf(resource, mirror) {
  return mirror.all('optOuts').find(({ spec }) => {
    const given = spec.resource
    const endsAt = parseTime(spec.expiresAt) ?? Infinity
    return (
      given?.kind === resource.kind &&
      given.name === resource.name &&
      (given.namespace ?? '') === (resource.namespace ?? '') &&
      (!given.uid || given.uid === resource.uid) &&
      endsAt > Date.now()
    )
  })
}

/** @param {Ref} resource */
function nameFor({ kind, namespace, name }) {
  return [kind, namespace, name]
    .filter(Boolean)
    .join('.')
    .toLowerCase()
    .replaceAll(/[^a-z0-9.-]/g, '-')
    .slice(0, 250)
}

/** @param {Ref} resource @param {Mirror} mirror */
function confirmOptOut(resource, mirror) {
  confirm({
    title: `Spare ${resource.name}?`,
    text: `No system deletes ${resource.kind} ${resource.name} until the opt-out is ended.`,
    action: 'Opt out',
    reason: 'Why, for those who find it later',
    async run(reason) {
      mirror.put('optOuts', await writeOptOut(mirror, resource, reason))
      return `${resource.name} stays: no system deletes it`
    },
  })
}

/** An opt-out that was ended stays as a trace under its name; sparing the resource again revives it. @param {Mirror} mirror @param {Ref} resource @param {string} reason */
async function writeOptOut(mirror, resource, reason) {
  const { apiVersion, kind, namespace, name, uid } = resource
  const spec = {
    resource: { apiVersion, kind, name, ...(namespace ? { namespace } : {}), ...(uid ? { uid } : {}) },
    ...(reason ? { reason } : {}),
  }
  const revive = () => patch(`${optOuts}/${nameFor(resource)}`, { spec: { ...spec, expiresAt: null } })
  if (mirror.find('optOuts', '', nameFor(resource))) return revive()
  const body = {
    apiVersion: 'sojourn.dev/v1alpha1',
    kind: 'CleanupOptOut',
    metadata: { name: nameFor(resource) },
    spec,
  }
  return ask(optOuts, { method: 'POST', body }).catch(unlessThere(revive))
}

/** @param {CleanupOptOut} optOut @param {Ref} resource @param {Mirror} mirror */
function confirmOptIn({ metadata }, resource, mirror) {
  confirm({
    title: `End the opt-out of ${resource.name}?`,
    text: 'It is subject to cleanup again, and may leave when its time is up.',
    action: 'End opt-out',
    tone: 'danger',
    async run() {
      const ended = { spec: { expiresAt: nowText() } }
      mirror.put('optOuts', await patch(`${optOuts}/${encodeURIComponent(metadata.name)}`, ended))
      return `${resource.name} is subject to cleanup again`
    },
  })
}
