import { forbidden, invalidValue, required, unsupported, type FieldError } from '../types/field-error.ts'
import { at, entries, given, notNegative, number, text, type Json } from './parts/checks.ts'
import { templateFaults } from './parts/pod-spec.ts'
import { isEmptySelector, selectorFaults, selects } from './parts/selectors.ts'

/** Faults of a Deployment. */
export function* deploymentFaults(object: Json): Generator<FieldError> {
  const spec = at(object, 'spec')
  yield* notNegative('spec.replicas', spec.replicas)
  yield* selectionFaults(spec, 'deployment')
  yield* strategyFaults(at(spec, 'strategy'))
  yield* notNegative('spec.minReadySeconds', spec.minReadySeconds)
  yield* notNegative('spec.revisionHistoryLimit', spec.revisionHistoryLimit)
  const deadline = number(spec.progressDeadlineSeconds)
  yield* notNegative('spec.progressDeadlineSeconds', deadline)
  if (deadline !== undefined && deadline <= (number(spec.minReadySeconds) ?? 0)) {
    yield invalidValue('spec.progressDeadlineSeconds', deadline, 'must be greater than minReadySeconds')
  }
}

/** Faults of a ReplicaSet. */
export function* replicaSetFaults(object: Json): Generator<FieldError> {
  const spec = at(object, 'spec')
  yield* notNegative('spec.replicas', spec.replicas)
  yield* notNegative('spec.minReadySeconds', spec.minReadySeconds)
  yield* selectionFaults(spec, 'replicaset')
}

/** Faults of a StatefulSet. */
export function* statefulSetFaults(object: Json): Generator<FieldError> {
  const spec = at(object, 'spec')
  const policy = text(spec.podManagementPolicy)
  if (policy === '') yield required('spec.podManagementPolicy')
  else if (policy !== 'OrderedReady' && policy !== 'Parallel') {
    yield invalidValue('spec.podManagementPolicy', policy, "must be 'OrderedReady' or 'Parallel'")
  }
  const strategy = at(spec, 'updateStrategy')
  const type = text(strategy.type)
  if (type !== 'RollingUpdate' && type !== 'OnDelete') {
    const shown = { Type: type, RollingUpdate: strategy.rollingUpdate ?? null }
    yield invalidValue('spec.updateStrategy', shown, "must be 'RollingUpdate' or 'OnDelete'")
  }
  yield* notNegative('spec.updateStrategy.rollingUpdate.partition', at(strategy, 'rollingUpdate').partition)
  yield* notNegative('spec.replicas', spec.replicas)
  yield* notNegative('spec.minReadySeconds', spec.minReadySeconds)
  yield* notNegative('spec.revisionHistoryLimit', spec.revisionHistoryLimit)
  const claims = entries(spec, 'volumeClaimTemplates', 'spec').map(([claim]) => text(at(claim, 'metadata').name))
  yield* selectionFaults(spec, 'statefulset', claims)
}

/** Faults of a DaemonSet. */
export function* daemonSetFaults(object: Json): Generator<FieldError> {
  const spec = at(object, 'spec')
  yield* selectionFaults(spec, 'daemonset')
  yield* notNegative('spec.minReadySeconds', spec.minReadySeconds)
  const strategy = at(spec, 'updateStrategy')
  const rolling = at(strategy, 'rollingUpdate')
  const path = 'spec.updateStrategy'
  if (strategy.type === 'RollingUpdate') {
    yield* shareFaults(rolling.maxUnavailable, `${path}.rollingUpdate.maxUnavailable`)
    yield* shareFaults(rolling.maxSurge, `${path}.rollingUpdate.maxSurge`)
    if (isZero(rolling.maxUnavailable) && isZero(rolling.maxSurge)) {
      yield required(`${path}.rollingUpdate.maxUnavailable`, 'cannot be 0 when maxSurge is 0')
    }
  } else if (strategy.type !== 'OnDelete') {
    yield unsupported(path, { Type: text(strategy.type), RollingUpdate: strategy.rollingUpdate ?? null }, [
      'RollingUpdate',
      'OnDelete',
    ])
  }
  yield* notNegative('spec.revisionHistoryLimit', spec.revisionHistoryLimit)
}

