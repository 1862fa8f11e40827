import { workSchedule, type WorkSchedule, type WorkScheduleSpec } from '../apis/work-schedule.ts'
import { formatTime, when } from '../kube/time.ts'
import { windowState } from '../apis/work-window.ts'
import { namespaces } from '../kube/core-types.ts'
import type { StoredObject } from '../kube/object.ts'
import { annotation } from '../systems/activator/model/annotations.ts'
import {
  annotatedSleep,
  asleepSince,
  isExcluded,
  type AnnotatedSleep,
} from '../systems/activator/model/sleep-annotations.ts'
import type { RuledSleep } from '../systems/activator/views/service-state.ts'
import type { ManagedItem } from './managed-items.ts'
import type { Reader } from './reader.ts'

/** What annotations say about the sleep of an object. */
interface SaidSleep {
  /** Its own sleep rule, or that of its Namespace; `excluded` from all. */
  readonly rule: AnnotatedSleep | 'excluded' | undefined
  /** Whose hours count: ` of namespace team`, or nothing for its own. */
  readonly whose: string
}

async function saidSleepOf(reader: Reader, object: StoredObject): Promise<SaidSleep> {
  const { namespace, name } = object.metadata
  const space = namespace === undefined ? undefined : await reader.peek<StoredObject>(namespaces, { name: namespace })
  const [own, shared] = [annotatedSleep(object), space && annotatedSleep(space)]
  const whose = own?.awake ? '' : ` of namespace ${namespace ?? name}`
  if (!own && !shared) return { rule: undefined, whose }
  if (isExcluded(object) || (space && isExcluded(space))) return { rule: 'excluded', whose }
  return { rule: { awake: own?.awake ?? shared?.awake, byHand: own?.byHand ?? shared?.byHand }, whose }
}

/** What the sleep rule of annotations says of a workload at a time. */
export async function ruledSleepOf(reader: Reader, workload: StoredObject, now: number): Promise<RuledSleep> {
  const { rule } = await saidSleepOf(reader, workload)
  if (!rule || rule === 'excluded') return {}
  const schedule = await scheduleOf(reader, rule.awake)
  return { byHand: rule.byHand, ...(schedule ? { window: windowState(schedule, now) } : {}) }
}

/** A Namespace whose annotations put everything in it to sleep: what they want now, and until when. */
export async function namespaceItem(
  reader: Reader,
  space: StoredObject,
  now: number,
): Promise<ManagedItem | undefined> {
  const said = annotatedSleep(space)
  if (!said || isExcluded(space)) return undefined
  const [why = 'No sleep rule applies to it now', ...more] = [
    ...byHand(said.byHand, now),
    ...(await hours(reader, said.awake, '', now)),
  ]
  const schedule = await scheduleOf(reader, said.awake)
  const window = schedule && windowState(schedule, now)
  const hand = said.byHand && said.byHand.until > now ? said.byHand : undefined
  const isAsleep = hand ? hand.power === 'Asleep' : window?.open === false
  const at = hand?.until ?? (window?.open ? window.until : window?.nextOpenAt)
  const what = isAsleep ? 'wakes' : 'falls asleep'
  return {
    object: { apiVersion: 'v1', kind: 'Namespace', name: space.metadata.name },
    system: 'activator',
    state: isAsleep ? 'Asleep' : 'Awake',
    // What follows the hand is what the hours then say.
    ...(at === undefined || hand ? {} : { next: { what, at } }),
    why: `${[why, ...more].join('. ')}.`,
  }
}

/** Why a workload or a Namespace sleeps or is awake by its annotations, and when that changes. */
export async function explainSleep(reader: Reader, object: StoredObject, now: number): Promise<readonly string[]> {
  const { annotations = {} } = object.metadata
  const since = asleepSince(object)
  const contended = annotations[annotation.contended]
  const state = [
    ...(since === undefined ? [] : [`Asleep since ${formatTime(since)}${formerText(object)}`]),
    ...(contended === undefined ? [] : [`Contended: ${contended}`]),
  ]
  const { rule, whose } = await saidSleepOf(reader, object)
  if (!rule) return state
  if (rule === 'excluded') return [`${annotation.sleep} excludes it from every sleep rule`]
  return [...state, ...byHand(rule.byHand, now), ...(await hours(reader, rule.awake, whose, now))]
}

/** Kinds that are switched off have no number of replicas. */
function formerText({ spec, metadata: { annotations = {} } }: StoredObject): string {
  const former = annotations[annotation.formerReplicas]
  if (former === undefined || !('replicas' in ((spec ?? {}) as object))) return ''
  return `; it had ${former === '1' ? 'one replica' : `${former} replicas`}`
}

function byHand(hand: AnnotatedSleep['byHand'], now: number): readonly string[] {
  if (!hand || hand.until <= now) return []
  return [`${hand.power === 'Awake' ? 'Kept awake' : 'Put to sleep'} by hand until ${formatTime(hand.until)}`]
}

async function hours(
  reader: Reader,
  awake: AnnotatedSleep['awake'],
  whose: string,
  now: number,
): Promise<readonly string[]> {
  if (!awake) return []
  const schedule = await scheduleOf(reader, awake)
  if (!schedule) return [`It stays awake: there is no WorkSchedule "${'schedule' in awake ? awake.schedule : ''}"`]
  const state = windowState(schedule, now)
  if (state.open) return [`The awake hours${whose} end ${when(state.until, now)}; then it sleeps`]
  const next = state.nextOpenAt === undefined ? 'do not begin again' : `begin ${when(state.nextOpenAt, now)}`
  return [`Outside the awake hours${whose}, which ${next}`]
}

async function scheduleOf(reader: Reader, awake: AnnotatedSleep['awake']): Promise<WorkScheduleSpec | undefined> {
  if (!awake) return undefined
  if ('hours' in awake) return awake.hours
  return (await reader.peek<WorkSchedule & StoredObject>(workSchedule.type, { name: awake.schedule }))?.spec
}
