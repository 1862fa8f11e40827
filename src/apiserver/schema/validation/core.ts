import { duplicate, forbidden, invalidValue, required, unsupported, type FieldError } from '../types/field-error.ts'
import { goJsonError } from '../wire/json-text.ts'
import { at, checked, entries, given, size, strings, text, type Json } from './parts/checks.ts'
import { configKeyFaults, qualifiedNameFaults } from '../../../kube/names.ts'
import { podSpecFaults, templateFaults } from './parts/pod-spec.ts'
import { isMore, quantityFaults, resourceNameFaults, standardResources, storageFaults } from './parts/resources.ts'

/** Faults of a ConfigMap. */
export function* configMapFaults(object: Json): Generator<FieldError> {
  const [data, binary] = [at(object, 'data'), at(object, 'binaryData')]
  for (const key of Object.keys(data)) {
    yield* checked(`data[${key}]`, key, configKeyFaults)
    if (Object.hasOwn(binary, key)) yield invalidValue(`data[${key}]`, key, 'duplicate of key present in binaryData')
  }
  for (const key of Object.keys(binary)) yield* checked(`binaryData[${key}]`, key, configKeyFaults)
}

const keysOfTypes: Readonly<Record<string, readonly string[]>> = {
  'kubernetes.io/dockerconfigjson': ['.dockerconfigjson'],
  'kubernetes.io/dockercfg': ['.dockercfg'],
  'kubernetes.io/ssh-auth': ['ssh-privatekey'],
  'kubernetes.io/tls': ['tls.crt', 'tls.key'],
}

/** Faults of a Secret. */
export function* secretFaults(object: Json): Generator<FieldError> {
  const data = at(object, 'data')
  const type = text(object.type)
  for (const key of Object.keys(data)) yield* checked(`data[${key}]`, key, configKeyFaults)
  for (const key of keysOfTypes[type] ?? []) {
    if (!Object.hasOwn(data, key)) yield required(`data[${key}]`)
    else if (key.startsWith('.docker')) yield* jsonFaults(text(data[key]), `data[${key}]`)
  }
  if (type === 'kubernetes.io/basic-auth' && !('username' in data) && !('password' in data)) {
    yield required('data[username]')
    yield required('data[password]')
  }
  const account = 'kubernetes.io/service-account.name'
  const annotations = at(at(object, 'metadata'), 'annotations')
  if (type === 'kubernetes.io/service-account-token' && !text(annotations[account])) {
    yield required(`metadata.annotations[${account}]`)
  }
}

function* jsonFaults(base64: string, path: string): Generator<FieldError> {
  const content = Buffer.from(base64, 'base64').toString('utf8')
  try {
    JSON.parse(content)
  } catch {
    yield invalidValue(path, '<secret contents redacted>', goJsonError(content))
  }
}

/** Faults of a Pod. */
export function* podFaults(object: Json): Generator<FieldError> {
  yield* podSpecFaults(at(object, 'spec'), 'spec')
}

/** Faults of a PodTemplate. */
export function* podTemplateFaults(object: Json): Generator<FieldError> {
  yield* templateFaults(at(object, 'template'), 'template')
}

const accessModes = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod']

/** Faults of a PersistentVolumeClaim. */
export function* claimFaults(object: Json): Generator<FieldError> {
  const spec = at(object, 'spec')
  if (size(spec.accessModes) === 0) yield required('spec.accessModes', 'at least 1 access mode is required')
  yield* accessModeFaults(spec)
  yield* storageFaults(given(at(spec, 'resources'), 'requests'), 'spec.resources')
}

const volumeFields = new Set([
  'accessModes',
  'capacity',
  'claimRef',
  'persistentVolumeReclaimPolicy',
  'storageClassName',
  'mountOptions',
  'volumeMode',
  'nodeAffinity',
  'volumeAttributesClassName',
])

/** Faults of a PersistentVolume. */
export function* volumeFaults(object: Json): Generator<FieldError> {
  const spec = at(object, 'spec')
  if (size(spec.accessModes) === 0) yield required('spec.accessModes')
  yield* accessModeFaults(spec)
  const capacity = given(spec, 'capacity')
  if (!capacity) yield required('spec.capacity')
  if (!capacity || !('storage' in capacity) || size(capacity) > 1)
    yield unsupported('spec.capacity', capacity ?? null, ['storage'])
  else yield* storageFaults(capacity, 'spec.capacity')
  if (Object.keys(spec).every((key) => volumeFields.has(key))) yield required('spec', 'must specify a volume type')
}

function* accessModeFaults(spec: Json): Generator<FieldError> {
  for (const mode of Array.isArray(spec.accessModes) ? (spec.accessModes as unknown[]) : []) {
    if (!accessModes.includes(text(mode))) yield unsupported('spec.accessModes', mode, accessModes)
  }
}

