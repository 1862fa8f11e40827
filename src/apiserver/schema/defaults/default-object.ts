import type { GroupVersionKind, KubeObject } from '../../../kube/object.ts'
import { isRecord, setOwn } from '../../../kube/basics/json.ts'
import { structOfKind, type Field, type StructType, type TypeExpression } from '../types/type-table.ts'
import { coreDefaults } from './core-defaults.ts'
import constants from './defaults.json' with { type: 'json' }
import { groupDefaults } from './group-defaults.ts'
import { podDefaults } from './pod-defaults.ts'
import { roundResources } from './resources.ts'
import type { Defaulter, Json } from './fill.ts'
import { workloadDefaults } from './workload-defaults.ts'

/** Applies the defaults of a built-in kind to a copy of the object. Objects of other kinds are returned as they are. */
export function defaultObject(gvk: GroupVersionKind, object: KubeObject): KubeObject {
  const struct = structOfKind(gvk)
  if (!struct || !isDefaulted(struct)) return object
  const copy = clone(object) as Json
  visit(copy, struct)
  return copy as unknown as KubeObject
}

/** Defaults that depend on nothing, by type name in the table. */
const fixed = new Map(Object.entries(constants).map(([id, row]) => [id, Object.entries(row)]))

/** All other defaults. They change their argument. */
const defaulters: Readonly<Record<string, Defaulter>> = {
  ...podDefaults,
  ...coreDefaults,
  ...workloadDefaults,
  ...groupDefaults,
}

/** Applies defaults from the outside in, so that what a parent adds gets its own defaults. */
function visit(object: Json, struct: StructType): void {
  for (const field of struct.own) {
    if (field.isInline && field.type.is === 'struct') visit(object, field.type.struct)
    else if (field.default !== undefined && isUnset(object[field.name]))
      object[field.name] = structuredClone(field.default)
  }
  for (const [name, value] of fixed.get(struct.id) ?? []) if (isUnset(object[name])) object[name] = clone(value)
  defaulters[struct.id]?.(object)
  for (const { field, type } of defaultedFields(struct)) {
    const value = object[field.name]
    if (value !== undefined && value !== null) visitValue(value, type, field)
  }
}

function visitValue(value: unknown, type: TypeExpression, field: Field): void {
  if (type.is === 'struct') {
    if (isRecord(value)) visit(value, type.struct)
  } else if (type.is === 'list') {
    if (Array.isArray(value)) for (const item of value) visitValue(item, type.of, field)
  } else if (type.is === 'map' && isRecord(value)) {
    if (isResourceList(field)) roundResources(value)
    else for (const item of Object.values(value)) visitValue(item, type.of, field)
  }
}

interface DefaultedField {
  readonly field: Field
  readonly type: TypeExpression
}

const known = new Map<StructType, readonly DefaultedField[]>()

/** The fields that have defaults below them; cached per type. */
function defaultedFields(struct: StructType): readonly DefaultedField[] {
  const fields = known.get(struct)
  if (fields) return fields
  const found = struct.own
    .filter((field) => !field.isInline && reachesDefaults(field, new Set()))
    .map((field) => ({ field, type: field.type }))
  known.set(struct, found)
  return found
}

const defaulted = new Map<StructType, boolean>()

function isDefaulted(struct: StructType): boolean {
  const known = defaulted.get(struct) ?? hasDefaults(struct)
  defaulted.set(struct, known)
  return known
}

function hasDefaults(struct: StructType, seen = new Set<StructType>()): boolean {
  if (struct.id in defaulters || fixed.has(struct.id)) return true
  if (seen.has(struct)) return false
  seen.add(struct)
  return struct.own.some((field) => field.default !== undefined || reachesDefaults(field, seen))
}

function reachesDefaults(field: Field, seen: Set<StructType>): boolean {
  if (isResourceList(field)) return true
  let { type } = field
  while (type.is === 'list' || type.is === 'map') type = type.of
  return type.is === 'struct' && hasDefaults(type.struct, seen)
}

function isResourceList({ goType }: Field): boolean {
  return goType === 'v1.ResourceList'
}

function isUnset(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}

function clone(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(clone)
  const copy: Json = {}
  for (const key of Object.keys(value)) setOwn(copy, key, clone((value as Json)[key]))
  return copy
}
