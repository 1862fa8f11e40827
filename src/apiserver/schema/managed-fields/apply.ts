import { apiVersionOf, parseApiVersion, type KubeObject } from '../../../kube/object.ts'
import { deepEqual } from '../../../kube/patches/patch.ts'
import { StatusError } from '../../../kube/status-error.ts'
import { DecodeError } from '../decode/decode-scalar.ts'
import { decodeStruct } from '../decode/decode-struct.ts'
import type { ObjectSchema } from '../types/object-schema.ts'
import { isRecord } from '../../../kube/basics/json.ts'
import { structType } from '../types/type-table.ts'
import { typedFaults } from './check-typed.ts'
import { conflictError } from './conflict-error.ts'
import { fieldSetOf, removeFields } from './extract.ts'
import { FieldSet } from './field-set.ts'
import { allowedByLastApplied, renewLastApplied } from './last-applied.ts'
import { decodeManagers, managerId, type Manager, type Managers } from './managers.ts'
import { merge } from './merge.ts'
import { reconcile } from './reconcile.ts'
import { comparisons, conflictsOf, fieldsOfPaths, release, unowned, type SchemaOf } from './ownership.ts'
import { ItemError } from './path-element.ts'
import { emptyObject, track, withManagers, withoutManagers, type TrackedWrite } from './track-update.ts'

/** A server-side apply. */
export interface Apply extends TrackedWrite {
  /** What is stored; undefined when the apply creates the object. */
  readonly live: KubeObject | undefined
  /** The configuration as sent. Decoding would add fields that the client did not apply. */
  readonly applied: KubeObject
  /** Whether to take over fields that other managers own. */
  readonly force: boolean
}

/**
 * Performs a server-side apply and updates managedFields. Applied fields win; fields that this manager applied before
 * and no longer mentions are removed unless another manager owns them. Throws Conflict when another manager owns a
 * field that would change.
 */
export function apply(request: Apply): KubeObject {
  checkApplied(request)
  try {
    return renewLastApplied(applyChecked(request), request)
  } catch (error) {
    if (!(error instanceof ItemError) && !(error instanceof DecodeError)) throw error
    throw new StatusError('BadRequest', `failed to merge config: ${error.message}`, { cause: error })
  }
}

function applyChecked(request: Apply): KubeObject {
  const { schema, subresource = '' } = request
  const live = withoutManagers(request.live ?? emptyObject(schema))
  const apiVersion = apiVersionOf(schema.gvk)
  const schemaOf = request.schemaOf ?? ((version: string) => (version === apiVersion ? schema : undefined))
  const ignored = fieldsOfPaths(request.resetFields ?? [])
  const managers = managersBefore(request, live)
  const writer = { manager: request.manager, operation: 'Apply', apiVersion, subresource } as const
  const id = managerId(writer)
  reconcile(managers, schemaOf)
  const last = managers.get(id)

  const fields = fieldSetOf(request.applied, schema.root).without(ignored)
  managers.set(id, { ...writer, time: last?.time, fields })
  const merged = merge(live, request.applied, schema.root) as KubeObject
  const isMissed = last !== undefined && !last.fields.difference(fields).isEmpty
  const pruned = isMissed ? prune(merged, last, managers, schemaOf) : merged
  const compareAt = comparisons({ before: live, after: pruned, schemaOf, ignored })
  if (!request.force) {
    const conflicts = conflictsOf(managers, id, compareAt)
    const allowed = conflicts.length > 0 ? allowedByLastApplied(request) : undefined
    const forbidden = allowed ? conflicts.filter(({ path }) => !allowed.has(path)) : conflicts
    if (forbidden.length > 0) throw conflictError(forbidden, managers)
  }
  release(managers, id, compareAt)
  const isNoop = deepEqual(live, pruned)
  finishEntry(managers, id, isNoop ? last?.time : request.now)
  return withManagers(isNoop ? live : normalised(pruned, schema), managers)
}

/**
 * Normalizes the merged object as Go would: drops nulls and empty lists, in a custom resource only those of its
 * metadata.
 */
function normalised(object: KubeObject, { struct }: ObjectSchema): KubeObject {
  if (struct) return decodeStruct(object, struct, []) as unknown as KubeObject
  const meta = structType('meta/v1.ObjectMeta')
  return meta ? { ...object, metadata: decodeStruct(object.metadata ?? {}, meta, []) } : object
}

