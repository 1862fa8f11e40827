import type { WorkScheduleSpec } from './work-schedule.ts'
import { isTimeZone } from '../kube/calendar/zoned-time.ts'

type Day = WorkScheduleSpec['windows'][number]['days'][number]

const days: readonly Day[] = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday']
const clock = '(?:[01][0-9]|2[0-3]):[0-5][0-9]|24:00'
const window = new RegExp(`^([A-Za-z]{3}(?:-[A-Za-z]{3})?) (${clock})-(${clock})$`)

/** Any tenant writes such text, and it is read again at each look: what is longer is no text of a person. */
export const maxLength = 1024

/** Hours in which a workload is kept awake: `Mon-Fri 08:00-18:00 Europe/Berlin`, several joined by `;`. Undefined if it is none. */
export function parseAwakeHours(text: string): WorkScheduleSpec | undefined {
  if (text.length > maxLength) return undefined
  const parts = text.split(';').map((part) => part.trim().replace(/\s+/g, ' '))
  let timeZone: string | undefined
  const windows = parts.map((part) => {
    const words = part.split(' ')
    const zone = words.length === 3 ? words.pop() : undefined
    if (zone !== undefined) timeZone ??= zone
    const found = window.exec(words.join(' '))
    const open = found && daysOf(found[1]!)
    if (!found || !open || (zone !== undefined && zone !== timeZone)) return undefined
    return { days: open, start: found[2]!, end: found[3]! }
  })
  if (timeZone !== undefined && !isTimeZone(timeZone)) return undefined
  if (windows.some((each) => each === undefined)) return undefined
  return { ...(timeZone === undefined ? {} : { timeZone }), windows: windows.filter((each) => each !== undefined) }
}

function daysOf(text: string): Day[] | undefined {
  const [from, to = from] = text
    .split('-')
    .map((short) => days.findIndex((day) => day.slice(0, 3).toLowerCase() === short.toLowerCase()))
  if (from === undefined || to === undefined || from < 0 || to < 0) return undefined
  const count = ((to - from + 7) % 7) + 1
  return Array.from({ length: count }, (_, i) => days[(from + i) % 7]!)
}
