import { invalidValue, required, unsupported, type FieldError } from '../types/field-error.ts'
import { goJsonError } from '../wire/json-text.ts'
import { at, checked, entries, given, size, text, type Json } from './parts/checks.ts'
import { configKeyFaults } from '../../../kube/names.ts'
import { podSpecFaults, templateFaults } from './parts/pod-spec.ts'
import { isMore, quantityFaults, resourceNameFaults, storageFaults } from './parts/resources.ts'

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
  for (const [name, value] of Object.entries(at(at(object, 'spec'), 'hard'))) {
    const path = `spec.hard[${name}]`
    const unknown = [...resourceNameFaults(name, path)]
    yield* unknown
    if (unknown.length > 0 && !name.includes('/'))
      yield invalidValue(path, name, 'must be a standard resource for quota')
    yield* quantityFaults(text(value), path)
  }
}

/** Faults of a LimitRange. */
export function* limitRangeFaults(object: Json): Generator<FieldError> {
  for (const [item, path] of entries(at(object, 'spec'), 'limits', 'spec')) {
    const [min, max, usual, request] = [
      at(item, 'min'),
      at(item, 'max'),
      at(item, 'default'),
      at(item, 'defaultRequest'),
    ]
    for (const [name, value] of Object.entries(min)) {
      const least = text(value)
      if (isMore(least, text(max[name]))) {
        yield invalidValue(
          `${path}.min[${name}]`,
          least,
          `min value ${least} is greater than max value ${text(max[name])}`,
        )
      }
      if (isMore(least, text(request[name]))) {
        const detail = `min value ${least} is greater than default request value ${text(request[name])}`
        yield invalidValue(`${path}.defaultRequest[${name}]`, text(request[name]), detail)
      }
      if (isMore(least, text(usual[name]))) {
        yield invalidValue(
          `${path}.default[${name}]`,
          least,
          `min value ${least} is greater than default value ${text(usual[name])}`,
        )
      }
    }
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
