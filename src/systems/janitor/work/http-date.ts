import { parseTime } from '../../../kube/time.ts'

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** Epoch milliseconds of a Date header; undefined for anything else. */
export function parseHttpDate(text: string | undefined): number | undefined {
  const match = /^[A-Z][a-z]{2}, (\d\d) ([A-Z][a-z]{2}) (\d{4}) (\d\d:\d\d:\d\d) GMT$/.exec(text ?? '')
  if (!match) return undefined
  const [, day = '', name = '', year = '', time = ''] = match
  const month = months.indexOf(name) + 1
  return month === 0 ? undefined : parseTime(`${year}-${String(month).padStart(2, '0')}-${day}T${time}Z`)
}
