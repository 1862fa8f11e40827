import { maxLength, parseAwakeHours } from '../../../apis/awake-hours.ts'
import type { WorkScheduleSpec } from '../../../apis/work-schedule.ts'
import { windowState, type WindowState } from '../../../apis/work-window.ts'
import type { StoredObject } from '../../../kube/object.ts'
import { parseLongDuration, parseTime } from '../../../kube/time.ts'

/** What another tool's rule says at an instant. `as-is`: its periods do not cover the instant. */
export type ForeignWindow = WindowState | { readonly asIs: true; readonly until: number | undefined }

/** A rule in the words of another tool, understood. */
export interface ForeignRule {
  readonly window: (now: number) => ForeignWindow
  readonly graceMs?: number
  /** How many replicas stay while asleep. */
  readonly least?: number
  /** What of it cannot be honoured; the workload stays awake. */
  readonly fault?: string
}

/** Replicas before kube-downscaler scaled a workload down. */
export const downscalerMemory = 'downscaler/original-replicas'

const key = (name: string) => `downscaler/${name}`
const schedules = ['uptime', 'downtime', 'upscale-period', 'downscale-period'].map(key)
const remaining = ['downtime-replicas', 'downscale-replicas'].map(key)
const forced = ['force-uptime', 'force-downtime'].map(key)
const always: ForeignWindow = { open: true, until: Infinity }

/** The rule of kube-downscaler's annotations: of each group the nearest object that sets any of it counts. */
export function downscalerRule(objects: readonly StoredObject[], now: number): ForeignRule | undefined {
  const scopes = objects.map(({ metadata: { annotations = {} } }) => annotations)
  const nearest = (keys: readonly string[]) => scopes.find((scope) => keys.some((each) => each in scope)) ?? {}
  const exclusion = nearest([key('exclude'), key('exclude-until')])
  if (exclusion[key('exclude')] === 'true' || now < (untilOf(exclusion[key('exclude-until')]) ?? 0)) return undefined
  const grace = nearest([key('grace-period')])[key('grace-period')]
  const graceMs =
    grace === undefined ? undefined : /^\d+$/.test(grace) ? Number(grace) * 1000 : parseLongDuration(grace)
  const kept = nearest(remaining)
  const least = remaining.map((each) => kept[each]).find((text) => text !== undefined)
  const isWrong = least !== undefined && !/^\d{1,6}$/.test(least)
  const found = forcedRule(nearest(forced), now) ?? scheduleRule(nearest(schedules))
  if (found && isWrong) return refused(`"${least.slice(0, 100)}" is no number of replicas`)
  return (
    found && {
      ...found,
      ...(graceMs === undefined ? {} : { graceMs }),
      ...(least === undefined ? {} : { least: Number(least) }),
    }
  )
}

function forcedRule(scope: Readonly<Record<string, string>>, now: number): ForeignRule | undefined {
  for (const name of ['force-uptime', 'force-downtime']) {
    const text = scope[key(name)]
    const spans =
      text === 'true' ? parseSpans('always') : text === undefined || text === 'false' ? undefined : parseSpans(text)
    if (!spans?.(now).inside) continue
    const isUp = name === 'force-uptime'
    return { window: (at) => toWindow(spans(at), isUp) }
  }
  return undefined
}

function scheduleRule(scope: Readonly<Record<string, string>>): ForeignRule | undefined {
  const [up, down, raise, lower] = schedules.map((each) => scope[each])
  const given = [up, down, raise, lower].filter((text) => text !== undefined)
  if (given.length === 0) return undefined
  if (up !== undefined && down !== undefined)
    return refused('downscaler/uptime and downscaler/downtime exclude each other')
  const spans = given.map(parseSpans)
  const wrong = given.find((_, index) => spans[index] === undefined)
  if (wrong !== undefined) return refused(`"${wrong.slice(0, 100)}" is no time span of kube-downscaler`)
  const [first] = spans as [Spans]
  if (up !== undefined) return { window: (now) => toWindow(first(now), true) }
  if (down !== undefined) return { window: (now) => toWindow(first(now), false) }
  const [upscale, downscale] = [raise, lower].map((text) => (text === undefined ? undefined : parseSpans(text)))
  return {
    window: (now) => {
      const [raised, lowered] = [upscale?.(now), downscale?.(now)]
      if (raised?.inside) return toWindow(raised, true)
      if (lowered?.inside) return toWindow(lowered, false)
      return { asIs: true, until: Math.min(raised?.changesAt ?? Infinity, lowered?.changesAt ?? Infinity) }
    },
  }
}

function refused(fault: string): ForeignRule {
  return { window: () => always, fault }
}

function toWindow({ inside, changesAt }: ReturnType<Spans>, isAwakeInside: boolean): WindowState {
  if (inside === isAwakeInside) return { open: true, until: changesAt ?? Infinity }
  return { open: false, nextOpenAt: changesAt }
}

/** Whether an instant is inside any span, and when that may change. */
type Spans = (now: number) => { readonly inside: boolean; readonly changesAt: number | undefined }

const absolute = /^(\d{4}-\d\d-\d\dT[^ ]+?(?:Z|[+-]\d\d:\d\d)) ?- ?(\d{4}-\d\d-\d\dT.+)$/

function parseSpans(text: string): Spans | undefined {
  if (text.length > maxLength) return undefined
  const parts = text.split(',').map((part) => parseSpan(part.trim()))
  if (parts.some((part) => part === undefined)) return undefined
  return (now) => {
    const states = parts.map((part) => part!(now))
    const changes = states.flatMap(({ changesAt }) => changesAt ?? [])
    return {
      inside: states.some(({ inside }) => inside),
      changesAt: changes.length > 0 ? Math.min(...changes) : undefined,
    }
  }
}

function parseSpan(text: string): Spans | undefined {
  if (text === 'always' || text === 'never') return () => ({ inside: text === 'always', changesAt: undefined })
  const [, from, to] = absolute.exec(text) ?? []
  const [fromAt, toAt] = [parseTime(from), parseTime(to)]
  if (fromAt !== undefined && toAt !== undefined)
    return (now) => ({
      inside: fromAt <= now && now < toAt,
      changesAt: now < fromAt ? fromAt : now < toAt ? toAt : undefined,
    })
  const hours = parseAwakeHours(text)
  if (!hours?.timeZone) return undefined
  const schedule: WorkScheduleSpec = { ...hours, windows: hours.windows.flatMap(splitOvernight) }
  return (now) => {
    const state = windowState(schedule, now)
    return { inside: state.open, changesAt: state.open ? state.until : state.nextOpenAt }
  }
}

/** The weekday that counts is that of the instant, not that on which the span began. */
function splitOvernight(window: WorkScheduleSpec['windows'][number]): WorkScheduleSpec['windows'] {
  const { start = '00:00', end = '24:00', days } = window
  if (start < end) return [window]
  const parts = [{ days, start, end: '24:00' }]
  return end === '00:00' ? parts : [{ days, start: '00:00', end }, ...parts]
}

/** RFC 3339, or as Python's kube-downscaler also takes it: a date, with or without hours and minutes. */
function untilOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const [, date, time] = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d))?$/.exec(text) ?? []
  return parseTime(date === undefined ? text : `${date}T${time ?? '00:00'}:00Z`)
}
