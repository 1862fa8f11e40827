import { configMaps } from '../kube/core-types.ts'
import { cleanupCandidate, type CleanupCandidate } from '../apis/cleanup-candidate.ts'
import { departurePage, type DeparturePage } from '../apis/departure-page.ts'
import { departure, type DepartureSpec } from '../apis/departure.ts'
import { pipeline, type Pipeline } from '../apis/pipeline.ts'
import type { Promotion } from '../apis/pipeline-status.ts'
import type { StoreEvent } from '../apiserver/store/store.ts'
import { circuitPrefix, doorStateName } from '../departures/door/door-state.ts'
import { read as readPage } from '../departures/records/page-text.ts'
import { groupResource, refOf, type KubeObject, type ObjectRef, type StoredObject, placeOf } from '../kube/object.ts'
import { dueSentences } from '../systems/environments/decision/describe.ts'
import { sentenceFor } from '../systems/janitor/model/because.ts'
import { sentenceOf, type Because } from '../apis/pipeline-reasons.ts'
import type { ForecastEvent, EventType } from './event.ts'

type Translate = (event: StoreEvent, at: number) => readonly ForecastEvent[]

/** The forecast events that a write to the copy stands for; none for most writes. */
export function eventsIn(change: StoreEvent, at: number): readonly ForecastEvent[] {
  const translate = translators[change.resource] ?? scaleEvents
  return translate(change, at)
}

const translators: Readonly<Record<string, Translate>> = {
  [groupResource(departure.type)]: departureEvents,
  [groupResource(departurePage.type)]: dependentEvents,
  [groupResource(cleanupCandidate.type)]: candidateEvents,
  [groupResource(pipeline.type)]: promotionEvents,
  [groupResource(configMaps)]: breakerEvents,
}

function departureEvents({ type, document }: StoreEvent, at: number): readonly ForecastEvent[] {
  const { spec } = document.value as unknown as { spec: DepartureSpec }
  if (type !== 'create') return []
  const { cluster, apiVersion, kind, namespace, name } = spec.object
  const { system, object: rule } = spec.by
  return [
    {
      at,
      what: 'leaves',
      system,
      object: { apiVersion, kind, ...placeOf({ name, namespace }), ...(cluster ? { cluster } : {}) },
      because: spec.because,
      why: departureSentences[spec.because] ?? spec.because,
      ...(rule ? { by: `${rule.kind}/${rule.name}` } : {}),
      // What other Cleaners delete at the same time is on its record, and is not deleted because of it.
      ...(spec.takes === undefined || spec.because === 'expired-together' ? {} : { takes: spec.takes }),
    },
  ]
}

/** A page of a record lists what is deleted with the object: each is an event of its own. */
function dependentEvents({ type, document }: StoreEvent, at: number): readonly ForecastEvent[] {
  const { metadata, spec } = document.value as unknown as DeparturePage
  if (type !== 'create') return []
  return readPage(spec.manifests).map(({ manifest, decidedBy }) => ({
    at,
    what: 'leaves' as const,
    system: metadata.labels?.['sojourn.dev/system'] as ForecastEvent['system'],
    object: refOf(manifest),
    ...(decidedBy === undefined
      ? { because: 'owners-gone', why: `it is deleted with the object of record ${spec.of}` }
      : { ...decided(manifest, decidedBy), by: decidedBy }),
  }))
}

/** Why one of the objects of a record with several decisions is deleted. */
function decided({ kind, metadata }: KubeObject, decidedBy: string) {
  const because = `${kind}/${metadata.name}` === decidedBy ? 'conditions-met' : 'target'
  return { because, why: departureSentences[because] ?? because }
}

const departureSentences: Readonly<Record<string, string>> = {
  target: 'its Cleaner’s time is up and its conditions hold',
  'conditions-met': 'its time is up and its conditions hold',
  'expired-together': 'its time is up and its conditions hold',
  release: 'its Helm release is uninstalled',
  'requirement-gone': 'its dependency is deleted',
  'owners-gone': 'all its owners are deleted',
  deleted: 'a user deletes it',
  ...dueSentences,
}

