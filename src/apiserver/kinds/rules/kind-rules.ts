import type { KubeObject } from '../../../kube/object.ts'
import type { FieldError } from '../../schema/types/field-error.ts'

/** What an object is being made with. */
export interface CreateContext {
  readonly uid: string
  /** RFC 3339. */
  readonly now: string
}

/** What a kind does beyond what all kinds do. Functions return the object they were given, or a changed copy. */
export interface KindRules {
  /** Whether metadata.generation counts changes of what is asked for. */
  readonly hasGeneration: boolean
  /** Whether PUT makes an object that is not there. */
  readonly allowsCreateOnUpdate: boolean
  /** Whether PUT may leave out the resourceVersion. */
  readonly allowsUnconditionalUpdate: boolean
  /** Whether status is written at /status only. */
  readonly hasStatus: boolean
  /** What a write of /status may change of the metadata. */
  readonly statusMetadata: 'all' | 'no labels' | 'none'
  /** Whether a delete orphans dependents when the request names no propagation policy. */
  readonly orphansByDefault: boolean
  /** Whether a delete answers with the object rather than with a Status. */
  readonly returnsDeletedObject: boolean
  prepareCreate?(object: KubeObject, context: CreateContext): KubeObject
  prepareUpdate?(object: KubeObject, old: KubeObject): KubeObject
  /** Seconds an object may take to leave; kinds without it leave at once. */
  graceSeconds?(object: KubeObject, requested: number | undefined): number
  /** Whether something beside metadata.finalizers keeps a marked object. */
  isHeld?(object: KubeObject): boolean
  /** The object as it is once it is marked for deletion. */
  prepareDelete?(object: KubeObject, now: string): KubeObject
  /** Refuses what the schema cannot. */
  validate?(object: KubeObject, old: KubeObject | undefined): readonly FieldError[]
}

/** What most kinds do. */
export const plainRules: KindRules = {
  hasGeneration: false,
  allowsCreateOnUpdate: false,
  allowsUnconditionalUpdate: true,
  hasStatus: false,
  statusMetadata: 'all',
  orphansByDefault: false,
  returnsDeletedObject: false,
}