/** Sets the time of the writer's entry and removes the fields that are never owned; drops an entry without fields. */
function finishEntry(managers: Managers, id: string, time: string | undefined): void {
  const entry = managers.get(id)
  if (!entry) return
  const fields = entry.fields.difference(unowned)
  if (fields.isEmpty) managers.delete(id)
  else managers.set(id, { ...entry, time, fields })
}

/** An object without managedFields gets a manager `before-first-apply` that owns its fields, as in kube-apiserver. */
function managersBefore(request: Apply, live: KubeObject): Managers {
  const managers = decodeManagers(request.live?.metadata.managedFields)
  if (!managers) throw new StatusError('InternalError', 'failed to decode managed fields')
  if (managers.size === 0 && request.live) {
    const update = { ...request, live: emptyObject(request.schema), object: live }
    track(update, managers, {
      manager: 'before-first-apply',
      subresource: request.subresource ?? '',
      time: request.now,
    })
  }
  return managers
}

/** Removes fields that the manager applied last time and does not mention now, unless another manager owns them. */
function prune(merged: KubeObject, last: Manager, managers: Managers, schemaOf: SchemaOf): KubeObject {
  const schema = schemaOf(last.apiVersion)
  if (!schema || last.fields.isEmpty) return merged
  const { root } = schema
  const all = memo((each: ObjectSchema) => named(merged, each))
  const lastFields = last.fields.withNamedFields(root)
  let pruned = removeFields(merged, lastFields, root) ?? {}
  for (const [each, owned] of ownedFields(managers, schemaOf)) {
    // Restores fields that a manager still owns, including this one by its new configuration.
    const kept = named(pruned, each).union(owned.withNamedFields(each.root))
    pruned = removeFields(merged, all(each).difference(kept), each.root) ?? {}
  }
  const dangling = all(schema).difference(named(pruned, schema)).intersection(lastFields)
  return (removeFields(merged, dangling, root) ?? {}) as KubeObject
}

/** The fields owned by any manager, per version. */
function ownedFields(managers: Managers, schemaOf: SchemaOf): Map<ObjectSchema, FieldSet> {
  const owned = new Map<ObjectSchema, FieldSet>()
  for (const { apiVersion, fields } of managers.values()) {
    const schema = schemaOf(apiVersion)
    if (schema) owned.set(schema, (owned.get(schema) ?? new FieldSet()).union(fields))
  }
  return owned
}

function named(value: unknown, { root }: ObjectSchema): FieldSet {
  return fieldSetOf(value, root).withNamedFields(root)
}

function memo<K, V>(make: (key: K) => V): (key: K) => V {
  const made = new Map<K, V>()
  return (key) => {
    const value = made.get(key) ?? make(key)
    made.set(key, value)
    return value
  }
}

function checkApplied({ schema, applied }: Apply): void {
  const { gvk } = schema
  if (applied.apiVersion !== apiVersionOf(gvk) || applied.kind !== gvk.kind) {
    throw new StatusError('BadRequest', `invalid object type: ${goKind(applied)}`)
  }
  if (isRecord(applied.metadata) && applied.metadata.managedFields != null) {
    throw new StatusError('BadRequest', 'metadata.managedFields must be nil')
  }
  checkTyped(schema, applied)
}

/** Throws BadRequest when a configuration cannot be merged by its schema. */
export function checkTyped({ root }: ObjectSchema, applied: KubeObject): void {
  const faults = typedFaults(applied, root)
  if (faults.length === 0) return
  const { namespace = '', name = '' } = applied.metadata ?? {}
  const what = faults.length === 1 ? faults[0] : ['errors:', ...faults.map((fault) => `  ${fault}`)].join('\n')
  throw new StatusError(
    'BadRequest',
    `failed to create typed patch object (${namespace}/${name}; ${goKind(applied)}): ${what}`,
  )
}

/** A kind as Go prints it. */
function goKind({ apiVersion = '', kind = '' }: Partial<KubeObject>): string {
  const { group, version } = parseApiVersion(String(apiVersion))
  return `${group}/${version}, Kind=${String(kind)}`
}
