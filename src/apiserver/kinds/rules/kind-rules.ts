import type { KubeObject } from '../../../kube/object.ts'
import type { FieldError } from '../../schema/types/field-error.ts'

/** The server's part of a new object. */
export interface CreateContext {
  readonly uid: string
  /** RFC 3339. */
  readonly now: string
}

/**
 * How a kind differs from the generic behaviour, like the strategies of kube-apiserver. Functions return their
 * argument or a changed copy.
 */
export interface KindRules {
  /** Whether metadata.generation counts changes of the spec. */
  readonly hasGeneration: boolean
  /** Whether PUT creates an object that does not exist. */
  readonly allowsCreateOnUpdate: boolean
  /** Whether PUT may leave out the resourceVersion. */
  readonly allowsUnconditionalUpdate: boolean
  /** Whether status is written at /status only. */
  readonly hasStatus: boolean
  /** Which metadata a write of /status may change. */
  readonly statusMetadata: 'all' | 'no labels' | 'none'
  /** Whether a delete orphans dependents when the request names no propagation policy. */
  readonly orphansByDefault: boolean
  /** Whether a delete answers with the object instead of a Status. */
  readonly returnsDeletedObject: boolean
  prepareCreate?(object: KubeObject, context: CreateContext): KubeObject
  prepareUpdate?(object: KubeObject, old: KubeObject): KubeObject
  /** The grace period of a delete in seconds; kinds without this function are deleted at once. */
  graceSeconds?(object: KubeObject, requested: number | undefined): number
  /** Whether something besides metadata.finalizers blocks the removal of a terminating object. */
  isHeld?(object: KubeObject): boolean
  /** Adapts an object when its deletionTimestamp is set. */
  prepareDelete?(object: KubeObject, now: string): KubeObject
  /** Validation beyond the schema. */
  validate?(object: KubeObject, old: KubeObject | undefined): readonly FieldError[]
}

/** The rules of kinds without special behaviour. */
export const plainRules: KindRules = {
  hasGeneration: false,
  allowsCreateOnUpdate: false,
  allowsUnconditionalUpdate: true,
  hasStatus: false,
  statusMetadata: 'all',
  orphansByDefault: false,
  returnsDeletedObject: false,
}
