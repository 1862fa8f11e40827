import { invalidValue, required, type FieldError } from '../../types/field-error.ts'
import { checked, entries, given, named, text, type Json } from './checks.ts'
import { configKeyFaults, subdomainFaults } from '../../../../kube/names.ts'

/** Faults of a container's env and envFrom. */
export function* environmentFaults(container: Json, path: string): Generator<FieldError> {
  for (const [variable, at] of entries(container, 'env', path)) yield* variableFaults(variable, at)
  for (const [source, at] of entries(container, 'envFrom', path)) {
    const [map, secret] = [given(source, 'configMapRef'), given(source, 'secretRef')]
    const where = at.slice(0, at.lastIndexOf('['))
    if (map && secret) yield invalidValue(where, '', 'may not have more than one field specified at a time')
    else if (!map && !secret) yield invalidValue(where, '', 'must specify one of: `configMapRef` or `secretRef`')
    if (map) yield* named(`${at}.configMapRef.name`, map.name, subdomainFaults)
    if (secret) yield* named(`${at}.secretRef.name`, secret.name, subdomainFaults)
  }
}

function* variableFaults(variable: Json, path: string): Generator<FieldError> {
  const name = text(variable.name)
  if (name === '') yield required(`${path}.name`)
  else if (!/^[ -<>-~]+$/.test(name)) {
    const detail = "a valid environment variable name must consist only of printable ASCII characters other than '='"
    yield invalidValue(`${path}.name`, name, detail)
  }
  const from = given(variable, 'valueFrom')
  if (from) yield* sourceFaults(from, variable, `${path}.valueFrom`)
}

const sources = ['fieldRef', 'resourceFieldRef', 'configMapKeyRef', 'secretKeyRef', 'fileKeyRef']

function* sourceFaults(from: Json, variable: Json, path: string): Generator<FieldError> {
  const present = sources.filter((key) => given(from, key))
  for (const key of ['configMapKeyRef', 'secretKeyRef']) {
    const reference = given(from, key)
    if (!reference) continue
    yield* checked(`${path}.${key}.name`, reference.name, subdomainFaults)
    yield* named(`${path}.${key}.key`, reference.key, configKeyFaults)
  }
  const field = given(from, 'fieldRef')
  if (field) yield* fieldReferenceFaults(field, `${path}.fieldRef`)
  if (present.length === 0) {
    const detail =
      'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`'
    yield invalidValue(path, '', detail)
  } else if (text(variable.value) !== '') yield invalidValue(path, '', 'may not be specified when `value` is not empty')
  else if (present.length > 1) yield invalidValue(path, '', 'may not have more than one field specified at a time')
}

const fieldPaths = new Set([
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
])

function* fieldReferenceFaults(field: Json, path: string): Generator<FieldError> {
  const fieldPath = text(field.fieldPath)
  if (!fieldPath) yield required(`${path}.fieldPath`)
  else if (!fieldPaths.has(fieldPath) && !/^metadata\.(labels|annotations)\['[^']+'\]$/.test(fieldPath)) {
    yield invalidValue(
      `${path}.fieldPath`,
      fieldPath,
      `error converting fieldPath: field label not supported: ${fieldPath}`,
    )
  }
}
