import type { AppRef, PipelineSpec } from '../../../apis/pipeline.ts'
import { compile } from '../../../cel/compile.ts'
import { kubernetesEnvironment } from '../../../cel/environments.ts'
import { CelCompileError, CelError } from '../../../cel/errors.ts'
import { toJson } from '../../../cel/json.ts'
import type { Program } from '../../../cel/program.ts'
import { dynType, stringType } from '../../../cel/types.ts'
import { parseApiVersion, type StoredObject } from '../../../kube/object.ts'
import { Trouble } from '../../../git/trouble.ts'

/** What an application says of itself. */
export type Reading =
  | { readonly read: 'ok'; readonly ready: boolean; readonly revision: string | undefined; readonly fresh: boolean }
  /** An expression did not give what it should. */
  | { readonly read: 'invalid'; readonly message: string }

/** Reads health and revision out of an application object. */
export type Adapter = (object: StoredObject) => Reading

/** The adapter for a kind, with the pipeline's own expressions where it has any. */
export function adapterFor(app: AppRef, wishes: PipelineSpec['adapter'] = {}): Adapter {
  const builtIn = builtInFor(app)
  if (!wishes.healthy && !wishes.revision) return builtIn
  const healthy = wishes.healthy ? program(wishes.healthy) : undefined
  const revision = wishes.revision ? program(wishes.revision) : undefined
  return (object) => {
    const reading = builtIn(object)
    if (reading.read === 'invalid') return reading
    const ready = healthy ? answer(healthy, object, 'boolean') : reading.ready
    if (ready instanceof Error) return { read: 'invalid', message: `adapter.healthy: ${ready.message}` }
    const version = revision ? answer(revision, object, 'string') : reading.revision
    if (version instanceof Error) return { read: 'invalid', message: `adapter.revision: ${version.message}` }
    return { ...reading, ready: ready && !isLeaving(object), revision: version || undefined }
  }
}

/** What is written at the marker for a revision; throws Trouble that will not pass when there is no such thing. */
export function markerValue(expression: string, revision: string): string {
  const compiled = compile(expression, kubernetesEnvironment({ revision: stringType }))
  if (compiled instanceof CelCompileError) throw invalidValue(compiled.message)
  const result = compiled.evaluate({ revision }, { budget })
  if (result instanceof CelError) throw invalidValue(result.message)
  if (typeof result !== 'string' || result === '') throw invalidValue('it gives no text')
  return result
}

/** Why an expression over this variable cannot be used; undefined when it can. */
export function expressionProblem(expression: string, variable: 'self' | 'revision'): string | undefined {
  const types = variable === 'self' ? { self: dynType } : { revision: stringType }
  const compiled = compile(expression, kubernetesEnvironment(types))
  return compiled instanceof CelCompileError ? compiled.message : undefined
}

interface AppStatus {
  readonly observedGeneration?: number
  readonly conditions?: readonly {
    readonly type: string
    readonly status: string
    readonly observedGeneration?: number
  }[]
  readonly lastAppliedRevision?: string
  readonly history?: readonly { readonly version?: number; readonly status?: string; readonly chartVersion?: string }[]
  readonly sync?: { readonly status?: string; readonly revision?: string; readonly revisions?: readonly string[] }
  readonly health?: { readonly status?: string }
  readonly operationState?: { readonly phase?: string }
}

const budget = 100_000

function builtInFor({ apiVersion, kind }: AppRef): Adapter {
  const { group } = parseApiVersion(apiVersion)
  if (group === 'argoproj.io' && kind === 'Application') return readArgo
  if (group === 'helm.toolkit.fluxcd.io' && kind === 'HelmRelease')
    return (object) =>
      readFlux(object, ({ lastAppliedRevision, history }) => deployedChart(history) ?? lastAppliedRevision)
  return (object) => readFlux(object, ({ lastAppliedRevision }) => lastAppliedRevision)
}

/** Kustomization, HelmRelease, Terraform and all that follow their scheme: a Ready condition and an applied revision. */
function readFlux(object: StoredObject, revisionOf: (status: AppStatus) => string | undefined): Reading {
  const status = (object.status ?? {}) as AppStatus
  const ready = status.conditions?.find(({ type }) => type === 'Ready')
  const observed = status.observedGeneration ?? ready?.observedGeneration
  const { generation = 0 } = object.metadata
  return {
    read: 'ok',
    ready: ready?.status === 'True' && !isLeaving(object),
    revision: revisionOf(status) || undefined,
    // Below zero: the controller has not looked at it at all yet, so there is nothing that could be out of date.
    fresh: observed === undefined || observed < 0 || observed >= generation,
  }
}

/** From v2 on, Helm releases keep a history instead of an applied revision; the newest deployed entry is what runs. */
function deployedChart(history: AppStatus['history']): string | undefined {
  const newestFirst = (history ?? []).toSorted((left, right) => (right.version ?? 0) - (left.version ?? 0))
  return newestFirst.find(({ status }) => status === 'deployed')?.chartVersion
}

/** Argo CD writes its status without a generation; an operation under way means that it may speak of the past. */
function readArgo(object: StoredObject): Reading {
  const { sync, health, operationState } = (object.status ?? {}) as AppStatus
  const isRunning = operationState?.phase === 'Running' || operationState?.phase === 'Terminating'
  const revisions = sync?.revisions?.length ? sync.revisions.join(',') : undefined
  return {
    read: 'ok',
    ready: sync?.status === 'Synced' && health?.status === 'Healthy' && !isRunning && !isLeaving(object),
    revision: revisions ?? (sync?.revision || undefined),
    fresh: true,
  }
}

function isLeaving({ metadata }: StoredObject): boolean {
  return metadata.deletionTimestamp !== undefined
}

function program(expression: string): Program | Error {
  const compiled = compile(expression, kubernetesEnvironment({ self: dynType }))
  return compiled instanceof CelCompileError ? new Error(compiled.message) : compiled
}

function answer<T extends 'boolean' | 'string'>(
  compiled: Program | Error,
  object: StoredObject,
  type: T,
): (T extends 'boolean' ? boolean : string) | Error {
  if (compiled instanceof Error) return compiled
  const result = compiled.evaluate({ self: object }, { budget })
  if (result instanceof CelError) return new Error(result.message)
  const value = toJson(result)
  if (typeof value !== type) return new Error(`gives ${JSON.stringify(value)?.slice(0, 80)}, not a ${type}`)
  return value as T extends 'boolean' ? boolean : string
}

function invalidValue(problem: string): Trouble {
  return new Trouble('Permanent', 'ValueInvalid', `adapter.value: ${problem}`)
}
