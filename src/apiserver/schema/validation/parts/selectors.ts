import { invalidValue, forbidden, required, type FieldError } from '../../types/field-error.ts'
import { checked, entries, size, text, type Json } from './checks.ts'
import { matches, requirementsOf } from '../../../../kube/selector.ts'
import { labelsFaults } from './metadata.ts'
import { labelValueFaults, qualifiedNameFaults } from '../../../../kube/names.ts'

/** Faults of a label selector. */
export function* selectorFaults(path: string, selector: Json | undefined): Generator<FieldError> {
  if (!selector) return
  yield* labelsFaults(`${path}.matchLabels`, selector.matchLabels)
  for (const [expression, at] of entries(selector, 'matchExpressions', path)) yield* expressionFaults(expression, at)
}

/** Whether a selector matches these labels; undefined when the selector is invalid. */
export function selects(selector: Json, labels: Json): boolean | undefined {
  if ([...selectorFaults('', selector)].length > 0) return undefined
  return matches(requirementsOf(selector), labels as Readonly<Record<string, string>>)
}

/** Whether a selector matches everything. */
export function isEmptySelector(selector: Json): boolean {
  return size(selector.matchLabels) === 0 && size(selector.matchExpressions) === 0
}

function* expressionFaults(expression: Json, path: string): Generator<FieldError> {
  const { operator, values } = expression
  if (operator === 'In' || operator === 'NotIn') {
    if (size(values) === 0) yield required(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'")
  } else if (operator === 'Exists' || operator === 'DoesNotExist') {
    if (size(values) > 0)
      yield forbidden(`${path}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
  } else yield invalidValue(`${path}.operator`, text(operator), 'not a valid selector operator')
  yield* checked(`${path}.key`, expression.key, qualifiedNameFaults)
  for (const [index, value] of (Array.isArray(values) ? values : []).entries()) {
    yield* checked(`${path}.values[${index}]`, value, labelValueFaults)
  }
}
