import type { KubeObject, StoredObject } from '../../../kube/object.ts'
import type { View } from '../../store/store.ts'

/** An object that the current transaction removes from the store. */
export interface Removal {
  /** As it is stored. */
  readonly object: StoredObject
  /** `namespace/name` of the record of the cascade that deletes it, if the caller of the delete named one. */
  readonly cascadeRecord: string | undefined
}

/** The record of a removed object. */
export interface DeletionRecord {
  /** The complete record with its status; replaces an existing object of that name. */
  readonly record: KubeObject
  /** Stored instead when the complete record is too large for one object. */
  readonly short: KubeObject
}

/** What to store in the transaction that removes an object; undefined for nothing. */
export type DeletionRecordOf = (removal: Removal, view: View) => DeletionRecord | undefined

/** How the application records deletions. */
export interface DeletionRecords {
  readonly recordOf: DeletionRecordOf
  /** Annotation in which the server notes, on an object that waits for finalizers, the record of the cascade that deletes it. */
  readonly annotation: string
}
