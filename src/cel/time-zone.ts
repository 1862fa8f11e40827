import { BoundedMap } from '../kube/basics/bounded-map.ts'
import { isTimeZone, zoneOffsetSeconds } from '../kube/calendar/zoned-time.ts'
import { CelError } from './errors.ts'
import type { Frame } from './frame.ts'

const fixed = /^([+-]?)(\d\d):(\d\d)$/
const zones = new BoundedMap<string, Zone | CelError>(100)
const day = 86_400

interface Zone {
  readonly name: string
  /** The offset on days since 1970 in UTC that have one offset from start to end; NaN for other days. */
  readonly offsets: BoundedMap<number, number>
}

/** Seconds to add to UTC for local time in this zone at this instant: a fixed offset, or a name of the tz database. */
export function zoneOffset(frame: Frame, zone: string, seconds: number): number | CelError {
  if (zone === '' || zone === 'UTC') return 0
  const match = fixed.exec(zone)
  if (match) {
    const size = Number(match[2]) * 3600 + Number(match[3]) * 60
    return match[1] === '-' ? -size : size
  }
  const known = zoneOf(frame, zone)
  return known instanceof CelError ? known : namedOffset(frame, known, seconds)
}

function zoneOf(frame: Frame, name: string): Zone | CelError {
  const known = zones.get(name)
  if (known) return known
  frame.charge(5000)
  const made = isTimeZone(name)
    ? { name, offsets: new BoundedMap<number, number>(10_000) }
    : new CelError(`unknown time zone ${JSON.stringify(name.slice(0, 64))}`)
  zones.set(name, made)
  return made
}

function namedOffset(frame: Frame, { name, offsets }: Zone, seconds: number): number {
  const today = Math.floor(seconds / day)
  let known = offsets.get(today)
  if (known === undefined) offsets.set(today, (known = dayOffset(frame, name, today)))
  if (!Number.isNaN(known)) return known
  frame.charge(750)
  return zoneOffsetSeconds(seconds * 1000, name)
}

function dayOffset(frame: Frame, name: string, today: number): number {
  frame.charge(1500)
  const first = zoneOffsetSeconds(today * day * 1000, name)
  return first === zoneOffsetSeconds((today + 1) * day * 1000, name) ? first : Number.NaN
}
