/**
 * What a value would be after a trip over the wire: callers in the process may have left `undefined` in it. The very same value
 * when nothing has to change, which for bodies off the wire is always.
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
