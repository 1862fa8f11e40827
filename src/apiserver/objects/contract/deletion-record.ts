import type { KubeObject, StoredObject } from '../../../kube/object.ts'
import type { View } from '../../store/store.ts'

/** An object that is about to be gone for good. */
export interface Removal {
  /** As it is stored. */
  readonly object: StoredObject
  /** `namespace/name` of the record of the cascade in which it goes, as whoever deletes it says. */
  readonly cascadeRecord: string | undefined
}

/** What tells of an object that is gone. */
export interface DeletionRecord {
  /** The whole of it, with its status; one that is there under its name is replaced. */
  readonly record: KubeObject
  /** What is stored where that is too large for one object. */
  readonly short: KubeObject
}

/** What has to be stored together with a removal; undefined for nothing. */
export type DeletionRecordOf = (removal: Removal, view: View) => DeletionRecord | undefined
