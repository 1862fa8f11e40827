import { forbidden, invalidValue, required, type FieldError } from '../types/field-error.ts'
import { at, entries, given, named, notNegative, number, oneOf, text, type Json } from './parts/checks.ts'
import { pathSegmentFaults } from '../../../kube/names.ts'
import { selectorFaults } from './parts/selectors.ts'
import { shareFaults } from './workloads.ts'

/** Faults of a HorizontalPodAutoscaler of either version. */
export function* autoscalerFaults(object: Json): Generator<FieldError> {
  const spec = at(object, 'spec')
  const [min, max] = [number(spec.minReplicas), number(spec.maxReplicas) ?? 0]
  if (min !== undefined && min < 1) yield invalidValue('spec.minReplicas', min, 'must be greater than or equal to 1')
  if (max < 1) yield required('spec.maxReplicas', 'must be set and greater than 0')
  if (min !== undefined && max < min)
    yield invalidValue('spec.maxReplicas', max, 'must be greater than or equal to `minReplicas`')
  const target = at(spec, 'scaleTargetRef')
  yield* named('spec.scaleTargetRef.kind', target.kind, pathSegmentFaults)
  yield* named('spec.scaleTargetRef.name', target.name, pathSegmentFaults)
  if (!text(target.apiVersion).includes('/') && target.kind !== 'ReplicationController') {
    yield invalidValue('spec.scaleTargetRef.apiVersion', text(target.apiVersion), 'apiVersion must specify API group')
  }
  for (const [metric, path] of entries(spec, 'metrics', 'spec')) yield* metricFaults(metric, path)
}

const metricTypes = ['ContainerResource', 'External', 'Object', 'Pods', 'Resource']

function* metricFaults(metric: Json, path: string): Generator<FieldError> {
  yield* oneOf(`${path}.type`, metric.type, metricTypes)
  const resource = metric.type === 'Resource' ? given(metric, 'resource') : undefined
  if (metric.type === 'Resource' && !resource) {
    yield required(`${path}.resource`, 'must populate information for the given metric source')
  }
  if (!resource) return
  if (!text(resource.name)) yield required(`${path}.resource.name`, 'must specify a resource name')
  const target = at(resource, 'target')
  if (target.averageUtilization === undefined && target.averageValue === undefined) {
    yield required(
      `${path}.resource.target.averageUtilization`,
      'must set either a target raw value or a target utilization',
    )
  }
}

/** Faults of a PodDisruptionBudget. */
export function* disruptionBudgetFaults(object: Json): Generator<FieldError> {
  const spec = at(object, 'spec')
  const { minAvailable, maxUnavailable } = spec
  if (minAvailable !== undefined && maxUnavailable !== undefined) {
    const shown = {
      MinAvailable: minAvailable,
      Selector: spec.selector ?? null,
      MaxUnavailable: maxUnavailable,
      UnhealthyPodEvictionPolicy: spec.unhealthyPodEvictionPolicy ?? null,
    }
    yield invalidValue('spec', shown, 'minAvailable and maxUnavailable cannot be both set')
  }
  yield* shareFaults(minAvailable, 'spec.minAvailable')
  yield* shareFaults(maxUnavailable, 'spec.maxUnavailable')
  yield* selectorFaults('spec.selector', given(spec, 'selector'))
}

/** Faults of a StorageClass. */
export function* storageClassFaults(object: Json): Generator<FieldError> {
  if (!text(object.provisioner)) yield required('provisioner')
  yield* oneOf('reclaimPolicy', object.reclaimPolicy, ['Delete', 'Retain'])
  yield* oneOf('volumeBindingMode', object.volumeBindingMode, ['Immediate', 'WaitForFirstConsumer'])
}

const highestPriority = 1_000_000_000

/** Faults of a PriorityClass. */
export function* priorityClassFaults(object: Json): Generator<FieldError> {
  const name = text(at(object, 'metadata').name)
  if (name.startsWith('system-') && name !== 'system-cluster-critical' && name !== 'system-node-critical') {
    const detail = `priority class names with 'system-' prefix are reserved for system use only. error: ${name} is not a known system priority class`
    yield forbidden('metadata.name', detail)
  } else if (!name.startsWith('system-') && (number(object.value) ?? 0) > highestPriority) {
    yield forbidden('value', `maximum allowed value of a user defined priority is ${highestPriority}`)
  }
  yield* oneOf('preemptionPolicy', object.preemptionPolicy, ['PreemptLowerPriority', 'Never'])
}

/** Faults of a Lease. */
export function* leaseFaults(object: Json): Generator<FieldError> {
  const spec = at(object, 'spec')
  const duration = number(spec.leaseDurationSeconds)
  if (duration !== undefined && duration <= 0)
    yield invalidValue('spec.leaseDurationSeconds', duration, 'must be greater than 0')
  yield* notNegative('spec.leaseTransitions', spec.leaseTransitions)
}
