import type { AppRef, PipelineSpec } from '../../../apis/pipeline.ts'
import { compile } from '../../../cel/compile.ts'
import { kubernetesEnvironment } from '../../../cel/environments.ts'
import { CelCompileError, CelError } from '../../../cel/errors.ts'
import { toJson } from '../../../cel/json.ts'
import type { Program } from '../../../cel/program.ts'
import { dynType, stringType } from '../../../cel/types.ts'
import type { Condition } from '../../../kube/conditions.ts'
import { parseApiVersion, type StoredObject } from '../../../kube/object.ts'
import { type PromotionError, permanent } from '../../../git/promotion-error.ts'

/** Health and revision of an application, read from its object. */
export type Reading =
  | {
      readonly read: 'ok'
      readonly ready: boolean
      readonly revision: string | undefined
      readonly fresh: boolean
      readonly message?: string
    }
  /** A CEL expression failed or returned the wrong type. */
  | { readonly read: 'invalid'; readonly message: string }

/** Reads health and revision from an application object. `fresh`: its status is about the newest generation. */
export type Adapter = (object: StoredObject) => Reading

/** The CEL expressions of a pipeline, compiled once for all of its kinds. */
export function compileAdapter({ healthy, revision }: PipelineSpec['adapter'] = {}): AdapterPrograms {
  return { ...(healthy ? { healthy: program(healthy) } : {}), ...(revision ? { revision: program(revision) } : {}) }
}

interface AdapterPrograms {
  readonly healthy?: Program | Error
  readonly revision?: Program | Error
}

/** The adapter for a kind. The pipeline's CEL expressions, where it has any, override the built-in rules. */
export function adapterFor(app: AppRef, { healthy, revision }: AdapterPrograms = {}): Adapter {
  const builtIn = builtInFor(app)
  if (!healthy && !revision) return builtIn
  return (object) => {
    const reading = builtIn(object)
    if (reading.read === 'invalid') return reading
    const ready = healthy ? evaluate(healthy, object, 'boolean') : reading.ready
    if (ready instanceof Error) return { read: 'invalid', message: `adapter.healthy: ${ready.message}` }
    const version = revision ? evaluate(revision, object, 'string') : reading.revision
    if (version instanceof Error) return { read: 'invalid', message: `adapter.revision: ${version.message}` }
    const { message: _, ...rest } = reading
    const known = healthy ? rest : reading
    return { ...known, ready: ready && !isTerminating(object), revision: version || undefined }
  }
}

/** The value to write at the marker for a revision; throws a permanent PromotionError when it cannot be computed. */
export function markerValue(expression: string, revision: string): string {
  const compiled = compile(expression, kubernetesEnvironment({ revision: stringType }))
  if (compiled instanceof CelCompileError) throw invalidValue(compiled.message)
  const result = compiled.evaluate({ revision }, { budget: costLimit })
  if (result instanceof CelError) throw invalidValue(result.shown)
  if (typeof result !== 'string' || result === '') throw invalidValue('must return a non-empty string')
  return result
}

/** Why an expression over this variable does not compile; undefined when it does. */
export function expressionProblem(expression: string, variable: 'self' | 'revision'): string | undefined {
  const types = variable === 'self' ? { self: dynType } : { revision: stringType }
  const compiled = compile(expression, kubernetesEnvironment(types))
  return compiled instanceof CelCompileError ? compiled.message : undefined
}

interface AppStatus {
  readonly observedGeneration?: number
  readonly conditions?: readonly (Pick<Condition, 'type' | 'status'> & Partial<Condition>)[]
  readonly lastAppliedRevision?: string
  readonly history?: readonly {
    readonly version?: number
    readonly status?: string
    readonly chartVersion?: string
    readonly ociDigest?: string
  }[]
  readonly sync?: { readonly status?: string; readonly revision?: string; readonly revisions?: readonly string[] }
  readonly health?: { readonly status?: string }
  readonly operationState?: { readonly phase?: string }
}

const costLimit = 100_000