/** Faults of a ResourceQuota. */
export function* quotaFaults(object: Json): Generator<FieldError> {
  const spec = at(object, 'spec')
  for (const [name, value] of Object.entries(at(spec, 'hard'))) {
    const path = `spec.hard[${name}]`
    const unknown = [...resourceNameFaults(name, path)]
    yield* unknown
    if (unknown.length > 0 && !name.includes('/'))
      yield invalidValue(path, name, 'must be a standard resource for quota')
    yield* quantityFaults(text(value), path)
  }
  yield* scopeFaults(strings(spec, 'scopes', 'spec'), spec)
  const requirements = entries(at(spec, 'scopeSelector'), 'matchExpressions', 'spec.scopeSelector')
  yield* scopeFaults(
    requirements.map(([{ scopeName }, path]) => [text(scopeName), `${path}.scopeName`]),
    spec,
  )
  for (const [{ scopeName, operator, values }, path] of requirements) {
    const isPriority = scopeName === 'PriorityClass'
    const hasValues = isPriority && (operator === 'In' || operator === 'NotIn')
    const isKnown = hasValues || operator === 'Exists' || (isPriority && operator === 'DoesNotExist')
    if (!isKnown || size(values) > 0 !== hasValues)
      yield invalidValue(`${path}.operator`, operator, 'must be Exists; others take PriorityClass, In and NotIn values')
  }
}

const computed = ['cpu', 'memory'].flatMap((name) => [name, `requests.${name}`, `limits.${name}`])
const scopesOfPods = ['Terminating', 'NotTerminating', 'NotBestEffort', 'PriorityClass', 'CrossNamespacePodAffinity']
/** The standard resources that a quota of each scope can limit. */
const scoped = new Map([
  ['BestEffort', ['pods']],
  ...scopesOfPods.map((scope) => [scope, ['pods', ...computed]] as const),
])

/** Faults of scopes, each with its path. */
function* scopeFaults(scopes: readonly (readonly [string, string])[], spec: Json): Generator<FieldError> {
  for (const [scope, path] of scopes) {
    const limited = scoped.get(scope)
    if (!limited) yield invalidValue(path, scope, 'unsupported scope')
    const other = Object.keys(at(spec, 'hard')).find((name) => standardResources.has(name) && !limited?.includes(name))
    if (limited && other) yield invalidValue(path, scope, `unsupported scope applied to resource ${other}`)
    if (scopes.some(([other]) => other === `Not${scope}`)) yield invalidValue(path, scope, 'conflicting scopes')
  }
}

const amounts = { min: 'min', max: 'max', defaultRequest: 'default request', default: 'default' } as const
/** The first amount of a limit may not be more than the second: the field at fault, and the amount that the message begins with. */
const orders = [
  ['min', 'max', 'min', 'min'],
  ['min', 'defaultRequest', 'defaultRequest', 'defaultRequest'],
  ['defaultRequest', 'max', 'defaultRequest', 'defaultRequest'],
  ['defaultRequest', 'default', 'defaultRequest', 'defaultRequest'],
  ['min', 'default', 'default', 'min'],
  ['default', 'max', 'default', 'max'],
] as const

/** Faults of a LimitRange. */
export function* limitRangeFaults(object: Json): Generator<FieldError> {
  const types = new Set<unknown>()
  for (const [limit, path] of entries(at(object, 'spec'), 'limits', 'spec')) {
    const type = text(limit.type)
    yield* checked(`${path}.type`, type, qualifiedNameFaults)
    if (!type.includes('/') && !['Pod', 'Container', 'PersistentVolumeClaim'].includes(type))
      yield invalidValue(`${path}.type`, type, 'must be a standard limit type or fully qualified')
    if (types.has(type)) yield duplicate(`${path}.type`, type)
    types.add(type)
    for (const field of type === 'Pod' ? ['default', 'defaultRequest'] : [])
      if (size(limit[field]) > 0) yield forbidden(`${path}.${field}`, "may not be specified when `type` is 'Pod'")
    for (const [less, more, field, shown] of orders)
      for (const [name, value] of Object.entries(at(limit, less))) {
        const [low, high] = [text(value), text(at(limit, more)[name])]
        const what = less === 'defaultRequest' && more === 'default' ? 'default limit' : amounts[more]
        if (isMore(low, high))
          yield invalidValue(
            `${path}.${field}[${name}]`,
            text(at(limit, shown)[name]),
            `${amounts[less]} value ${low} is greater than ${what} value ${high}`,
          )
      }
    for (const [name, ratio] of Object.entries(at(limit, 'maxLimitRequestRatio')))
      if (isMore('1', text(ratio)))
        yield invalidValue(`${path}.maxLimitRequestRatio[${name}]`, ratio, `ratio ${text(ratio)} is less than 1`)
  }
}

/** Faults of an Event of the events group. */
export function* newEventFaults(object: Json): Generator<FieldError> {
  if (!object.eventTime) yield required('eventTime')
  else {
    for (const field of ['reportingController', 'reportingInstance', 'action', 'reason']) {
      if (!text(object[field])) yield required(field)
    }
  }
  const type = text(object.type)
  if (type !== 'Normal' && type !== 'Warning') yield invalidValue('type', '', `has invalid value: ${type}`)
}

/** Faults of an Event of the core group. */
export function* eventFaults(object: Json): Generator<FieldError> {
  const namespace = text(at(object, 'metadata').namespace)
  const involved = text(at(object, 'involvedObject').namespace)
  const isFine = involved === '' ? namespace === 'default' || namespace === '' : involved === namespace
  if (!isFine) yield invalidValue('involvedObject.namespace', involved, 'does not match event.namespace')
}
