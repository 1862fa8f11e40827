import type { ManagedItem } from '../../queries/managed-items.ts'
import { formatTime } from '../../kube/time.ts'

/** A managed item for JSON and YAML output: times in RFC 3339. */
export function itemDocument({ next, ...item }: ManagedItem): object {
  if (!next) return item
  return { ...item, next: { what: next.what, ...(next.at === undefined ? {} : { at: formatTime(next.at) }) } }
}
