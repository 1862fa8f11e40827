import type { GroupVersionKind } from '../../../kube/object.ts'
import { StatusError } from '../../../kube/status-error.ts'

const titles = {
  FieldValueNotFound: 'Not found',
  FieldValueRequired: 'Required value',
  FieldValueDuplicate: 'Duplicate value',
  FieldValueInvalid: 'Invalid value',
  FieldValueNotSupported: 'Unsupported value',
  FieldValueForbidden: 'Forbidden',
  FieldValueTooLong: 'Too long',
  FieldValueTooMany: 'Too many',
  FieldValueTypeInvalid: 'Invalid value',
  InternalError: 'Internal error',
} as const

/** The `reason` of a cause in a Status. */
export type FieldErrorType = keyof typeof titles

/** A validation error of one field, as in k8s.io/apimachinery's field.Error. */
export interface FieldError {
  readonly type: FieldErrorType
  /** `spec.containers[0].name`. */
  readonly field: string
  /** The part of the message after the field. */
  readonly message: string
}

/** Errors of one object beyond these are not looked for: a large object can have millions. */
export const maxErrors = 1000

/** The 422 that lists all errors of an object. */
export function invalid(
  { group, kind }: Pick<GroupVersionKind, 'group' | 'kind'>,
  name: string,
  errors: readonly FieldError[],
): StatusError {
  const lines = [...new Set(errors.map(describe))]
  const what = lines.length === 1 ? lines[0] : `[${lines.join(', ')}]`
  return new StatusError('Invalid', `${group ? `${kind}.${group}` : kind} ${quote(name)} is invalid: ${what}`, {
    details: {
      name,
      ...(group ? { group } : {}),
      kind,
      causes: errors.map(({ type, field, message }) => ({ reason: type, message, field })),
    },
  })
}

/** An error as the API prints it: `spec.replicas: Invalid value: -1: must be greater than or equal to 0`. */
export function describe({ field, message }: FieldError): string {
  return `${field}: ${message}`
}

/** Pass as the value to leave it out of the message. */
export const omitted = Symbol('omitted')

/** A required field is missing. */
export function required(field: string, detail = ''): FieldError {
  return make('FieldValueRequired', field, '', detail)
}

/** The field may not be set, or not be changed. */
export function forbidden(field: string, detail: string): FieldError {
  return make('FieldValueForbidden', field, '', detail)
}

/** The value breaks a rule that `detail` states. */
export function invalidValue(field: string, value: unknown, detail: string): FieldError {
  return make('FieldValueInvalid', field, value === omitted ? '' : printed(value), detail)
}

/** The value has the wrong JSON type. */
export function invalidType(field: string, value: unknown, detail: string): FieldError {
  return make('FieldValueTypeInvalid', field, printed(value), detail)
}

/** The value must be unique and occurs again. */
export function duplicate(field: string, value: unknown): FieldError {
  return make('FieldValueDuplicate', field, value === omitted ? '' : printed(value), '')
}

/** The value refers to something that the object does not contain, such as a volume. */
export function notFoundValue(field: string, value: unknown): FieldError {
  return make('FieldValueNotFound', field, printed(value), '')
}

/** The value is not one of the supported ones. */
export function unsupported(field: string, value: unknown, supported: readonly string[]): FieldError {
  return make('FieldValueNotSupported', field, printed(value), `supported values: ${supported.map(quote).join(', ')}`)
}

/** The text exceeds its maximum length. */
export function tooLong(field: string, max: number): FieldError {
  return make('FieldValueTooLong', field, '', `may not be more than ${max} ${max === 1 ? 'byte' : 'bytes'}`)
}

/** The list or map exceeds its maximum size. */
export function tooMany(field: string, actual: number, max: number): FieldError {
  return make('FieldValueTooMany', field, printed(actual), `must have at most ${max} ${max === 1 ? 'item' : 'items'}`)
}

/** A string as Go quotes it. */
export function quote(text: string): string {
  return JSON.stringify(text)
}

function make(type: FieldErrorType, field: string, value: string, detail: string): FieldError {
  return { type, field, message: [titles[type], value, detail].filter(Boolean).join(': ') }
}

/** A longer value is cut off: an object can have many errors of one large value. */
const maxPrinted = 10_000

/** A value in a message: strings are quoted, everything else is JSON as Go writes it, with `<`, `>` and `&` escaped. */
function printed(value: unknown): string {
  const whole = JSON.stringify(value) ?? 'null'
  const json = whole.length > maxPrinted ? `${whole.slice(0, maxPrinted)}…` : whole
  return typeof value === 'string'
    ? json
    : json.replaceAll(/[<>&]/g, (char) => `\\u00${char.charCodeAt(0).toString(16)}`)
}
