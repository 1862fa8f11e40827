import { parseTime } from '../../kube/time.ts'

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** Epoch milliseconds of an IMF-fixdate (RFC 9110, section 5.6.7), as Date and Retry-After have; undefined for anything else. */
export function parseHttpDate(text: string | undefined): number | undefined {
  const match = /^[A-Z][a-z]{2}, (\d\d) ([A-Z][a-z]{2}) (\d{4}) (\d\d:\d\d:\d\d) GMT$/.exec(text ?? '')
  if (!match) return undefined
  const [, day = '', name = '', year = '', time = ''] = match
  const month = months.indexOf(name) + 1
  return month === 0 ? undefined : parseTime(`${year}-${String(month).padStart(2, '0')}-${day}T${time}Z`)
}
