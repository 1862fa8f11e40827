import { isRecord } from '../../../kube/basics/json.ts'

/** A JSON object, changed in place. */
export type Json = Record<string, unknown>

/** Applies the defaults of one type. Changes its argument. */
export type Defaulter = (object: Json) => void

/** Sets fields that are unset. Decoding has already dropped the zeros that Go cannot tell from unset. */
export function fill(object: Json, defaults: Json): void {
  for (const key of Object.keys(defaults)) {
    const value = object[key]
    if (value === undefined || value === null || value === '') object[key] = defaults[key]
  }
}

/** The object under a key, created when missing. */
export function part(object: Json, key: string): Json {
  const value = object[key]
  if (isRecord(value)) return value
  const made: Json = {}
  object[key] = made
  return made
}

/** The objects in the list under a key; none when there is no list. */
export function items(object: Json, key: string): readonly Json[] {
  const value = object[key]
  return Array.isArray(value) ? value.filter(isRecord) : []
}
