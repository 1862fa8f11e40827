import type { FieldError } from '../../schema/types/field-error.ts'

/** Custom resources and their definitions may have finalizers without a domain, which the older groups may not. */
export function withoutFinalizerNameErrors(errors: readonly FieldError[]): readonly FieldError[] {
  return errors.filter(({ field, message }) => !(field.startsWith('metadata.finalizers[') && message.endsWith(strict)))
}

const strict = 'name is neither a standard finalizer name nor is it fully qualified'
