import type { StoredObject } from '../../kube/object.ts'
import { formatTime } from '../../kube/time.ts'
import type { Resolution } from './decision/decide.ts'
import type { Model, Release, Target } from './decision/model.ts'
import { objectsOf } from './observe.ts'
import type { CleanerStatus } from './status.ts'

/** What was decided, whole: from here on neither spec nor conditions have a say. */
export type RecordedDecision = NonNullable<CleanerStatus['decision']>

/** What is written down before anything is done: exactly these objects, these releases, this sink. */
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
    ...(waitMs === undefined ? {} : { waitUntil: formatTime(now + waitMs) }),
    ...(releases.length > 0 ? { releases: releases.map(recordedRelease) } : {}),
    ...(sink ? { sink: { ...sink } } : {}),
  }
}

/** Whether a decision fits into an object: the server takes a megabyte and a half, and a status is not alone in it. */
export function fits(decision: RecordedDecision): boolean {
  return JSON.stringify(decision).length <= 1_000_000
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

/** Whether what was decided for this very spec is written down: then it is carried out, whatever has changed since. */
export function isCommitted({ status, metadata }: StoredObject): boolean {
  const { decision } = (status ?? {}) as CleanerStatus
  return decision !== undefined && decision.generation === metadata.generation
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
