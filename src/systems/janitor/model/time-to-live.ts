import { parseTime } from '../../../kube/time.ts'
import type { Resource } from './resource.ts'

/** The ttl that a resource's own tags declare. A malformed one affects that resource only. */
export type TimeToLive =
  | { readonly says: 'nothing' }
  | { readonly says: 'never' }
  | { readonly says: 'days'; readonly days: number }
  | { readonly says: 'at'; readonly at: number }
  | { readonly says: 'malformed'; readonly text: string }

const names = ['expiration_time', 'expires', 'ttl', 'sojourn.dev/expiration-time', 'sojourn.dev/ttl'] as const
const unitDays: Readonly<Record<string, number>> = { d: 1, w: 7, m: 30, y: 365 }
const dayMs = 86_400_000

/** Reads the ttl tags: `30d`, `2w`, `6m`, `1y`, a date, or `never`, which wins over the others. */
export function timeToLiveOf({ tags }: Pick<Resource, 'tags'>): TimeToLive {
  const values = names.flatMap((name) => (Object.hasOwn(tags, name) ? [(tags[name] ?? '').trim()] : []))
  if (values.length === 0) return { says: 'nothing' }
  const read = values.map(readValue)
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
  const at = parseTime(/^\d{4}-\d\d-\d\d$/.test(value) ? `${value}T00:00:00Z` : value)
  return at === undefined ? { says: 'malformed', text: value } : { says: 'at', at }
}

/** The latest of several ttls; a date takes precedence over a number of days. */
function longest(read: readonly TimeToLive[]): TimeToLive | undefined {
  const days = read.filter((ttl) => ttl.says === 'days').toSorted((left, right) => right.days - left.days)[0]
  const date = read.filter((ttl) => ttl.says === 'at').toSorted((left, right) => right.at - left.at)[0]
  return date ?? days
}
