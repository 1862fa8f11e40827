/** RFC 3339 in UTC with whole seconds, as metav1.Time. */
export function formatTime(atMs: number): string {
  const second = Math.floor(atMs / 1000)
  if (second !== lastFormatted.second)
    lastFormatted = { second, text: new Date(second * 1000).toISOString().replace('.000Z', 'Z') }
  return lastFormatted.text
}

/** The same second is written again and again: in each condition, record and field owner of one moment. */
let lastFormatted = { second: 0, text: '1970-01-01T00:00:00Z' }

/** RFC 3339 in UTC with microseconds, as metav1.MicroTime (Leases, Events). */
export function formatMicroTime(atMs: number): string {
  return new Date(atMs).toISOString().replace('Z', '000Z')
}

/** Epoch milliseconds of an RFC 3339 time; undefined for anything else, also for days that do not exist. */
export function parseTime(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (text === lastParsed.text) return lastParsed.at
  const at = parseRfc3339(text)
  lastParsed = { text, at }
  return at
}

/** Like `lastFormatted`: the objects of one moment all say the same. */
let lastParsed: { readonly text: string; readonly at: number | undefined } = { text: '', at: undefined }

function parseRfc3339(text: string): number | undefined {
  const match = rfc3339.exec(text)
  if (!match) return undefined
  const [, year = '', month = '', day = '', hour = '', minute = '', second = '', fraction = '', zone = 'Z'] = match
  // `Date.UTC` takes a year below 100 for one of the twentieth century.
  const date = new Date(0)
  const midnight = date.setUTCFullYear(Number(year), Number(month) - 1, Number(day))
  if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day)) return undefined
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined
  const fractionMs = fraction ? Math.floor(Number(`0.${fraction}`) * 1000) : 0
  return (
    midnight + Number(hour) * 3_600_000 + Number(minute) * 60_000 + Number(second) * 1000 + fractionMs - offsetMs(zone)
  )
}

/** Milliseconds of a Go duration such as `1h30m`, `250ms`, `-2s`; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  if (text === '0' || text === '+0' || text === '-0') return 0
  const match = /^([+-]?)((?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/.exec(text)
  if (!match) return undefined
  let total = 0
  for (const [, amount = '', unit = ''] of text.matchAll(/(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g)) {
    total += Number(amount) * (unitMs[unit] ?? 0)
  }
  return match[1] === '-' ? -total : total
}

/** A Go duration, or one in whole days and weeks: `15d`, `2w`, `1d12h`; undefined for anything else. */
export function parseLongDuration(text: string): number | undefined {
  const match = /^(?:(\d+)w)?(?:(\d+)d)?(.*)$/s.exec(text)
  if (!match || text === '') return undefined
  const [, weeks = '0', days = '0', rest = ''] = match
  const restMs = rest === '' ? 0 : parseDuration(rest)
  return restMs === undefined ? undefined : (Number(weeks) * 7 + Number(days)) * 86_400_000 + restMs
}

/** A Go duration for people: `36h0m0s` becomes `36h`, nothing smaller than a millisecond is shown. */
export function formatDuration(ms: number): string {
  if (ms < 0) return `-${formatDuration(-ms)}`
  if (ms < 1000) return ms === 0 ? '0s' : `${Math.round(ms)}ms`
  const seconds = Math.round(ms) / 1000
  const hours = Math.floor(seconds / 3600)
  const minutes = Math.floor((seconds % 3600) / 60)
  const rest = Math.round((seconds % 60) * 1000) / 1000
  return `${hours ? `${hours}h` : ''}${minutes ? `${minutes}m` : ''}${rest || (!hours && !minutes) ? `${rest}s` : ''}`
}

/** An age the way kubectl prints it: `5s`, `3m20s`, `4h`, `2d3h`, `412d`. */
export function formatAge(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  if (seconds < 120) return `${seconds}s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 10) return seconds % 60 === 0 ? `${minutes}m` : `${minutes}m${seconds % 60}s`
  if (minutes < 180) return `${minutes}m`
  const hours = Math.floor(minutes / 60)
  if (hours < 8) return minutes % 60 === 0 ? `${hours}h` : `${hours}h${minutes % 60}m`
  if (hours < 48) return `${hours}h`
  const days = Math.floor(hours / 24)
  if (days < 8) return hours % 24 === 0 ? `${days}d` : `${days}d${hours % 24}h`
  if (days < 365 * 2) return `${days}d`
  const years = Math.floor(days / 365)
  if (years < 8) return days % 365 === 0 ? `${years}y` : `${years}y${days % 365}d`
  return `${years}y`
}

const rfc3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)$/

const unitMs: Record<string, number> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
}

function offsetMs(zone: string): number {
  if (zone === 'Z' || zone === 'z') return 0
  const ms = (Number(zone.slice(1, 3)) * 60 + Number(zone.slice(4, 6))) * 60_000
  return zone.startsWith('-') ? -ms : ms
}

/** A time as libraries of others want it. */
export function dateOf(atMs: number): Date {
  return new Date(atMs)
}

/** `at 2026-11-17T12:00:00Z, in 3d`; `now` when it has come. */
export function when(at: number, now: number): string {
  return at <= now ? 'now' : `at ${formatTime(at)}, in ${formatAge(at - now)}`
}