function candidateEvents({ type, document, previous }: StoreEvent, at: number): readonly ForecastEvent[] {
  const { spec, status } = document.value as unknown as CleanupCandidate
  const before = (previous?.value as unknown as CleanupCandidate | undefined)?.status?.phase
  const phase = status?.phase
  if (type === 'delete' || !phase || phase === before) return []
  const what = phase === 'Marked' ? 'marked' : phase === 'Unmarked' || phase === 'OptedOut' ? 'spared' : undefined
  if (!what) return []
  const { because = 'violates', summaries = [] } = status
  const reasons = summaries.map(({ description }) => description).join('; ')
  return [
    {
      at,
      what,
      system: 'janitor',
      object: resourceRef(spec.resource),
      because,
      why: what === 'marked' && reasons ? reasons : sentenceFor(because),
      by: `CleanupPolicy/${spec.policy}`,
    },
  ]
}

/** The object that a candidate names. For a cloud resource, `cluster` holds provider, account and region. */
export function resourceRef(resource: CleanupCandidate['spec']['resource']): ForecastEvent['object'] {
  const { provider, cluster, account, region, apiVersion, kind, namespace, name } = resource
  const place = provider === 'kubernetes' ? cluster : [provider, account, region].filter(Boolean).join('/')
  return { apiVersion, kind, ...placeOf({ name, namespace }), ...(place ? { cluster: place } : {}) }
}

/** Phases that are not listed, such as those between two attempts, are no event for a reader. */
const phaseMeanings: Readonly<Partial<Record<Promotion['phase'], EventType>>> = {
  Gated: 'waits',
  AwaitingApproval: 'waits',
  Intended: 'promotes',
  Proposed: 'waits',
  Notified: 'told',
  Succeeded: 'arrives',
  Rejected: 'fails',
  Superseded: 'fails',
  Failed: 'fails',
}

function promotionEvents({ type, document, previous }: StoreEvent, at: number): readonly ForecastEvent[] {
  if (type === 'delete') return []
  const object = document.value as unknown as Pipeline & StoredObject
  const before = (previous?.value as unknown as Pipeline | undefined)?.status?.environments ?? {}
  return Object.entries(object.status?.environments ?? {}).flatMap(([environment, { promotion, gates = [] }]) => {
    const former = before[environment]?.promotion
    if (!promotion || (former?.id === promotion.id && former.phase === promotion.phase)) return []
    const what = phaseMeanings[promotion.phase]
    if (!what) return []
    const { because, revision, strategy, pullRequest } = promotion
    const closed = promotion.phase === 'Gated' ? gates.filter(({ state }) => state !== 'Open') : []
    const reasons = closed.map(({ reason, message }) => message ?? sentenceOf(reason as Because))
    return [
      {
        at,
        what,
        system: 'promoter' as const,
        object: refOf(object),
        because: closed[0]?.reason ?? because,
        why: reasons.join('; ') || sentenceOf(because as Because),
        environment,
        revision,
        ...(what === 'told' || pullRequest ? { to: [strategy?.url ?? 'Events of the pipeline'] } : {}),
        ...(strategy ? { channel: strategy.kind } : {}),
      },
    ]
  })
}

function breakerEvents({ name, document, previous }: StoreEvent, at: number): readonly ForecastEvent[] {
  if (name !== doorStateName) return []
  const [data, before] = [dataOf(document.value), dataOf(previous?.value)]
  const opened = Object.entries(data).flatMap(([key, value]) =>
    key.startsWith(circuitPrefix) && before[key] === undefined ? [`${value}; nothing is deleted there`] : [],
  )
  if (data.breaker === 'open' && before.breaker !== 'open') opened.push(`${data.because ?? ''}; nothing is deleted`)
  const event = { at, what: 'halts', system: 'user', object: refOf(document.value), because: 'breaker-open' } as const
  return opened.map((why) => ({ ...event, why: `${why} until a user closes the circuit breaker` }))
}

function dataOf(object: StoredObject | undefined): Readonly<Record<string, string>> {
  return (object?.data ?? {}) as Readonly<Record<string, string>>
}

/** In a copy only the activator changes replicas: no user and no autoscaler acts there. */
function scaleEvents({ type, document, previous }: StoreEvent, at: number): readonly ForecastEvent[] {
  if (type !== 'update' || !previous) return []
  const [from, to] = [replicasOf(previous.value), replicasOf(document.value)]
  if (from === undefined || to === undefined || from === to) return []
  const object: ObjectRef = refOf(document.value)
  const common = { at, system: 'activator', object } as const
  const what = to < from ? 'sleeps' : 'wakes'
  return [{ ...common, what, because: what, why: `${from} → ${to} replicas` }]
}

function replicasOf({ spec }: StoredObject): number | undefined {
  const { replicas } = (spec ?? {}) as { readonly replicas?: unknown }
  return typeof replicas === 'number' ? replicas : undefined
}