/** Faults of a ReplicationController. */
export function* replicationControllerFaults(object: Json): Generator<FieldError> {
  const spec = at(object, 'spec')
  const selector = given(spec, 'selector')
  yield* notNegative('spec.minReadySeconds', spec.minReadySeconds)
  if (!selector || Object.keys(selector).length === 0) yield required('spec.selector')
  yield* notNegative('spec.replicas', spec.replicas)
  const template = given(spec, 'template')
  if (!template) yield required('spec.template')
  else yield* matchedTemplateFaults(template, { matchLabels: selector ?? {} })
}

/** Faults of a number or percentage of pods. */
export function* shareFaults(value: unknown, path: string): Generator<FieldError> {
  if (typeof value === 'number') yield* notNegative(path, value)
  if (typeof value !== 'string') return
  if (!/^[0-9]+%$/.test(value)) {
    const detail =
      "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
    yield invalidValue(path, value, detail)
  } else if (Number(value.slice(0, -1)) > 100) yield invalidValue(path, value, 'must not be greater than 100%')
}

/** Faults of a workload's selector, which must match the labels of its pod template. Pods get a volume for each of `claims`. */
function* selectionFaults(spec: Json, kind: string, claims: readonly string[] = []): Generator<FieldError> {
  const selector = given(spec, 'selector')
  if (!selector) yield required('spec.selector')
  else {
    yield* selectorFaults('spec.selector', selector)
    if (isEmptySelector(selector))
      yield invalidValue('spec.selector', selector, `empty selector is invalid for ${kind}`)
  }
  const template = at(spec, 'template')
  if (selector && selects(selector, {}) === undefined) {
    yield invalidValue('spec.selector', selector, 'invalid label selector')
    return
  }
  yield* matchedTemplateFaults(template, selector, claims)
}

function* matchedTemplateFaults(
  template: Json,
  selector: Json | undefined,
  claims: readonly string[] = [],
): Generator<FieldError> {
  const labels = given(at(template, 'metadata'), 'labels')
  const path = 'spec.template'
  if (!selector || (!isEmptySelector(selector) && !selects(selector, labels ?? {}))) {
    yield invalidValue(`${path}.metadata.labels`, labels ?? null, '`selector` does not match template `labels`')
  }
  yield* templateFaults(template, path, claims)
  const policy = text(at(template, 'spec').restartPolicy)
  if (policy !== 'Always') yield unsupported(`${path}.spec.restartPolicy`, policy, ['Always'])
  if (number(at(template, 'spec').activeDeadlineSeconds) !== undefined) {
    yield forbidden(`${path}.spec.activeDeadlineSeconds`, 'activeDeadlineSeconds in ReplicaSet is not Supported')
  }
}

function* strategyFaults(strategy: Json): Generator<FieldError> {
  const rolling = given(strategy, 'rollingUpdate')
  const path = 'spec.strategy.rollingUpdate'
  if (strategy.type === 'Recreate') {
    if (rolling) yield forbidden(path, "may not be specified when strategy `type` is 'Recreate'")
  } else if (strategy.type === 'RollingUpdate') {
    yield* shareFaults(rolling?.maxUnavailable, `${path}.maxUnavailable`)
    yield* shareFaults(rolling?.maxSurge, `${path}.maxSurge`)
    if (isZero(rolling?.maxUnavailable) && isZero(rolling?.maxSurge)) {
      yield invalidValue(`${path}.maxUnavailable`, rolling?.maxUnavailable, 'may not be 0 when `maxSurge` is 0')
    }
  } else {
    const shown = { Type: text(strategy.type), RollingUpdate: strategy.rollingUpdate ?? null }
    yield unsupported('spec.strategy', shown, ['Recreate', 'RollingUpdate'])
  }
}

function isZero(value: unknown): boolean {
  return value === 0 || value === '0%'
}
