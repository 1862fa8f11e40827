import { invalidValue, maxErrors, type FieldError } from '../types/field-error.ts'
import { listFaults } from './list-faults.ts'
import { schemaFaults } from './schema-faults.ts'
import type { StructuralSchema } from '../types/structural-schema.ts'

/** Checks x-kubernetes-validations of a whole object; `old` is undefined on create. */
export type RuleHook = (object: unknown, old: unknown) => readonly FieldError[]

/** How to validate a custom resource. */
export interface CustomValidation {
  /** The stored object, on update: faults in unchanged parts are then ignored. */
  readonly old?: unknown
  readonly rules?: RuleHook
}

/** All faults of a custom resource against its schema, with the API's messages. Prune and default it first. */
export function validateCustom(
  schema: StructuralSchema,
  object: unknown,
  { old, rules }: CustomValidation = {},
): readonly FieldError[] {
  const errors = [...schemaFaults(schema, object, old), ...listFaults(schema, object, old).take(maxErrors)]
  if (!rules) return errors
  if (errors.some(({ type }) => blocking.has(type))) {
    return [
      ...errors,
      invalidValue(
        '<nil>',
        null,
        'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
      ),
    ]
  }
  return [...errors, ...rules(object, old)]
}

/** Faults that prevent rules from running: the values do not have the types that rules expect. */
const blocking = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
])
