/**
 * Normalizes a value as JSON serialization would: callers in the same process may pass `undefined` fields. Returns
 * the same reference when nothing changes, as for every body from the network.
 */
export function jsonValue(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  return Array.isArray(value) ? jsonArray(value) : jsonRecord(value as Record<string, unknown>)
}

function jsonArray(items: readonly unknown[]): readonly unknown[] {
  const written = items.map((item) => (item === undefined ? null : jsonValue(item)))
  return written.every((item, index) => item === items[index]) ? items : written
}

function jsonRecord(record: Record<string, unknown>): unknown {
  let changed: Record<string, unknown> | undefined
  for (const key of Object.keys(record)) {
    const value = record[key]
    const written = jsonValue(value)
    if (written === value && value !== undefined) continue
    changed ??= { ...record }
    if (value === undefined) delete changed[key]
    else changed[key] = written
  }
  return changed ?? record
}
