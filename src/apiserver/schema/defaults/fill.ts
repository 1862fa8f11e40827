import { isRecord } from '../types/set-own.ts'

/** An object that is being filled in. */
export type Json = Record<string, unknown>

/** Fills in what a value of one type lacks. Changes its argument. */
export type Defaulter = (object: Json) => void

/** Sets what is unset; an empty string or a zero that Go could not tell from unset is left out before this runs. */
export function fill(object: Json, defaults: Json): void {
  for (const key of Object.keys(defaults)) {
    const value = object[key]
    if (value === undefined || value === null || value === '') object[key] = defaults[key]
  }
}

/** The object under a key, made when missing. */
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

/** The object under a key, if there is one. */
export function optional(object: Json, key: string): Json | undefined {
  const value = object[key]
  return isRecord(value) ? value : undefined
}
