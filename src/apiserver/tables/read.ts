/** The value at a dotted path; undefined when it does not exist. */
export function read(value: unknown, path: string): unknown {
  let current = value
  for (const name of path.split('.')) {
    if (typeof current !== 'object' || current === null) return undefined
    current = (current as Record<string, unknown>)[name]
  }
  return current
}

/** A list at a path; empty when there is none. */
export function readList<T = Record<string, unknown>>(value: unknown, path: string): readonly T[] {
  const found = read(value, path)
  return Array.isArray(found) ? (found as T[]) : []
}

/** A string at a path; the fallback when there is none or it is empty. */
export function readText(value: unknown, path: string, fallback = ''): string {
  const found = read(value, path)
  return found === undefined || found === null || found === '' ? fallback : String(found as string | number | boolean)
}

/** A number at a path; zero when there is none. */
export function readNumber(value: unknown, path: string): number {
  const found = read(value, path)
  return typeof found === 'number' ? found : 0
}

/** The number of keys of the map at a path. */
export function sizeOf(value: unknown, path: string): number {
  const found = read(value, path)
  return typeof found === 'object' && found !== null ? Object.keys(found).length : 0
}

/** The status of one of the object's conditions. */
export function conditionStatus(object: unknown, type: string): string | undefined {
  return readList<{ type?: string; status?: string }>(object, 'status.conditions').find(
    (condition) => condition.type === type,
  )?.status
}

/** Items joined by commas, or `<none>`. */
export function joined(items: readonly unknown[]): string {
  return items.length > 0 ? items.join(',') : '<none>'
}
