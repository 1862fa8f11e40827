import type { ObjectSchema } from '../types/object-schema.ts'
import { compare, type Comparison } from './compare.ts'
import { FieldSet } from './field-set.ts'
import type { Managers } from './managers.ts'
import type { PathElement } from './path-element.ts'

/** Schemas of the versions of one kind; undefined for one that is not served. */
export type SchemaOf = (apiVersion: string) => ObjectSchema | undefined

/** A field that a write would change although another manager owns it. */
export interface FieldConflict {
  readonly managerId: string
  readonly path: readonly PathElement[]
}

/** A change of an object, as field ownership sees it. */
export interface Change {
  readonly before: unknown
  readonly after: unknown
  readonly schemaOf: SchemaOf
  /** Paths that the endpoint does not write. */
  readonly ignored: FieldSet
}

/** Compares a change in any version; each comparison is computed once and leaves out the ignored paths. */
export function comparisons({
  before,
  after,
  schemaOf,
  ignored,
}: Change): (apiVersion: string) => Comparison | undefined {
  const made = new Map<unknown, Comparison>()
  return (apiVersion) => {
    const root = schemaOf(apiVersion)?.root
    if (!root) return undefined
    const known = made.get(root)
    if (known) return known
    const { added, removed, modified } = compare(before, after, root)
    const comparison = {
      added: added.without(ignored),
      removed: removed.without(ignored),
      modified: modified.without(ignored),
    }
    made.set(root, comparison)
    return comparison
  }
}

/** Fields of other managers that the change sets to another value, in the order of the API's message. */
export function conflictsOf(
  managers: Managers,
  writer: string,
  compareAt: ReturnType<typeof comparisons>,
): FieldConflict[] {
  const conflicts: FieldConflict[] = []
  for (const id of [...managers.keys()].toSorted()) {
    const manager = managers.get(id)
    const comparison = manager && id !== writer ? compareAt(manager.apiVersion) : undefined
    if (!manager || !comparison) continue
    const touched = manager.fields.intersection(comparison.modified.union(comparison.added))
    for (const path of touched.paths()) conflicts.push({ managerId: id, path })
  }
  return conflicts
}

/** Removes the fields that the change sets or removes from all managers except the writer. Changes `managers`. */
export function release(managers: Managers, writer: string, compareAt: ReturnType<typeof comparisons>): void {
  for (const [id, manager] of managers) {
    if (id === writer) continue
    const comparison = compareAt(manager.apiVersion)
    if (!comparison) {
      managers.delete(id)
      continue
    }
    const { modified, added, removed } = comparison
    const fields = manager.fields.difference(modified).difference(added).difference(removed)
    if (fields.isEmpty) managers.delete(id)
    else if (fields !== manager.fields) managers.set(id, { ...manager, fields })
  }
}

/** Fields without an owner: the identity of an object and what the server sets. */
export const unowned = FieldSet.of(
  ['f:apiVersion'],
  ['f:kind'],
  ['f:metadata'],
  ...[
    'name',
    'namespace',
    'creationTimestamp',
    'selfLink',
    'uid',
    'clusterName',
    'generation',
    'managedFields',
    'resourceVersion',
  ].map((field) => ['f:metadata', `f:${field}`]),
)

/** Dotted paths of named fields as a set: `['status', 'metadata.labels']`. */
export function fieldsOfPaths(paths: readonly string[]): FieldSet {
  return FieldSet.of(...paths.map((path) => path.split('.').map((name) => `f:${name}`)))
}
