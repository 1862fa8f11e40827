import type { KubeObject } from '../../../kube/object.ts'
import { deepEqual } from '../../../kube/patches/patch.ts'
import { isRecord } from '../../../kube/basics/json.ts'

/** Whether two versions of an object differ at most in the times of their managedFields. Such a write is not stored. */
export function changedOnlyInManagedTimes(one: KubeObject, other: KubeObject): boolean {
  return deepEqual(withoutTimes(one), withoutTimes(other))
}

function withoutTimes(object: KubeObject): unknown {
  const managedFields = object.metadata.managedFields?.map((entry) =>
    isRecord(entry) ? { ...entry, time: undefined } : entry,
  )
  return { ...object, metadata: { ...object.metadata, managedFields } }
}
