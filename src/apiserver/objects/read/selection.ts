import { matches, parseFieldSelector, parseLabelSelector, type Requirement } from '../../../kube/selector.ts'
import type { ServedKind } from '../../kinds/contract/served-kind.ts'
import type { Document } from '../../store/document.ts'
import { badRequest } from '../contract/failures.ts'
import type { Selection } from '../contract/request.ts'

/** The compiled selectors of a list or watch. */
export interface Filter {
  /** Whether every object passes. */
  readonly selectsAll: boolean
  /** The only name that can match, if the field selector names one. */
  readonly onlyName: string | undefined
  /** The only namespace that can match, if the field selector names one. */
  readonly onlyNamespace: string | undefined
  accepts(document: Document): boolean
}

/** Parses both selectors; throws BadRequest for bad syntax and for unsupported field labels. */
export function filterOf(type: ServedKind, { labelSelector = '', fieldSelector = '' }: Selection): Filter {
  const labels = parseLabelSelector(labelSelector)
  const fields = parseFieldSelector(fieldSelector)
  for (const { key } of fields) if (!type.selectableFields.has(key)) throw unsupported(type, key)
  const hints = labels.flatMap(hintOf)
  const accepts = (document: Document) => {
    if (hints.some((hint) => !document.text.includes(hint))) return false
    const object = document.value
    if (!matches(labels, object.metadata.labels)) return false
    return fields.length === 0 || matches(fields, type.fieldsOf(object))
  }
  return {
    selectsAll: labels.length === 0 && fields.length === 0,
    onlyName: onlyValue(fields, 'metadata.name'),
    onlyNamespace: onlyValue(fields, 'metadata.namespace'),
    accepts: labels.length === 0 && fields.length === 0 ? () => true : accepts,
  }
}

/** Text that every matching document contains, so that most others are rejected without parsing. */
function hintOf({ key, operator, values }: Requirement): string[] {
  if (operator === 'In' && values.length === 1) return [`${JSON.stringify(key)}:${JSON.stringify(values[0])}`]
  return operator === 'In' || operator === 'Exists' ? [`${JSON.stringify(key)}:`] : []
}

function onlyValue(fields: readonly Requirement[], key: string): string | undefined {
  return fields.find((field) => field.key === key && field.operator === 'In')?.values[0]
}

function unsupported(type: ServedKind, key: string) {
  return type.custom || type.selectableFields.size > 2
    ? badRequest(`field label not supported: ${key}`)
    : badRequest(`"${key}" is not a known field selector: only "metadata.name", "metadata.namespace"`)
}
