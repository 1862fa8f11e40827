import { workSchedule, type WorkSchedule } from '../apis/work-schedule.ts'
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
import type { Reader } from './reader.ts'

/** Why a workload or a Namespace sleeps or is awake by its annotations, and when that changes. */
export async function explainSleep(reader: Reader, object: StoredObject, now: number): Promise<readonly string[]> {
  const { namespace, annotations = {} } = object.metadata
  const since = asleepSince(object)
  const contended = annotations[annotation.contended]
  const state = [
    ...(since === undefined
      ? []
      : [`Asleep since ${formatTime(since)}; it had ${annotations[annotation.formerReplicas]} replicas`]),
    ...(contended === undefined ? [] : [`Contended: ${contended}`]),
  ]
  const space = namespace === undefined ? undefined : await reader.get<StoredObject>(namespaces, { name: namespace })
  const [own, shared] = [annotatedSleep(object), space && annotatedSleep(space)]
  if (!own && !shared) return state
  if (isExcluded(object) || (space && isExcluded(space)))
    return [`${annotation.sleep} excludes it from every sleep rule`]
  const awake = own?.awake ?? shared?.awake
  const whose = own?.awake ? '' : ` of namespace ${namespace ?? object.metadata.name}`
  return [...state, ...byHand(own?.byHand ?? shared?.byHand, now), ...(await hours(reader, awake, whose, now))]
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
  const schedule =
    'hours' in awake
      ? awake.hours
      : (await reader.get<WorkSchedule & StoredObject>(workSchedule.type, { name: awake.schedule }))?.spec
  if (!schedule) return [`It stays awake: there is no WorkSchedule "${'schedule' in awake ? awake.schedule : ''}"`]
  const state = windowState(schedule, now)
  if (state.open) return [`The awake hours${whose} end ${when(state.until, now)}; then it sleeps`]
  const next = state.nextOpenAt === undefined ? 'do not begin again' : `begin ${when(state.nextOpenAt, now)}`
  return [`Outside the awake hours${whose}, which ${next}`]
}
