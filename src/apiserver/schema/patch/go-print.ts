import { isRecord } from '../../../kube/basics/json.ts'

/** A value as Go's %v prints it. */
export function goPrint(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(goPrint).join(' ')}]`
  if (!isRecord(value)) return value === null ? '<nil>' : typeof value === 'string' ? value : JSON.stringify(value)
  const keys = Object.keys(value).toSorted()
  return `map[${keys.map((key) => `${key}:${goPrint(value[key])}`).join(' ')}]`
}

/** A value as Go's %#v prints it. */
export function goLiteral(value: unknown): string {
  if (Array.isArray(value)) return `[]interface {}{${value.map(goLiteral).join(', ')}}`
  if (!isRecord(value)) return JSON.stringify(value)
  const keys = Object.keys(value).toSorted()
  return `map[string]interface {}{${keys.map((key) => `${JSON.stringify(key)}:${goLiteral(value[key])}`).join(', ')}}`
}

/** The Go type that JSON of this kind decodes into. */
export function goType(value: unknown): string {
  if (Array.isArray(value)) return '[]interface {}'
  if (isRecord(value)) return 'map[string]interface {}'
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64'
  return typeof value === 'boolean' ? 'bool' : typeof value
}
