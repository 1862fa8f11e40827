import { parseLongDuration, parseTime } from '../../../kube/time.ts'
import type { Resource } from './resource.ts'

/** The ttl that a resource's own tags declare. A malformed one affects that resource only. */
export type TimeToLive =
  | { readonly says: 'nothing' }
  | { readonly says: 'never' }
  | { readonly says: 'days'; readonly days: number }
  | { readonly says: 'at'; readonly at: number }
  /** So long after `from`, or after the creation. */
  | { readonly says: 'after'; readonly ms: number; readonly from?: number }
  | { readonly says: 'malformed'; readonly text: string }

/** Swabbie's tags, in which `m` is a month and a number of days must have passed whole. */
const names = ['expiration_time', 'expires', 'ttl', 'sojourn.dev/expiration-time'] as const
/** Annotations and labels of Sojourn, kube-janitor, Kyverno and k8s-ttl-controller, in which `m` is a minute. */
const durations = [
  'sojourn.dev/ttl',
  'janitor/ttl',
  'cleanup.kyverno.io/ttl',
  'k8s-ttl-controller.twin.sh/ttl',
] as const
const dates = ['janitor/expires'] as const
const refreshed = 'k8s-ttl-controller.twin.sh/refreshed-at'
const unitDays: Readonly<Record<string, number>> = { d: 1, w: 7, m: 30, y: 365 }
const dayMs = 86_400_000

/** Reads the ttl tags: a duration, a date, or `never`, which wins over the others. */
export function timeToLiveOf({ tags }: Pick<Resource, 'tags'>): TimeToLive {
  const valuesOf = (keys: readonly string[]) =>
    keys.flatMap((name) => (Object.hasOwn(tags, name) ? [(tags[name] ?? '').trim()] : []))
  const from = parseTime(tags[refreshed])
  const read = [
    ...valuesOf(names).map(readValue),
    ...valuesOf(durations).map((value) => readDuration(value, from)),
    ...valuesOf(dates).map(readDate),
  ]
  if (read.length === 0) return { says: 'nothing' }
  return (
    read.find(({ says }) => says === 'never') ??
    read.find(({ says }) => says === 'malformed') ??
    longest(read) ?? { says: 'nothing' }
  )
}

/** Whether the ttl has expired; undefined when that cannot be determined. */
export function isExpired(ttl: TimeToLive, createdAt: number | undefined, now: number): boolean | undefined {
  switch (ttl.says) {
    case 'nothing':
    case 'never':
      return false
    case 'malformed':
      return undefined
    case 'at':
      return now >= ttl.at
    case 'days':
      return createdAt === undefined ? undefined : wholeDays(createdAt, now) > ttl.days
    case 'after':
      return createdAt === undefined ? undefined : now >= (ttl.from ?? createdAt) + ttl.ms
  }
}

/** When the ttl expires; Infinity for `never`, 0 when there is none or it is malformed. */
export function expiresAt(ttl: TimeToLive, createdAt: number): number {
  switch (ttl.says) {
    case 'nothing':
    case 'malformed':
      return 0
    case 'never':
      return Infinity
    case 'at':
      return ttl.at
    case 'days':
      return createdAt + (ttl.days + 1) * dayMs
    case 'after':
      return (ttl.from ?? createdAt) + ttl.ms
  }
}

/** Full days between two instants; 0 when the clock went back. */
export function wholeDays(since: number, now: number): number {
  return Math.max(0, Math.floor((now - since) / dayMs))
}

function readValue(value: string): TimeToLive {
  if (value.toLowerCase() === 'never') return { says: 'never' }
  const amount = /^(\d{1,6})([dwmy])$/i.exec(value)
  if (amount) return { says: 'days', days: Number(amount[1]) * (unitDays[(amount[2] ?? 'd').toLowerCase()] ?? 1) }
  return readDate(value)
}

/** A duration in minutes, hours, days and weeks; Kyverno also writes a date here. */
function readDuration(value: string, from: number | undefined): TimeToLive {
  if (/^(?:never|forever)$/i.test(value)) return { says: 'never' }
  const ms = parseLongDuration(value)
  if (ms === undefined) return readDate(value)
  return ms > 0 ? { says: 'after', ms, ...(from === undefined ? {} : { from }) } : { says: 'malformed', text: value }
}

/** RFC 3339, or the shorter forms of kube-janitor and Kyverno: `2026-11-18`, `2026-11-18T10:30`, `2026-11-18T103000Z`. */
function readDate(value: string): TimeToLive {
  const [, day, hour = '00', minute = '00', second = '00'] =
    /^(\d{4}-\d\d-\d\d)(?:T(\d\d):?(\d\d)(?::?(\d\d))?Z?)?$/.exec(value) ?? []
  const at = parseTime(day === undefined ? value : `${day}T${hour}:${minute}:${second}Z`)
  return at === undefined ? { says: 'malformed', text: value } : { says: 'at', at }
}

/** The latest of several ttls; a date takes precedence over a duration. */
function longest(read: readonly TimeToLive[]): TimeToLive | undefined {
  const after = read.filter((ttl) => ttl.says === 'after').toSorted((left, right) => right.ms - left.ms)[0]
  const days = read.filter((ttl) => ttl.says === 'days').toSorted((left, right) => right.days - left.days)[0]
  const date = read.filter((ttl) => ttl.says === 'at').toSorted((left, right) => right.at - left.at)[0]
  return date ?? days ?? after
}
