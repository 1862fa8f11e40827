const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

/** Epoch milliseconds of an RFC 3339 text; undefined for anything else. */
export function parseTime(text) {
  const at = typeof text === 'string' ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? undefined : at
}

/** `5 s`, `12 min`, `3 h 20 min`, `2 d 4 h`, `41 d`. */
export function formatSpan(ms) {
  const span = Math.max(0, ms)
  if (span < minute) return `${Math.floor(span / 1000)} s`
  if (span < hour) return `${Math.floor(span / minute)} min`
  if (span < day) return two(span, [hour, 'h'], [minute, 'min'])
  return span < 8 * day ? two(span, [day, 'd'], [hour, 'h']) : `${Math.floor(span / day)} d`
}

/** `in 3 h`, `now`, `5 min ago`. */
export function formatDistance(at, now) {
  const distance = at - now
  if (Math.abs(distance) < 1000) return 'now'
  return distance > 0 ? `in ${formatSpan(distance)}` : `${formatSpan(-distance)} ago`
}

/** Date and time as the reader writes them. */
export function formatMoment(at) {
  return new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' }).format(at)
}

function two(span, [unit, name], [smaller, smallerName]) {
  const rest = Math.floor((span % unit) / smaller)
  return `${Math.floor(span / unit)} ${name}${rest > 0 ? ` ${rest} ${smallerName}` : ''}`
}
