import { createHash } from 'node:crypto'
import { describeRef, groupResource, refOf, type StoredObject } from '../kube/object.ts'
import { formatTime, formatDuration, parseLongDuration } from '../kube/time.ts'
import type { Forecast, ForecastEvent } from './event.ts'
import type { Cleaner } from '../apis/cleaner.ts'
import { cleanerKinds } from '../apis/cleaner-kinds.ts'
import { cleanupPolicy, type CleanupPolicy } from '../apis/cleanup-policy.ts'
import type { ClusterSnapshot } from './cluster-snapshot.ts'

/**
 * The forecast as iCalendar (RFC 5545), one entry without duration per event. An event has the same UID in every forecast, so that a
 * calendar that imports a newer forecast updates its entries.
 */
export function forecastCalendar({ events, from }: Forecast): string {
  const lines = [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//sojourn.dev//forecast//EN',
    'CALSCALE:GREGORIAN',
    'METHOD:PUBLISH',
    'X-WR-CALNAME:Sojourn forecast',
    ...events.flatMap((event) => entry(event, from)),
    'END:VCALENDAR',
  ]
  return lines.map((line) => `${folded(line)}\r\n`).join('')
}

/** The title of an entry: `ConfigMap/team/old leaves`. */
function headline({ what, object, environment, revision, to }: ForecastEvent): string {
  const where = environment ? ` ${revision} in ${environment}` : ''
  const whom = what === 'told' && to ? ` (${to.join(', ')})` : ''
  return `${describeRef(object)} ${what}${where}${whom}`
}

function entry(event: ForecastEvent, from: number): readonly string[] {
  const { at, what, object, because, why, by, to, system } = event
  const identity = JSON.stringify([at, what, object, because, to ?? []])
  const uid = createHash('sha256').update(identity).digest('hex').slice(0, 32)
  const facts = [`${why}.`, `By the ${system}${by ? `, ${by}` : ''}.`, ...(to ? [`To ${to.join(', ')}.`] : [])]
  return [
    'BEGIN:VEVENT',
    `UID:${uid}@forecast.sojourn.dev`,
    `DTSTAMP:${stamp(from)}`,
    `DTSTART:${stamp(at)}`,
    `SUMMARY:${escaped(headline(event))}`,
    `DESCRIPTION:${escaped(facts.join('\n'))}`,
    `CATEGORIES:${escaped(what)}`,
    'TRANSP:TRANSPARENT',
    'END:VEVENT',
  ]
}

function stamp(at: number): string {
  return formatTime(at).replaceAll(/[-:]/g, '')
}

function escaped(text: string): string {
  return (
    text
      .replaceAll(/[\\;,]/g, (character) => `\\${character}`)
      .replaceAll(/\r\n|[\r\n\u2028\u2029]/g, '\\n')
      // oxlint-disable-next-line no-control-regex -- names are untrusted text
      .replaceAll(/[\u0000-\u001f\u007f]/g, ' ')
  )
}

/** RFC 5545, 3.1: lines have at most 75 octets; a continuation line begins with a space. */
function folded(line: string): string {
  const pieces: string[] = []
  let piece = ''
  for (const character of line) {
    if (Buffer.byteLength(piece + character) > 75) {
      pieces.push(piece)
      piece = ' '
    }
    piece += character
  }
  return [...pieces, piece].join('\r\n')
}

/** How often a policy looks at most in one forecast: every ten minutes for thirty days. */
const maxLooks = 4320
/** How often a Cleaner evaluates at most by its `retry.period`: every hour for thirty days. */
const maxRetries = 720

/**
 * The snapshot with policies that look at most `maxLooks` times: an object that is due is then found one interval later at most. A look every ten seconds
 * for a month would be 260,000 inventories, nearly all of which find nothing new. So are most retries of Cleaners: a change of their
 * targets, or a computed instant, triggers an evaluation anyway.
 */
export function withIntervals(
  snapshot: ClusterSnapshot,
  forMs: number,
): { readonly snapshot: ClusterSnapshot; readonly assumed: readonly string[] } {
  const assumed: string[] = []
  const retried: string[] = []
  const cleaners = new Set(cleanerKinds.map(({ type }) => groupResource(type)))
  const policyMs = Math.ceil(forMs / maxLooks / 1000) * 1000
  const retryMs = Math.ceil(forMs / maxRetries / 1000) * 1000
  const kinds = snapshot.kinds.map(({ type, items }) => {
    const resource = groupResource(type)
    if (cleaners.has(resource))
      return { type, items: items.map((item) => retriedLess(item as Cleaner, retryMs, retried)) }
    if (resource !== groupResource(cleanupPolicy.type)) return { type, items }
    return { type, items: items.map((item) => coarser(item as CleanupPolicy, policyMs, assumed)) }
  })
  const [first, ...others] = retried
  const which = others.length > 0 ? `${retried.length} Cleaners, such as ${first}, retry` : `${first} retries`
  if (first !== undefined) assumed.push(`${which} every ${formatDuration(retryMs)}, not more often`)
  return { snapshot: { ...snapshot, kinds }, assumed }
}

function coarser(policy: CleanupPolicy, minMs: number, assumed: string[]): StoredObject {
  const interval = longer(policy.spec.interval, minMs)
  if (interval === undefined) return policy
  assumed.push(`CleanupPolicy ${policy.metadata.name} looks every ${interval} instead of every ${policy.spec.interval}`)
  return { ...policy, spec: { ...policy.spec, interval } }
}

function retriedLess(cleaner: Cleaner, minMs: number, retried: string[]): StoredObject {
  // cleaner-controller's own definition admits objects without a spec.
  const { retry, ...spec } = (cleaner.spec ?? {}) as Cleaner['spec']
  const period = longer(retry?.period, minMs)
  if (!retry || period === undefined) return cleaner
  retried.push(describeRef(refOf(cleaner)))
  // By its default, one that only waits for its targets is evaluated once a day.
  const isDefault = minMs >= defaultRetryMs && !retry.monotonic
  return { ...cleaner, spec: isDefault ? spec : { ...spec, retry: { ...retry, period } } }
}

const defaultRetryMs = 3_600_000

/** The duration that takes its place if it is shorter than this. */
function longer(text: string | undefined, minMs: number): string | undefined {
  const ms = text === undefined ? undefined : parseLongDuration(text)
  return ms === undefined || ms >= minMs ? undefined : formatDuration(minMs)
}
