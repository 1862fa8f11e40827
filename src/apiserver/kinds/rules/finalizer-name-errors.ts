import type { FieldError } from '../../schema/types/field-error.ts'

/**
 * Drops the errors about finalizers without a domain: custom resources and CRDs may have such names, built-in kinds
 * may not.
 */
export function withoutFinalizerNameErrors(errors: readonly FieldError[]): readonly FieldError[] {
  return errors.filter(({ field, message }) => !(field.startsWith('metadata.finalizers[') && message.endsWith(strict)))
}

const strict = 'name is neither a standard finalizer name nor is it fully qualified'
