import { apiVersionOf, type KubeObject } from '../../../kube/object.ts'
import type { ObjectSchema } from '../types/object-schema.ts'
import { isRecord } from '../../../kube/basics/json.ts'
import { completeStruct } from '../types/zero-values.ts'
import { FieldSet } from './field-set.ts'
import { capUpdaters, decodeManagers, encodeManagers, managerId, type Managers } from './managers.ts'
import { ItemError } from './path-element.ts'
import { reconcile } from './reconcile.ts'
import { comparisons, fieldsOfPaths, release, unowned, type SchemaOf } from './ownership.ts'

/** The parameters of every tracked write. */
export interface TrackedWrite {
  readonly schema: ObjectSchema
  /** The `fieldManager` of the request, or the start of its user agent. */
  readonly manager: string
  /** RFC 3339, whole seconds. */
  readonly now: string
  /** `status` or `scale`; absent at the main endpoint. */
  readonly subresource?: string
  /** Dotted paths that the endpoint does not write: `['status']`, `['spec', 'metadata']`. */
  readonly resetFields?: readonly string[]
  /** Schemas of all served versions; defaults to this version only. */
  readonly schemaOf?: SchemaOf
}

/** A write that is not an apply. */
export interface Update extends TrackedWrite {
  /** The stored object; undefined for a create. */
  readonly live: KubeObject | undefined
  /** The object to store, with defaults. */
  readonly object: KubeObject
}

/** Updates managedFields for a write that is not an apply: the writer owns every field that it changes. */
export function trackUpdate(update: Update): KubeObject {
  try {
    return tracked(update)
  } catch (error) {
    // A list whose items have no identity cannot be tracked; kube-apiserver then stores no managedFields.
    if (error instanceof ItemError) return withoutManagers(update.object)
    throw error
  }
}

function tracked(update: Update): KubeObject {
  const { live, object, subresource = '', now, manager } = update
  const managers = managersOf(live, object, subresource !== '')
  if (live !== undefined && managers.size === 0) return withManagers(object, managers)
  track({ ...update, live: live ?? emptyObject(update.schema) }, managers, {
    manager: manager || 'unknown',
    subresource,
    time: now,
  })
  capUpdaters(managers)
  return withManagers(object, managers)
}

/** The zero value of a type, with which a new object is compared. */
export function emptyObject({ gvk, struct }: ObjectSchema): KubeObject {
  const object = { apiVersion: apiVersionOf(gvk), kind: gvk.kind }
  return (struct ? completeStruct(object, struct) : object) as unknown as KubeObject
}

/** Moves ownership of what changed to the writer. Changes `managers`. */
export function track(
  update: Update & { readonly live: KubeObject },
  managers: Managers,
  writer: { readonly manager: string; readonly subresource: string; readonly time: string | undefined },
): void {
  const { schema, live, object } = update
  const apiVersion = apiVersionOf(schema.gvk)
  const schemaOf = update.schemaOf ?? ((version: string) => (version === apiVersion ? schema : undefined))
  const ignored = fieldsOfPaths(update.resetFields ?? [])
  const compareAt = comparisons({ before: withoutManagers(live), after: withoutManagers(object), schemaOf, ignored })
  reconcile(managers, schemaOf)
  release(managers, '', compareAt)
  const comparison = compareAt(apiVersion)
  if (!comparison) return
  const changed = comparison.modified.union(comparison.added).difference(unowned)
  if (changed.isEmpty) return
  const entry = { manager: writer.manager, operation: 'Update', apiVersion, subresource: writer.subresource } as const
  const id = managerId(entry)
  const before = managers.get(id)?.fields ?? new FieldSet()
  managers.set(id, { ...entry, time: writer.time, fields: changed.union(before) })
}

/** The object without its managedFields. */
export function withoutManagers(object: KubeObject): KubeObject {
  const { metadata } = object
  if (metadata?.managedFields === undefined) return object
  const { managedFields: _, ...rest } = metadata
  return { ...object, metadata: rest }
}

/** Writes the managers to managedFields; without managers the field is removed. */
export function withManagers(object: KubeObject, managers: Managers): KubeObject {
  if (managers.size === 0) return withoutManagers(object)
  return { ...object, metadata: { ...object.metadata, managedFields: encodeManagers(managers) } }
}

/**
 * The managers before a write. At the main endpoint a client may replace managedFields, and reset them with `[{}]` or
 * `[]`. Absent or invalid managedFields keep the stored ones, because most clients do not know the field.
 */
function managersOf(live: KubeObject | undefined, object: KubeObject, isSubresource: boolean): Managers {
  const stored = (): Managers => decodeManagers(live?.metadata.managedFields) ?? new Map()
  const sent = object.metadata.managedFields
  if (isSubresource || sent === undefined || sent === null) return stored()
  if (sent.length === 0 || (sent.length === 1 && isRecord(sent[0]) && Object.keys(sent[0]).length === 0))
    return new Map()
  return decodeManagers(sent) ?? stored()
}
