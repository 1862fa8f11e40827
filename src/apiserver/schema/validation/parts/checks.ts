import { forbidden, invalidValue, required, unsupported, type FieldError } from '../../types/field-error.ts'
import { isRecord } from '../../../../kube/basics/json.ts'
import type { NameCheck } from '../../../../kube/names.ts'

/** A part of an object under validation. */
export type Json = Record<string, unknown>

/** The object under a key; empty when there is none, so that checks of optional parts need no branch. */
export function at(object: Json | undefined, key: string): Json {
  const value = object?.[key]
  return isRecord(value) ? value : {}
}

/** The object under a key, if there is one. */
export function given(object: Json | undefined, key: string): Json | undefined {
  const value = object?.[key]
  return isRecord(value) ? value : undefined
}

/** The items of a list with their paths. */
export function entries(object: Json | undefined, key: string, path: string): readonly (readonly [Json, string])[] {
  const value = object?.[key]
  if (!Array.isArray(value)) return []
  return value.map((item, index) => [isRecord(item) ? item : {}, `${join(path, key)}[${index}]`] as const)
}

/** The strings of a list with their paths. */
export function strings(object: Json | undefined, key: string, path: string): readonly (readonly [string, string])[] {
  const value = object?.[key]
  if (!Array.isArray(value)) return []
  return value.map((item, index) => [text(item), `${join(path, key)}[${index}]`] as const)
}

/** `path.key`, or `key` at the root. */
export function join(path: string, key: string): string {
  return path ? `${path}.${key}` : key
}

/** A string, '' when it is none. */
export function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** A number, undefined when it is none. */
export function number(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

/** The number of items or keys; 0 for other values. */
export function size(value: unknown): number {
  if (Array.isArray(value)) return value.length
  return isRecord(value) ? Object.keys(value).length : 0
}

/** Faults of a required name. */
export function* named(path: string, value: unknown, check: NameCheck): Generator<FieldError> {
  if (text(value) === '') yield required(path)
  else yield* checked(path, value, check)
}

/** Faults of a text that may be empty. */
export function* checked(path: string, value: unknown, check: NameCheck): Generator<FieldError> {
  for (const fault of check(text(value))) yield invalidValue(path, text(value), fault)
}

/** Faults of an optional text. */
export function* checkedIfGiven(path: string, value: unknown, check: NameCheck): Generator<FieldError> {
  if (text(value) !== '') yield* checked(path, value, check)
}

/** Faults of a required enum value. */
export function* oneOf(path: string, value: unknown, choices: readonly string[]): Generator<FieldError> {
  if (text(value) === '') yield required(path)
  else if (!choices.includes(text(value))) yield unsupported(path, value, choices)
}

/** Faults of an optional enum value. */
export function* oneOfIfGiven(path: string, value: unknown, choices: readonly string[]): Generator<FieldError> {
  if (text(value) !== '' && !choices.includes(text(value))) yield unsupported(path, value, choices)
}

/** Fields that are refused rather than stored and ignored. */
export function* notServed(object: Json, path: string, keys: readonly string[]): Generator<FieldError> {
  for (const key of keys)
    if (object[key] !== undefined) yield forbidden(join(path, key), 'not supported by the embedded server')
}

/** Faults of an optional number that must not be negative. */
export function* notNegative(path: string, value: unknown): Generator<FieldError> {
  if (typeof value === 'number' && value < 0) yield invalidValue(path, value, 'must be greater than or equal to 0')
}

/** Faults of a port number. */
export function* port(path: string, value: unknown): Generator<FieldError> {
  const given = number(value) ?? 0
  if (given < 1 || given > 65_535) yield invalidValue(path, given, 'must be between 1 and 65535, inclusive')
}
