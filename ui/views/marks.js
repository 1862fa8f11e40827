import { ask, patch, unlessThere } from '../api.js'
import { confirm } from '../dialogs.js'
import { h, pill } from '../dom.js'
import { formatDistance, formatMoment, parseTime } from '../time.js'
import { toneOf } from './board.js'
import { cardsView } from './cards.js'
import { openCascade } from './cascade.js'

const over = new Set(['Deleted', 'Unmarked'])
const optOuts = '/apis/sojourn.dev/v1alpha1/cleanupoptouts'

/** What the janitor has marked: whose it is, when it leaves, and how to spare it. */
export function marksView({ mirror }) {
  return cardsView({
    title: 'Marks',
    lead: 'What a policy wants gone, who was told, and when it leaves. An opt-out spares it from every system.',
    empty: 'Nothing is marked.',
    lists: ['candidates', 'optOuts'],
    mirror,
    items: () =>
      mirror
        .all('candidates')
        .filter(({ status }) => !over.has(status?.phase))
        .sort((left, right) => leavesAt(left) - leavesAt(right)),
    card: (candidate) => markCard(candidate, mirror),
  })
}

function leavesAt({ status }) {
  return parseTime(status?.projectedDeletionTime) ?? Infinity
}

function markCard({ spec, status = {} }, mirror) {
  const { resource } = spec
  const at = parseTime(status.projectedDeletionTime)
  const spared = optOutOf(resource, mirror)
  const state = spared ? 'Spared' : (status.phase ?? 'Marked')
  const rules = status.summaries?.map(({ description }) => description) ?? []
  const facts = [
    ['Owner', status.owner ? `${status.owner.address}` : 'nobody was found'],
    ['Policy', spec.policy],
    [
      'Told',
      status.notices?.length
        ? `${status.notices.length}×, last ${formatMoment(parseTime(status.notices.at(-1).at))}`
        : 'not yet',
    ],
    ['Why', rules.join('; ') || status.because || 'unknown'],
  ]
  if (spared?.spec.reason) facts.push(['Spared because', spared.spec.reason])
  return h(
    'article.card',
    {},
    h(
      'header',
      {},
      h(
        'div.who',
        {},
        h('strong', {}, resource.name),
        h('small', {}, `${resource.kind}${resource.namespace ? ` · ${resource.namespace}` : ''}`),
      ),
      pill(state, spared ? 'good' : toneOf(state)),
    ),
    h('p.big', {}, spared ? 'stays' : at === undefined ? 'no date yet' : `leaves ${formatDistance(at, Date.now())}`),
    h('dl.facts', {}, ...facts.flatMap(([term, text]) => [h('dt', {}, term), h('dd', {}, text)])),
    h(
      'div.actions',
      {},
      h('button', { type: 'button', onclick: () => openCascade(resource) }, 'Cascade'),
      spared
        ? h('button', { type: 'button', onclick: () => confirmOptIn(spared, resource, mirror) }, 'End opt-out')
        : h('button.primary', { type: 'button', onclick: () => confirmOptOut(resource, mirror) }, 'Opt out'),
    ),
  )
}

/** An opt-out that still holds for this very resource. */
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

function nameFor({ kind, namespace, name }) {
  return [kind, namespace, name]
    .filter(Boolean)
    .join('.')
    .toLowerCase()
    .replaceAll(/[^a-z0-9.-]/g, '-')
    .slice(0, 250)
}

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

/** An opt-out that was ended stays as a trace under its name; sparing the resource again revives it. */
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

function confirmOptIn({ metadata }, resource, mirror) {
  confirm({
    title: `End the opt-out of ${resource.name}?`,
    text: 'It is subject to cleanup again, and may leave when its time is up.',
    action: 'End opt-out',
    tone: 'danger',
    async run() {
      const ended = { spec: { expiresAt: new Date().toISOString().replace(/\.\d+Z$/, 'Z') } }
      mirror.put('optOuts', await patch(`${optOuts}/${encodeURIComponent(metadata.name)}`, ended))
      return `${resource.name} is subject to cleanup again`
    },
  })
}