function builtInFor({ apiVersion, kind }: AppRef): Adapter {
  const { group } = parseApiVersion(apiVersion)
  if (group === 'argoproj.io' && kind === 'Application') return readArgo
  if (group === 'helm.toolkit.fluxcd.io' && kind === 'HelmRelease')
    return (object) =>
      readFlux(object, ({ lastAppliedRevision, history }) => deployedChart(history) ?? lastAppliedRevision)
  return (object) => readFlux(object, ({ lastAppliedRevision }) => lastAppliedRevision)
}

/** Kustomization, HelmRelease, Terraform and others with a Ready condition and an applied revision. */
function readFlux(object: StoredObject, revisionOf: (status: AppStatus) => string | undefined): Reading {
  const status = (object.status ?? {}) as AppStatus
  const ready = status.conditions?.find(({ type }) => type === 'Ready')
  const observed = status.observedGeneration ?? ready?.observedGeneration
  const { generation = 0 } = object.metadata
  return {
    read: 'ok',
    ready: ready?.status === 'True' && !isTerminating(object),
    revision: revisionOf(status) || undefined,
    // -1 means that the controller has not seen the object yet; there is no older status to be out of date.
    fresh: observed === undefined || observed < 0 || observed >= generation,
    ...(ready?.status === 'True'
      ? {}
      : {
          message: ready
            ? `not ready: ${ready.reason ?? 'no reason given'}: ${ready.message ?? ''}`
            : 'it has no Ready condition yet; a kind that never has one needs spec.adapter',
        }),
  }
}

/**
 * HelmRelease v2 has a history instead of an applied revision; its newest deployed entry is what runs. For a chart of an OCIRepository
 * helm-controller adds the start of the digest to the version, which no registry has: `1.1.0+a1b2c3d4e5f6` is `1.1.0@sha256:…`.
 */
function deployedChart(history: AppStatus['history']): string | undefined {
  const newestFirst = (history ?? []).toSorted((left, right) => (right.version ?? 0) - (left.version ?? 0))
  const { chartVersion, ociDigest = '' } = newestFirst.find(({ status }) => status === 'deployed') ?? {}
  const suffix = `+${ociDigest.slice(ociDigest.indexOf(':') + 1).slice(0, 12)}`
  return ociDigest && chartVersion?.endsWith(suffix)
    ? `${chartVersion.slice(0, -suffix.length)}@${ociDigest}`
    : chartVersion
}

/** Argo CD records no observed generation; while an operation runs, its status may be out of date. */
function readArgo(object: StoredObject): Reading {
  const { sync, health, operationState } = (object.status ?? {}) as AppStatus
  const isRunning = operationState?.phase === 'Running' || operationState?.phase === 'Terminating'
  const revisions = sync?.revisions?.length ? sync.revisions.join(',') : undefined
  return {
    read: 'ok',
    ready: sync?.status === 'Synced' && health?.status === 'Healthy' && !isRunning && !isTerminating(object),
    revision: revisions ?? (sync?.revision || undefined),
    fresh: true,
    message: `sync ${sync?.status ?? 'unknown'}, health ${health?.status ?? 'unknown'}`,
  }
}

function isTerminating({ metadata }: StoredObject): boolean {
  return metadata.deletionTimestamp !== undefined
}

function program(expression: string): Program | Error {
  const compiled = compile(expression, kubernetesEnvironment({ self: dynType }))
  return compiled instanceof CelCompileError ? new Error(compiled.message) : compiled
}

function evaluate<T extends 'boolean' | 'string'>(
  compiled: Program | Error,
  object: StoredObject,
  type: T,
): (T extends 'boolean' ? boolean : string) | Error {
  if (compiled instanceof Error) return compiled
  const result = compiled.evaluate({ self: object }, { budget: costLimit })
  if (result instanceof CelError) return new Error(result.shown)
  const value = toJson(result)
  if (typeof value !== type) return new Error(`returned a ${typeof value}, not a ${type}`)
  return value as T extends 'boolean' ? boolean : string
}

function invalidValue(problem: string): PromotionError {
  return permanent('ValueInvalid', `adapter.value: ${problem}`)
}
