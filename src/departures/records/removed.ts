import { departure, type Departure, type DepartureSpec } from '../../apis/departure.ts'
import type { KubeObject } from '../../kube/object.ts'
import { formatTime } from '../../kube/time.ts'
import { departureRecord } from './record.ts'

/** The record of an object that goes in this moment by a user's deletion. */
export interface RemovedRecord {
  readonly record: KubeObject
  /** The same without the manifest, where that is too large. */
  readonly short: KubeObject
}

/**
 * What has to be written of an object that a user's deletion takes away in this moment, given the record that is there under its name. Undefined when that
 * one stands: whoever wrote it lets the object go.
 */
export function recordRemoved(
  object: KubeObject,
  { found, now }: { readonly found: Departure | undefined; readonly now: number },
): RemovedRecord | undefined {
  if (found && stands(found, object)) return undefined
  const { metadata, spec } = departureRecord({ cluster: '', object, because: 'deleted', by: { system: 'user' }, now })
  const { manifest, ...told } = { ...spec, ...pagesOf(found) }
  const status = { phase: 'Gone', goneAt: formatTime(now) }
  const place = found ? { ...metadata, namespace: found.metadata.namespace ?? '' } : metadata
  const common = { apiVersion: departure.apiVersion, kind: departure.kind, metadata: place }
  return {
    record: { ...common, spec: { ...told, manifest }, status },
    short: { ...common, spec: told, status: { ...status, message: tooLarge } },
  }
}

/** One that was given up, or of a state that the object has left behind, says nothing of this deletion. */
function stands({ spec, status }: Departure, { metadata }: KubeObject): boolean {
  switch (status?.phase) {
    case 'Abandoned':
      return false
    case undefined:
    case 'Recorded':
      return spec.object.resourceVersion === metadata.resourceVersion
    case 'Leaving':
    case 'Gone':
    case 'Restored':
      return true
  }
}

/** What a record that is written anew keeps of the old one: what is on its pages stays there. */
export function pagesOf(found: Departure | undefined): Pick<DepartureSpec, 'pages' | 'takes'> {
  const { pages, takes } = found?.spec ?? {}
  return { ...(pages === undefined ? {} : { pages }), ...(takes === undefined ? {} : { takes }) }
}

const tooLarge = 'its own manifest is not recorded: it is too large for a record'
