import { deepEqual } from '../../../kube/patches/patch.ts'
import { compileRules } from '../../schema/custom/cel-rules.ts'
import { costFaults } from '../../schema/custom/rule-cost.ts'
import { checkStructural } from '../../schema/custom/check-structural.ts'
import { forbidden, invalidValue, required, unsupported, type FieldError } from '../../schema/types/field-error.ts'
import type { Definition, DefinitionNames, DefinitionSpec, DefinitionVersion } from './definition.ts'

/** Faults of a CRD that its type does not already exclude, worded as by apiextensions-apiserver. */
export function validateDefinition(definition: Definition, old?: Definition): readonly FieldError[] {
  return [...faults(definition, old?.spec.versions), ...(old ? changes(definition, old) : approvalFaults(definition))]
}

function* faults(
  { metadata, ...definition }: Definition,
  accepted: readonly DefinitionVersion[] = [],
): Generator<FieldError> {
  const spec: Partial<DefinitionSpec> = definition.spec
  const { group = '', names, scope, conversion } = spec
  const name = `${names?.plural ?? ''}.${group}`
  if (metadata.name !== name)
    yield invalidValue('metadata.name', metadata.name, 'must be spec.names.plural+"."+spec.group')
  if (!group) yield required('spec.group')
  else if (!subdomain.test(group) || !group.includes('.'))
    yield invalidValue('spec.group', group, 'should be a domain with at least one dot')
  if (scope !== 'Namespaced' && scope !== 'Cluster')
    yield scope ? unsupported('spec.scope', scope, ['Cluster', 'Namespaced']) : required('spec.scope')
  yield* nameFaults(names ?? { plural: '', kind: '' })
  if (conversion?.strategy === 'Webhook')
    yield forbidden('spec.conversion.strategy', 'this server does not call conversion webhooks')
  else if (conversion?.strategy && conversion.strategy !== 'None')
    yield unsupported('spec.conversion.strategy', conversion.strategy, ['None', 'Webhook'])
  if (spec.preserveUnknownFields)
    yield invalidValue(
      'spec.preserveUnknownFields',
      true,
      'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
    )
  yield* versionsFaults(spec.versions ?? [], accepted)
  yield* storedFaults(spec.versions ?? [])
}

/** Groups of the Kubernetes project need the approval of its reviewers, or say that they have none. */
function* approvalFaults({ metadata, spec }: Definition): Generator<FieldError> {
  if (!/(^|\.)(k8s|kubernetes)\.io$/.test(spec?.group ?? '')) return
  const key = 'api-approved.kubernetes.io'
  const value = metadata.annotations?.[key]
  const field = `metadata.annotations[${key}]`
  const see = 'see https://github.com/kubernetes/enhancements/pull/1111'
  if (!value) yield required(field, `protected groups must have approval annotation "${key}", ${see}`)
  else if (!value.startsWith('unapproved') && !URL.canParse(value))
    yield invalidValue(
      field,
      value,
      `protected groups must have approval annotation "${key}" with either a URL or a reason starting with "unapproved", ${see}`,
    )
}

/** Validates `status.storedVersions` as it would be initialized: from the first storage version. */
function* storedFaults(versions: readonly DefinitionVersion[]): Generator<FieldError> {
  const [first, ...others] = versions.filter(({ storage }) => storage)
  const field = 'status.storedVersions'
  if (!first) yield invalidValue(field, null, 'must have at least one stored version')
  for (const { name } of others) yield invalidValue(field, [first?.name], `must have the storage version ${name}`)
}

function* nameFaults({
  plural,
  singular,
  kind,
  listKind,
  shortNames = [],
  categories = [],
}: DefinitionNames): Generator<FieldError> {
  const at = 'spec.names'
  if (!plural) yield required(`${at}.plural`)
  if (!kind) yield required(`${at}.kind`)
  const labels: [string, string | undefined][] = [
    [`${at}.plural`, plural],
    [`${at}.singular`, singular],
    ...shortNames.map((name, index): [string, string] => [`${at}.shortNames[${index}]`, name]),
    ...categories.map((name, index): [string, string] => [`${at}.categories[${index}]`, name]),
  ]
  for (const [field, value] of labels) if (value && !label.test(value)) yield invalidValue(field, value, labelRule)
  for (const [field, value] of [[`${at}.kind`, kind] as const, [`${at}.listKind`, listKind] as const])
    if (value && !label.test(value.toLowerCase()))
      yield invalidValue(field, value, `may have mixed case, but should otherwise match: ${labelRule}`)
  if (kind && listKind && kind === listKind)
    yield invalidValue(`${at}.listKind`, listKind, 'kind and listKind may not be the same')
}

