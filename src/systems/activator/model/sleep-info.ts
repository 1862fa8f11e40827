import { addDays, instantOf, isTimeZone, wallTimeAt, weekdayOf } from '../../../kube/calendar/zoned-time.ts'
import { namespaced } from '../../../kube/core-types.ts'
import type { StoredObject } from '../../../kube/object.ts'
import type { ForeignRule } from './downscaler.ts'

/** Where kube-green keeps its rules. */
export const sleepInfos = namespaced('kube-green.com/v1alpha1', 'SleepInfo')

interface Reference {
  readonly kind?: string
  readonly name?: string
  readonly matchLabels?: Readonly<Record<string, string>>
}

interface SleepInfoSpec {
  readonly weekdays?: string
  readonly sleepAt?: string
  readonly wakeUpAt?: string
  readonly timeZone?: string
  readonly suspendDeployments?: boolean
  readonly suspendStatefulSets?: boolean
  readonly suspendCronJobs?: boolean
  readonly excludeRef?: readonly Reference[]
  readonly includeRef?: readonly Reference[]
  readonly patches?: readonly unknown[]
}

/** The rule of the SleepInfos of a namespace for one of its workloads; undefined if none is about it. */
export function sleepInfoRule(infos: readonly StoredObject[], workload: StoredObject): ForeignRule | undefined {
  const found = infos.map(({ metadata, spec }) => ({ name: metadata.name, spec: (spec ?? {}) as SleepInfoSpec }))
  const about = found.find(({ spec }) => isAbout(spec, workload))
  return about && ruleOf(about.name, about.spec)
}

function isAbout(spec: SleepInfoSpec, { kind, metadata: { name, labels = {} } }: StoredObject): boolean {
  const { suspendDeployments = true, suspendStatefulSets = true, suspendCronJobs = false } = spec
  const kinds = { Deployment: suspendDeployments, StatefulSet: suspendStatefulSets, CronJob: suspendCronJobs }
  const names = (reference: Reference) =>
    reference.matchLabels
      ? Object.entries(reference.matchLabels).every(([key, value]) => labels[key] === value)
      : reference.kind === kind && reference.name === name
  if (!(kinds as Record<string, boolean>)[kind] || spec.excludeRef?.some(names)) return false
  return spec.includeRef === undefined || spec.includeRef.length === 0 || spec.includeRef.some(names)
}

function ruleOf(
  name: string,
  { weekdays = '', sleepAt, wakeUpAt, timeZone = 'UTC', patches = [] }: SleepInfoSpec,
): ForeignRule {
  const days = parseWeekdays(weekdays)
  const [sleeps, wakes] = [minuteOf(sleepAt), minuteOf(wakeUpAt)]
  const fault = !days
    ? `weekdays "${weekdays}" is not like 1-5`
    : sleeps === undefined
      ? `sleepAt "${sleepAt}" is not a time such as 20:00`
      : wakeUpAt !== undefined && wakes === undefined
        ? `wakeUpAt "${wakeUpAt}" is not a time such as 08:00`
        : !isTimeZone(timeZone)
          ? `timeZone "${timeZone}" is unknown`
          : patches.length > 0
            ? 'patches are not supported'
            : undefined
  if (fault !== undefined || !days || sleeps === undefined)
    return { window: () => ({ open: true, until: Infinity }), fault: `SleepInfo ${name}: ${fault}` }
  return {
    window: (now) => {
      const events = eventsAround(now, { days, sleeps, wakes, timeZone })
      const last = events.findLast(({ at }) => at <= now)
      const isAwake = last?.wakes ?? true
      const next = events.find(({ at, wakes: toAwake }) => at > now && toAwake !== isAwake)?.at
      return isAwake ? { open: true, until: next ?? Infinity } : { open: false, nextOpenAt: next }
    },
  }
}

/** Every sleep and wake of the week before and after an instant, in order. */
function eventsAround(
  now: number,
  given: { days: ReadonlySet<number>; sleeps: number; wakes: number | undefined; timeZone: string },
): readonly { readonly at: number; readonly wakes: boolean }[] {
  const today = wallTimeAt(now, given.timeZone)
  const events = Array.from({ length: 17 }, (_, index) => addDays(today, index - 8))
    .filter((date) => given.days.has(weekdayOf(date) % 7))
    .flatMap((date) => [
      { at: instantOf({ ...date, minute: given.sleeps }, given.timeZone), wakes: false },
      ...(given.wakes === undefined
        ? []
        : [{ at: instantOf({ ...date, minute: given.wakes }, given.timeZone), wakes: true }]),
    ])
  return events.toSorted((one, other) => one.at - other.at)
}

/** Days as cron has them, 0 and 7 for Sunday: `1-5`, `1,3`, `*`. */
function parseWeekdays(text: string): ReadonlySet<number> | undefined {
  const days = new Set<number>()
  for (const part of text === '*' ? ['0-6'] : text.split(',')) {
    const [, first, last = first] = /^([0-7])(?:-([0-7]))?$/.exec(part.trim()) ?? []
    if (first === undefined || Number(first) > Number(last)) return undefined
    for (let day = Number(first); day <= Number(last); day++) days.add(day % 7)
  }
  return days
}

function minuteOf(text: string | undefined): number | undefined {
  const [, hours, minutes] = /^(\d{1,2}):(\d{1,2})$/.exec(text ?? '') ?? []
  const minute = Number(hours) * 60 + Number(minutes)
  return Number(hours) < 24 && Number(minutes) < 60 ? minute : undefined
}
