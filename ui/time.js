const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

/** Epoch milliseconds of an RFC 3339 text; undefined for anything else. @param {unknown} text */
export function parseTime(text) {
  const at = typeof text === 'string' ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? undefined : at
}

/** `5 s`, `12 min`, `3 h 20 min`, `2 d 4 h`, `41 d`. @param {number} ms */
export function formatSpan(ms) {
  const span = Math.max(0, ms)
  if (span < minute) return `${Math.floor(span / 1000)} s`
  if (span < hour) return `${Math.floor(span / minute)} min`
  if (span < day) return two(span, [hour, 'h'], [minute, 'min'])
  return span < 8 * day ? two(span, [day, 'd'], [hour, 'h']) : `${Math.floor(span / day)} d`
}

/** `in 3 h`, `now`, `5 min ago`. @param {number} at @param {number} now */
export function formatDistance(at, now) {
  const distance = at - now
  if (Math.abs(distance) < 1000) return 'now'
  return distance > 0 ? `in ${formatSpan(distance)}` : `${formatSpan(-distance)} ago`
}

/** As `formatDistance`, for a future event: `now` when it is overdue. @param {number} at @param {number} now */
export function formatAhead(at, now) {
  return formatDistance(Math.max(at, now), now)
}

/** What happens next, and when; a deletion that is held back is overdue. @param {{ what: string, at?: number, isEnd: boolean }} next @param {number} now */
export function nextText({ what, at, isEnd }, now) {
  // Where the command line names a command, the page has a button.
  if (at === undefined)
    return what
      .replace(/^approve: sojourn approve \S+ (\S+) (\S+).*/, 'approve $2 for $1')
      .replace(/(^|, or): ?sojourn (retry|rollback|resume).*|^sojourn (retry|resume).*/, '$1 $2$3')
      .trim()
  return isEnd && at < now - minute ? `was due ${formatDistance(at, now)}` : `${what} ${formatAhead(at, now)}`
}

const moments = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })

/** Date and time in the user's locale. @param {number | undefined} at */
export function formatMoment(at) {
  return at === undefined ? 'at an unknown time' : moments.format(at)
}

const instants = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' })

/** The exact instant, in the user's zone and in UTC; '' for an unknown one. @param {number | undefined} at */
export function exactMoment(at) {
  return at === undefined ? '' : `${instants.format(at)} · ${timeText(at)}`
}

/** The current time in RFC 3339. */
export function nowText() {
  return timeText(Date.now())
}

/** An instant in RFC 3339, to the second. @param {number} at */
export function timeText(at) {
  return new Date(at).toISOString().replace(/\.\d+Z$/, 'Z')
}

/** Replaces the RFC 3339 times in a message by times in the user's locale. @param {string} text */
export function withReadableTimes(text) {
  return text.replaceAll(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, (instant) => formatMoment(parseTime(instant)))
}

/** @param {number} span @param {[number, string]} large @param {[number, string]} small */
function two(span, [unit, name], [smaller, smallerName]) {
  const rest = Math.floor((span % unit) / smaller)
  return `${Math.floor(span / unit)} ${name}${rest > 0 ? ` ${rest} ${smallerName}` : ''}`
}
