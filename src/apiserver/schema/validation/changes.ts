import { deepEqual } from '../../../kube/patches/patch.ts'
import { forbidden, invalidValue, type FieldError } from '../types/field-error.ts'
import { at, entries, text, type Json } from './parts/checks.ts'

/** Faults of an update: changes of immutable fields. */
export function changeFaults(key: string, object: Json, old: Json): readonly FieldError[] {
  return [...(changes[key]?.(object, old) ?? [])]
}

type Change = (object: Json, old: Json) => Iterable<FieldError>

const changes: Readonly<Record<string, Change>> = {
  Pod: podChanges,
  Service: serviceChanges,
  PersistentVolumeClaim: claimChanges,
  ConfigMap: (object, old) => frozenChanges(object, old, ['data', 'binaryData']),
  Secret: (object, old) => [...fixed('type', object.type, old.type), ...frozenChanges(object, old, ['data'])],
  ResourceQuota: (object, old) => fixed('spec.scopes', at(object, 'spec').scopes, at(old, 'spec').scopes),
  'apps/Deployment': selectorChanges,
  'apps/ReplicaSet': selectorChanges,
  'apps/DaemonSet': selectorChanges,
  'apps/StatefulSet': statefulSetChanges,
  'batch/Job': jobChanges,
  'rbac.authorization.k8s.io/RoleBinding': roleChanges,
  'rbac.authorization.k8s.io/ClusterRoleBinding': roleChanges,
  'discovery.k8s.io/EndpointSlice': (object, old) => fixed('addressType', object.addressType, old.addressType),
  'storage.k8s.io/StorageClass': storageClassChanges,
  'scheduling.k8s.io/PriorityClass': (object, old) =>
    object.value === old.value ? [] : [forbidden('value', 'may not be changed in an update.')],
}

function* fixed(path: string, value: unknown, old: unknown): Generator<FieldError> {
  if (!deepEqual(value, old)) yield invalidValue(path, value ?? null, 'field is immutable')
}

function* selectorChanges(object: Json, old: Json): Generator<FieldError> {
  yield* fixed('spec.selector', at(object, 'spec').selector, at(old, 'spec').selector)
}

function* roleChanges(object: Json, old: Json): Generator<FieldError> {
  if (deepEqual(object.roleRef, old.roleRef)) return
  const { apiGroup, kind, name } = at(object, 'roleRef')
  yield invalidValue('roleRef', { APIGroup: apiGroup, Kind: kind, Name: name }, 'cannot change roleRef')
}

function* frozenChanges(object: Json, old: Json, fields: readonly string[]): Generator<FieldError> {
  if (old.immutable !== true) return
  if (object.immutable !== true) yield forbidden('immutable', 'field is immutable when `immutable` is set')
  for (const field of fields) {
    if (!deepEqual(object[field] ?? {}, old[field] ?? {}))
      yield forbidden(field, 'field is immutable when `immutable` is set')
  }
}

const statefulSetFields = new Set([
  'replicas',
  'ordinals',
  'template',
  'updateStrategy',
  'revisionHistoryLimit',
  'persistentVolumeClaimRetentionPolicy',
  'minReadySeconds',
])

function* statefulSetChanges(object: Json, old: Json): Generator<FieldError> {
  const [spec, before] = [at(object, 'spec'), at(old, 'spec')]
  const names = new Set([...Object.keys(spec), ...Object.keys(before)])
  for (const name of names) {
    if (statefulSetFields.has(name) || deepEqual(spec[name], before[name])) continue
    const allowed = [...statefulSetFields].map((field) => `'${field}'`)
    const list = `${allowed.slice(0, -1).join(', ')} and ${allowed.at(-1)}`
    yield forbidden('spec', `updates to statefulset spec for fields other than ${list} are forbidden`)
    return
  }
}

function* jobChanges(object: Json, old: Json): Generator<FieldError> {
  const [spec, before] = [at(object, 'spec'), at(old, 'spec')]
  if (spec.completionMode !== 'Indexed') yield* fixed('spec.completions', spec.completions, before.completions)
  yield* fixed('spec.selector', spec.selector, before.selector)
  if (before.suspend !== true) yield* fixed('spec.template', spec.template, before.template)
  yield* fixed('spec.completionMode', spec.completionMode, before.completionMode)
  yield* fixed('spec.backoffLimitPerIndex', spec.backoffLimitPerIndex, before.backoffLimitPerIndex)
}

function* serviceChanges(object: Json, old: Json): Generator<FieldError> {
  const [spec, before] = [at(object, 'spec'), at(old, 'spec')]
  const address = text(before.clusterIP)
  const isKept = spec.type === 'ExternalName' || before.type === 'ExternalName' || address === ''
  // An omitted clusterIP keeps the stored one.
  if (isKept || text(spec.clusterIP) === '' || text(spec.clusterIP) === address) return
  yield invalidValue('spec.clusterIPs[0]', [text(spec.clusterIP)], 'may not change once set')
}

function* storageClassChanges(object: Json, old: Json): Generator<FieldError> {
  for (const field of ['parameters', 'provisioner', 'reclaimPolicy', 'volumeBindingMode']) {
    yield* fixed(field, object[field], old[field])
  }
}

/** The spec of a claim is immutable except for its requests and volume attributes class. */
function* claimChanges(object: Json, old: Json): Generator<FieldError> {
  const kept = (claim: Json): Json => {
    const { resources: _, volumeAttributesClassName: _class, volumeName: _volume, ...rest } = at(claim, 'spec')
    return rest
  }
  if (deepEqual(kept(object), kept(old))) return
  const detail =
    'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims'
  yield forbidden('spec', detail)
}

const podFields =
  'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)'

/** The spec of a pod is immutable except for images, deadline, added tolerations and the first nodeName. */
function* podChanges(object: Json, old: Json): Generator<FieldError> {
  const [spec, before] = [at(object, 'spec'), at(old, 'spec')]
  const isMoved = text(before.nodeName) !== '' && spec.nodeName !== before.nodeName
  if (isMoved || !deepEqual(comparable(spec), comparable(before))) yield forbidden('spec', podFields)
}

function comparable(spec: Json): Json {
  const withoutImages = (key: string): Json[] =>
    entries(spec, key, '').map(([{ image: _, resources: _resources, ...rest }]) => rest)
  const {
    activeDeadlineSeconds: _,
    tolerations: _tolerations,
    terminationGracePeriodSeconds: _grace,
    nodeName: _node,
    ...rest
  } = spec
  const { schedulingGates: _gates, ephemeralContainers: _ephemeral, ...fixedRest } = rest
  return { ...fixedRest, containers: withoutImages('containers'), initContainers: withoutImages('initContainers') }
}
