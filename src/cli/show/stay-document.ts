import type { Stay } from '../../queries/stays.ts'
import { formatTime } from '../../kube/time.ts'

/** A stay for machines: times as the API writes them. */
export function stayDocument({ next, ...stay }: Stay): object {
  if (!next) return stay
  return { ...stay, next: { what: next.what, ...(next.at === undefined ? {} : { at: formatTime(next.at) }) } }
}
