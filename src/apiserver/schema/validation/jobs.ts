import { invalidValue, required, unsupported, type FieldError } from '../types/field-error.ts'
import { at, given, notNegative, notServed, number, oneOf, text, type Json } from './parts/checks.ts'
import { scheduleFault } from '../../../kube/calendar/cron.ts'
import { isTimeZone } from '../../../kube/calendar/zoned-time.ts'
import { templateFaults } from './parts/pod-spec.ts'
import { selectorFaults } from './parts/selectors.ts'

/** Faults of a Job. */
export function* jobFaults(object: Json): Generator<FieldError> {
  yield* jobSpecFaults(at(object, 'spec'), 'spec')
}

/** Faults of a CronJob. */
export function* cronJobFaults(object: Json): Generator<FieldError> {
  const spec = at(object, 'spec')
  const schedule = text(spec.schedule)
  const name = text(at(object, 'metadata').name)
  if (schedule === '') yield required('spec.schedule')
  else {
    const fault = scheduleFault(schedule)
    if (fault) yield invalidValue('spec.schedule', schedule, fault)
  }
  yield* notNegative('spec.startingDeadlineSeconds', spec.startingDeadlineSeconds)
  const zone = text(spec.timeZone)
  if (zone && !isTimeZone(zone)) yield invalidValue('spec.timeZone', zone, `unknown time zone ${zone}`)
  yield* oneOf('spec.concurrencyPolicy', spec.concurrencyPolicy, ['Allow', 'Forbid', 'Replace'])
  yield* jobSpecFaults(at(at(spec, 'jobTemplate'), 'spec'), 'spec.jobTemplate.spec')
  yield* notNegative('spec.successfulJobsHistoryLimit', spec.successfulJobsHistoryLimit)
  yield* notNegative('spec.failedJobsHistoryLimit', spec.failedJobsHistoryLimit)
  if (name.length > 52) yield invalidValue('metadata.name', name, 'must be no more than 52 characters')
}

/** kube-apiserver allows any number of completions. */
const maxIndexes = 100_000

function* jobSpecFaults(spec: Json, path: string): Generator<FieldError> {
  for (const key of [
    'parallelism',
    'completions',
    'activeDeadlineSeconds',
    'backoffLimit',
    'ttlSecondsAfterFinished',
  ]) {
    yield* notNegative(`${path}.${key}`, spec[key])
  }
  yield* notServed(spec, path, ['podFailurePolicy', 'backoffLimitPerIndex', 'maxFailedIndexes', 'successPolicy'])
  const mode = text(spec.completionMode)
  if (mode && mode !== 'NonIndexed' && mode !== 'Indexed')
    yield unsupported(`${path}.completionMode`, mode, ['NonIndexed', 'Indexed'])
  if (mode === 'Indexed' && typeof spec.completions !== 'number') {
    yield required(`${path}.completions`, 'when completion mode is Indexed')
  }
  for (const key of mode === 'Indexed' ? ['parallelism', 'completions'] : [])
    if ((number(spec[key]) ?? 0) > maxIndexes)
      yield invalidValue(
        `${path}.${key}`,
        spec[key],
        `must be less than or equal to ${maxIndexes} when completion mode is Indexed`,
      )
  yield* selectorFaults(`${path}.selector`, given(spec, 'selector'))
  const template = at(spec, 'template')
  yield* templateFaults(template, `${path}.template`)
  const policy = text(at(template, 'spec').restartPolicy)
  if (policy === '' || policy === 'Always') {
    yield required(`${path}.template.spec.restartPolicy`, 'valid values: "OnFailure", "Never"')
  } else if (policy !== 'OnFailure' && policy !== 'Never') {
    yield unsupported(`${path}.template.spec.restartPolicy`, policy, ['OnFailure', 'Never'])
  }
}
