import { createHash } from 'node:crypto'
import { describeRef } from '../kube/object.ts'
import { formatTime } from '../kube/time.ts'
import type { Forecast, ForecastEvent } from './event.ts'

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
