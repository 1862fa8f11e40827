/** A schema for merging and field ownership, common to built-in kinds and CRDs. */
export type SchemaNode = ScalarNode | MapNode | ListNode | AnyNode

/** A value without fields or items. */
export interface ScalarNode {
  readonly is: 'scalar'
  readonly scalar: 'string' | 'numeric' | 'boolean' | 'untyped'
}

/** A struct (fields are named), a map (all values alike), or both. */
export interface MapNode {
  readonly is: 'map'
  /** Owned and replaced as a whole. */
  readonly isAtomic: boolean
  field(name: string): FieldNode | undefined
  /** The schema of fields that are not named; undefined when there are none. */
  readonly element: SchemaNode | undefined
}

/** A named field; `default` completes the keys of list items that leave it out. */
export interface FieldNode {
  readonly node: SchemaNode
  readonly default?: unknown
}

/** A list; `relation` and `keys` say how items are identified. */
export interface ListNode {
  readonly is: 'list'
  readonly relation: 'atomic' | 'set' | 'map'
  readonly keys: readonly string[]
  readonly element: SchemaNode
}

/** No schema: objects merge field by field, lists are atomic. */
export interface AnyNode {
  readonly is: 'any'
}

export const scalarNodes = {
  string: { is: 'scalar', scalar: 'string' },
  numeric: { is: 'scalar', scalar: 'numeric' },
  boolean: { is: 'scalar', scalar: 'boolean' },
  untyped: { is: 'scalar', scalar: 'untyped' },
} as const satisfies Record<string, ScalarNode>
export const anyNode: AnyNode = { is: 'any' }
export const anyMap: MapNode = { is: 'map', isAtomic: false, field: () => undefined, element: anyNode }
export const anyList: ListNode = { is: 'list', relation: 'atomic', keys: [], element: anyNode }

/** The node for a value: chosen by the value's type where the schema has none. */
export function resolveNode(node: SchemaNode, value: unknown): ScalarNode | MapNode | ListNode {
  if (node.is !== 'any') return node
  if (Array.isArray(value)) return anyList
  return typeof value === 'object' && value !== null ? anyMap : scalarNodes.untyped
}

/** The node of a field of an object. */
export function childNode(node: MapNode, name: string): SchemaNode {
  return node.field(name)?.node ?? node.element ?? anyNode
}
