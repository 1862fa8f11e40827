import type { AdmissionHook } from '../apiserver/objects/contract/admission.ts'
import { bond, type BondSpec } from '../apis/bond.ts'
import { cleanerKinds } from '../apis/cleaner-kinds.ts'
import { cleanupOptOut, type CleanupOptOutSpec } from '../apis/cleanup-opt-out.ts'
import { environmentClass, type EnvironmentClassSpec } from '../apis/environment-class.ts'
import { environment, type Environment } from '../apis/environment.ts'
import { pipeline, type PipelineSpec } from '../apis/pipeline.ts'
import { workSchedule, type WorkScheduleSpec } from '../apis/work-schedule.ts'
import { scheduleProblems } from '../apis/work-window.ts'
import type { KubeObject } from '../kube/object.ts'
import { requirementsOf } from '../kube/selector.ts'
import { isStatusError, StatusError } from '../kube/status-error.ts'
import { resultProblems } from '../systems/cleaner/decision/conditions.ts'
import { readModel } from '../systems/cleaner/decision/read-model.ts'
import { readClass } from '../systems/environments/decision/rules.ts'
import { parsePullUrl } from '../forges/pull-address.ts'
import { pipelineProblems } from '../systems/promoter/model/problems.ts'

/** An invalid field of one of Sojourn's objects. */
interface Problem {
  readonly field: string
  readonly message: string
}

/** Validation beyond the schema, by `Kind.group`: all problems of an object. Shared by the embedded server and the webhook. */
export const checks: Readonly<Record<string, (object: KubeObject) => readonly Problem[]>> = {
  ...Object.fromEntries(cleanerKinds.map(({ kind, group }) => [`${kind}.${group}`, cleanerProblems])),
  [`${pipeline.kind}.${pipeline.group}`]: ({ spec, metadata }) =>
    pipelineProblems(spec as PipelineSpec, metadata.namespace ?? ''),
  [`${cleanupOptOut.kind}.${cleanupOptOut.group}`]: ({ spec }) =>
    selectorProblems('spec.selector.labels', (spec as CleanupOptOutSpec).selector?.labels),
  [`${environmentClass.kind}.${environmentClass.group}`]: ({ spec }) =>
    readClass(spec as EnvironmentClassSpec).problems,
  [`${environment.kind}.${environment.group}`]: environmentProblems,
  [`${bond.kind}.${bond.group}`]: ({ spec }) =>
    selectorProblems('spec.dependent.selector', (spec as BondSpec).dependent.selector),
  [`${workSchedule.kind}.${workSchedule.group}`]: ({ spec }) =>
    scheduleProblems(spec as WorkScheduleSpec).map(({ field, problem }) => ({ field, message: problem })),
}

/** Refuses invalid objects of Sojourn's kinds on the embedded server, naming each field. */
export const ownKindsAdmission: AdmissionHook = {
  validate({ operation, type, subresource, object, old }) {
    const refusal = operation === 'DELETE' || subresource !== '' || !object ? undefined : refusalOf(type, object, old)
    if (refusal) throw refusal
  },
}

/** Why an object is refused; undefined when it is valid, or not one of Sojourn's kinds. */
export function refusalOf(
  type: { readonly kind: string; readonly group: string },
  object: KubeObject,
  old: KubeObject | undefined,
): StatusError | undefined {
  const check = checks[`${type.kind}.${type.group}`]
  // A stored object may be labelled, finalized and deleted even if its spec would be refused today.
  if (!check || (old && JSON.stringify(old.spec) === JSON.stringify(object.spec))) return undefined
  const problems = check(object)
  return problems.length > 0 ? invalid(type, object.metadata.name ?? '', problems) : undefined
}

/** A 422 in kube-apiserver's words. */
function invalid(
  { kind, group }: { readonly kind: string; readonly group: string },
  name: string,
  problems: readonly Problem[],
): StatusError {
  const list = problems.map(({ field, message }) => `${field}: ${message}`)
  const text = list.length === 1 ? list[0] : `[${list.join(', ')}]`
  return new StatusError('Invalid', `${kind}.${group} "${name}" is invalid: ${text}`, {
    details: {
      name,
      group,
      kind,
      causes: problems.map(({ field, message }) => ({ reason: 'FieldValueInvalid', field, message })),
    },
  })
}

function selectorProblems(
  field: string,
  selector: Parameters<typeof requirementsOf>[0] | undefined,
): readonly Problem[] {
  try {
    requirementsOf(selector ?? {})
    return []
  } catch (error) {
    if (!isStatusError(error)) throw error
    return [{ field, message: error.message }]
  }
}

function environmentProblems({ spec }: KubeObject): readonly Problem[] {
  const { url } = (spec as Environment['spec']).pullRequest ?? {}
  if (url === undefined || parsePullUrl(url)) return []
  return [
    { field: 'spec.pullRequest.url', message: 'must be the https address of a pull request, as a browser shows it' },
  ]
}

function cleanerProblems(object: KubeObject): readonly Problem[] {
  const reading = readModel(object)
  return 'problems' in reading ? reading.problems : resultProblems(reading.model)
}
