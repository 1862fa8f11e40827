import { anyNode, scalarNodes, type FieldNode, type MapNode, type SchemaNode } from './schema-node.ts'
import type { Field, Scalar, StructType, TypeExpression } from './type-table.ts'
import { zeroValue } from './zero-values.ts'

/** The merge schema of a built-in type. Fields are resolved on first use, because types may contain themselves. */
export function structNode(struct: StructType, isAtomic = struct.isAtomic): SchemaNode {
  const cache = isAtomic ? atomic : granular
  const known = cache.get(struct)
  if (known) return known
  const fields = new Map<string, FieldNode>()
  const node: MapNode = {
    is: 'map',
    isAtomic,
    element: undefined,
    field(name) {
      const made = fields.get(name)
      if (made) return made
      const field = struct.fields.get(name)
      if (!field) return undefined
      const fresh = fieldNode(field)
      fields.set(name, fresh)
      return fresh
    },
  }
  cache.set(struct, node)
  return node
}

const granular = new WeakMap<StructType, SchemaNode>()
const atomic = new WeakMap<StructType, SchemaNode>()

function fieldNode(field: Field): FieldNode {
  const node = nodeOf(field.type, field)
  const value = field.default ?? implicitDefault(field)
  return value === undefined ? { node } : { node, default: value }
}

/** The zero value of a field that Go always writes, which completes list keys that a client omits. */
function implicitDefault({ type, isPointer, omitEmpty }: Field): unknown {
  return type.is === 'scalar' && !isPointer && !omitEmpty ? (zeroValue(type) ?? undefined) : undefined
}

function nodeOf(type: TypeExpression, field: Field | undefined): SchemaNode {
  switch (type.is) {
    case 'struct':
      return structNode(type.struct, type.struct.isAtomic || field?.isAtomicMap === true)
    case 'map':
      return {
        is: 'map',
        isAtomic: field?.isAtomicMap === true,
        field: () => undefined,
        element: nodeOf(type.of, undefined),
      }
    case 'list':
      return {
        is: 'list',
        relation: field?.listType ?? 'atomic',
        keys: field?.listKeys ?? [],
        element: nodeOf(type.of, undefined),
      }
    case 'scalar':
      return scalarNode(type.scalar)
  }
}

function scalarNode(scalar: Scalar): SchemaNode {
  switch (scalar) {
    case 'string':
    case 'bytes':
      return scalarNodes.string
    case 'bool':
      return scalarNodes.boolean
    case 'int32':
    case 'int64':
    case 'double':
      return scalarNodes.numeric
    case 'Time':
    case 'MicroTime':
    case 'Duration':
    case 'Quantity':
    case 'IntOrString':
      return scalarNodes.untyped
    default:
      return anyNode
  }
}