function* versionsFaults(
  versions: readonly DefinitionVersion[],
  accepted: readonly DefinitionVersion[],
): Generator<FieldError> {
  if (versions.filter(({ storage }) => storage).length !== 1)
    yield invalidValue('spec.versions', versions.map(asGo), 'must have exactly one version marked as storage version')
  const seen = new Set<string>()
  for (const [index, version] of versions.entries()) {
    const at = `spec.versions[${index}]`
    if (!label.test(version.name ?? '')) yield invalidValue(`${at}.name`, version.name, labelRule)
    if (seen.has(version.name)) yield invalidValue('spec.versions', version.name, 'must contain unique version names')
    seen.add(version.name)
    const before = accepted.find(({ name }) => name === version.name)
    yield* schemaFaults(version, at, { isOnly: versions.length === 1, before })
    yield* subresourceFaults(version, at)
  }
}

/** A version as the API quotes it in errors: by its Go field names. */
function asGo({ name, served, storage, deprecated = false, deprecationWarning }: DefinitionVersion) {
  return {
    Name: name,
    Served: served,
    Storage: storage,
    Deprecated: deprecated,
    DeprecationWarning: deprecationWarning ?? null,
    Schema: null,
    Subresources: null,
    AdditionalPrinterColumns: null,
    SelectableFields: null,
  }
}

function* schemaFaults(
  { schema, subresources }: DefinitionVersion,
  at: string,
  { isOnly, before }: { readonly isOnly: boolean; readonly before: DefinitionVersion | undefined },
): Generator<FieldError> {
  // For a single version the API reports the path that v1beta1 CRDs used.
  const path = isOnly ? 'spec.validation.openAPIV3Schema' : `${at}.schema.openAPIV3Schema`
  const openAPIV3Schema = schema?.openAPIV3Schema
  if (!openAPIV3Schema) {
    yield required(`${at}.schema.openAPIV3Schema`)
    return
  }
  const structural = checkStructural(openAPIV3Schema, path)
  yield* structural
  if (subresources?.status && openAPIV3Schema.type && openAPIV3Schema.type !== 'object')
    yield invalidValue(
      `${path}.type`,
      openAPIV3Schema.type,
      'only "object" is allowed as the type at the root of the schema if the status subresource is enabled',
    )
  if (structural.length > 0) return
  const { errors } = compileRules(openAPIV3Schema)
  for (const error of errors) yield { ...error, field: `${path}.${error.field}` }
  // A schema that is stored already stays: its rules have a budget when they run.
  if (errors.length === 0 && !deepEqual(schema, before?.schema)) yield* costFaults(openAPIV3Schema, path)
}

function* subresourceFaults(
  { subresources, selectableFields = [] }: DefinitionVersion,
  at: string,
): Generator<FieldError> {
  const scale = subresources?.scale
  if (scale) {
    const path = `${at}.subresources.scale`
    yield* pathFaults(`${path}.specReplicasPath`, scale.specReplicasPath, '.spec.')
    yield* pathFaults(`${path}.statusReplicasPath`, scale.statusReplicasPath, '.status.')
    if (scale.labelSelectorPath && !/^\.(spec|status)\./.test(scale.labelSelectorPath))
      yield invalidValue(
        `${path}.labelSelectorPath`,
        scale.labelSelectorPath,
        'should be a json path under either .spec or .status',
      )
  }
  for (const [index, { jsonPath }] of selectableFields.entries())
    if (!simplePath.test(jsonPath))
      yield invalidValue(`${at}.selectableFields[${index}].jsonPath`, jsonPath, 'is an invalid path')
}

function* pathFaults(field: string, path: string | undefined, prefix: string): Generator<FieldError> {
  if (!path) yield required(field)
  else if (!path.startsWith(prefix) || !simplePath.test(path))
    yield invalidValue(field, path, `should be a json path under ${prefix.slice(0, -1)}`)
}

function* changes({ spec }: Definition, { spec: before, status }: Definition): Generator<FieldError> {
  const immutable = 'field is immutable'
  if (spec.group !== before.group) yield invalidValue('spec.group', spec.group, immutable)
  if (spec.scope !== before.scope) yield invalidValue('spec.scope', spec.scope, immutable)
  if (spec.names?.plural !== before.names.plural) yield invalidValue('spec.names.plural', spec.names?.plural, immutable)
  if (spec.names?.kind !== before.names.kind) yield invalidValue('spec.names.kind', spec.names?.kind, immutable)
  const present = new Set((spec.versions ?? []).map(({ name }) => name))
  for (const [index, stored] of (status?.storedVersions ?? []).entries())
    if (!present.has(stored))
      yield invalidValue(
        `status.storedVersions[${index}]`,
        stored,
        'missing from spec.versions; ' +
          `${stored} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${stored} and removes ${stored} from status.storedVersions`,
      )
}

const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/
const label = /^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/
const simplePath = /^(\.[A-Za-z_$][\w$-]*(\[[^\]]*\])?)+$/
const labelRule =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end " +
  "with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
