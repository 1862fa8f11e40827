import { formatTime } from '../../../kube/time.ts'
import type { StoredObject } from '../../../kube/object.ts'
import { objectsOf, type Resolution } from './decide.ts'
import type { Release } from '../../../helm/release.ts'
import type { CleanerStatus, Model, Target } from './model.ts'

/** The decision as `status.decision` holds it. Once written, it is carried out as it stands: the spec is not read again. */
export type RecordedDecision = NonNullable<CleanerStatus['decision']>

/** A Cleaner that is being deleted, with the decision to carry out. */
export interface Committed {
  readonly self: StoredObject
  readonly decision: RecordedDecision
}

/** Builds the record of what to delete: exactly these objects, these releases, this sink. */
export function recordDecision(
  self: StoredObject,
  { model, resolutions, now }: { model: Model; resolutions: ReadonlyMap<string, Resolution>; now: number },
): RecordedDecision {
  const { waitMs, releases, sink } = model
  return {
    at: formatTime(now),
    generation: self.metadata.generation ?? 0,
    targets: model.targets
      .filter((target) => target.delete)
      .flatMap((target) => recordedTarget(target, resolutions.get(target.name))),
    ...notFoundIn(model, resolutions),
    ...(waitMs === undefined ? {} : { waitUntil: formatTime(now + waitMs) }),
    ...(releases.length > 0 ? { releases: releases.map(recordedRelease) } : {}),
    ...(sink ? { sink: { ...sink } } : {}),
  }
}

/** The targets to delete that do not exist: a mistyped kind or name must not end in silence. */
function notFoundIn({ targets }: Model, resolutions: ReadonlyMap<string, Resolution>): { notFound?: string[] } {
  const missing = targets.filter(({ delete: isDeleted, name }) => {
    const resolution = resolutions.get(name)
    return isDeleted && resolution !== undefined && objectsOf(resolution).length === 0
  })
  return missing.length === 0 ? {} : { notFound: missing.map((target) => describeMissing(target, resolutions)) }
}

function describeMissing(
  { name, kind, apiVersion, select }: Target,
  resolutions: ReadonlyMap<string, Resolution>,
): string {
  if (resolutions.get(name)?.found === 'no-such-kind')
    return `target ${name}: the cluster serves no ${kind} in ${apiVersion}`
  return `target ${name}: no ${kind} ${select.by === 'name' ? `named ${select.name}` : 'is selected'}`
}

/** What the decision deletes and what it did not find, in one sentence: for the record and the Event at the end. */
export function summaryOf({ targets, releases = [], notFound = [] }: RecordedDecision): string {
  const objects = targets.reduce((sum, target) => sum + target.objects.length, 0)
  const installed = releases.length - notFound.filter((text) => text.startsWith('release ')).length
  const found = `found ${objects} ${objects === 1 ? 'object' : 'objects'} and ${installed} ${installed === 1 ? 'release' : 'releases'} to delete`
  return notFound.length === 0 ? found : `${found}; not found: ${notFound.join('; ')}`.slice(0, 1000)
}

/** Whether the record leaves room in the object: the API server accepts 1.5 MiB in total. */
export function fits(decision: RecordedDecision): boolean {
  return JSON.stringify(decision).length <= 1_000_000
}

/** Whether a decision is recorded for the current generation: then it is carried out, whatever has changed since. */
export function isCommitted({ status, metadata }: StoredObject): boolean {
  const { decision } = (status ?? {}) as CleanerStatus
  return decision !== undefined && decision.generation === metadata.generation
}

/** A recorded release as the uninstall takes it. */
export function releaseIn({
  name,
  driver,
  disableHooks,
  timeoutSeconds,
}: NonNullable<RecordedDecision['releases']>[number]): Release {
  return { name, driver, disableHooks, timeoutMs: timeoutSeconds * 1000 }
}

function recordedRelease({ name, driver, disableHooks, timeoutMs }: Release) {
  return { name, driver, disableHooks, timeoutSeconds: Math.ceil(timeoutMs / 1000) }
}

function recordedTarget(
  { name, propagation }: Target,
  resolution: Resolution | undefined,
): RecordedDecision['targets'] {
  const objects = objectsOf(resolution)
  const [first] = objects
  if (!first) return []
  const { namespace } = first.metadata
  const { apiVersion, kind } = first
  return [
    {
      name,
      apiVersion,
      kind,
      ...(namespace ? { namespace } : {}),
      ...(propagation ? { propagationPolicy: propagation } : {}),
      objects: objects.map(({ metadata }) => ({ name: metadata.name, uid: metadata.uid })),
    },
  ]
}
