import type { KubeObject } from '../../../kube/object.ts'
import type { Conversion } from './conversion.ts'

/** events.k8s.io name → core name, where they differ. */
const names: readonly (readonly [string, string])[] = [
  ['regarding', 'involvedObject'],
  ['note', 'message'],
  ['reportingController', 'reportingComponent'],
  ['deprecatedSource', 'source'],
  ['deprecatedFirstTimestamp', 'firstTimestamp'],
  ['deprecatedLastTimestamp', 'lastTimestamp'],
  ['deprecatedCount', 'count'],
]

const toCore = new Map(names)
const fromCore = new Map(names.map(([ours, core]) => [core, ours]))

/** Events of events.k8s.io are stored as core Events, whose fields have other names. */
export const eventConversion: Conversion = {
  storageVersion: 'v1',
  toStored: (object) => rename(object, toCore, 'v1'),
  fromStored: (object) => rename(object, fromCore, 'events.k8s.io/v1'),
}

function rename(object: KubeObject, to: ReadonlyMap<string, string>, apiVersion: string): KubeObject {
  const { kind, metadata, ...rest } = object
  const renamed = Object.entries(rest).map(([name, value]) => [to.get(name) ?? name, value])
  return { ...Object.fromEntries(renamed), apiVersion, kind, metadata } as KubeObject
}
