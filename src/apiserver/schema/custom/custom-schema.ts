import type { GroupVersionKind } from '../../../kube/object.ts'
import type { ObjectSchema } from '../types/object-schema.ts'
import { anyNode, scalarNodes, type FieldNode, type MapNode, type SchemaNode } from '../types/schema-node.ts'
import { structNode } from '../types/struct-node.ts'
import { structType } from '../types/type-table.ts'
import type { StructuralSchema } from '../types/structural-schema.ts'

/** Compiles the schema of one version of a custom resource. Cache it per generation of the CRD. */
export function customSchema(gvk: GroupVersionKind, openAPIV3Schema: StructuralSchema | undefined): ObjectSchema {
  const structural = openAPIV3Schema ?? { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  const root = mapNode(structural, false, true)
  return { gvk, root, structural }
}

function nodeOf(schema: StructuralSchema, isOpen: boolean): SchemaNode {
  const open = isOpen || schema['x-kubernetes-preserve-unknown-fields'] === true
  switch (schema.type) {
    case 'object':
      return mapNode(schema, open, schema['x-kubernetes-embedded-resource'] === true)
    case 'array':
      return {
        is: 'list',
        relation: schema['x-kubernetes-list-type'] ?? 'atomic',
        keys: schema['x-kubernetes-list-map-keys'] ?? [],
        element: schema.items ? nodeOf(schema.items, open) : anyNode,
      }
    case undefined:
    case '':
      return anyNode
    case 'string':
      return schema.format && schema.format !== 'byte' ? scalarNodes.untyped : scalarNodes.string
    case 'boolean':
      return scalarNodes.boolean
    default:
      return scalarNodes.numeric
  }
}

function mapNode(schema: StructuralSchema, isOpen: boolean, isResource: boolean): MapNode {
  const open = isOpen || schema['x-kubernetes-preserve-unknown-fields'] === true
  const { properties = {}, additionalProperties } = schema
  const fields = new Map<string, FieldNode>()
  for (const [name, property] of Object.entries(properties)) {
    const node = nodeOf(property, open)
    fields.set(name, property.default === undefined ? { node } : { node, default: property.default })
  }
  if (isResource) for (const [name, node] of resourceFields()) fields.set(name, node)
  const hasProperties = Object.keys(properties).length > 0
  return {
    is: 'map',
    isAtomic: schema['x-kubernetes-map-type'] === 'atomic',
    field: (name) => fields.get(name),
    element: elementOf(additionalProperties, open, hasProperties),
  }
}

function elementOf(
  additional: StructuralSchema | boolean | undefined,
  isOpen: boolean,
  hasProperties: boolean,
): SchemaNode | undefined {
  if (typeof additional === 'object') return nodeOf(additional, isOpen)
  return additional === true || isOpen || !hasProperties ? anyNode : undefined
}

/** The fields of every resource, regardless of its schema. */
function resourceFields(): [string, FieldNode][] {
  const meta = structType('meta/v1.ObjectMeta')
  return [
    ['apiVersion', { node: scalarNodes.string }],
    ['kind', { node: scalarNodes.string }],
    ['metadata', { node: meta ? structNode(meta) : anyNode }],
  ]
}
