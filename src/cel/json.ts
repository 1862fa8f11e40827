import { CelMap, entriesOf } from './maps.ts'
import { CelDuration, CelTimestamp } from './moments.ts'
import { durationText, timestampText } from './moment-text.ts'
import { CelError } from './errors.ts'
import { CelDouble, CelOpaque, CelOptional, CelType, CelUint, isJsonMap, type CelValue } from './values.ts'

/** What JSON can hold. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

/**
 * The value as JSON: moments, types and ints beyond 2^53 as text, bytes in base64, absent optionals as null, errors as
 * their message.
 */
export function toJson(value: CelValue): Json {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value
  if (typeof value === 'number') return fromNumber(value)
  if (typeof value === 'bigint') return fromInteger(value)
  if (Array.isArray(value)) return value.map(toJson)
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  if (value instanceof CelMap || isJsonMap(value)) {
    return Object.fromEntries(Array.from(entriesOf(value), ([key, entry]) => [keyText(key), toJson(entry)]))
  }
  return fromBox(value)
}

function keyText(key: CelValue): string {
  const json = toJson(key)
  return typeof json === 'string' ? json : JSON.stringify(json)
}

function fromBox(value: CelValue): Json {
  if (value instanceof CelDouble) return fromNumber(value.value)
  if (value instanceof CelUint) return fromInteger(value.value)
  if (value instanceof CelTimestamp) return timestampText(value)
  if (value instanceof CelDuration) return durationText(value)
  if (value instanceof CelType) return value.name
  if (value instanceof CelOptional) return value.value === undefined ? null : toJson(value.value)
  if (value instanceof CelError) return value.message
  return value instanceof CelOpaque ? value.toString() : null
}

function fromNumber(value: number): Json {
  return Number.isFinite(value) ? value + 0 : String(value)
}

function fromInteger(value: bigint): Json {
  const small = Number(value)
  return Number.isSafeInteger(small) ? small : value.toString()
}
