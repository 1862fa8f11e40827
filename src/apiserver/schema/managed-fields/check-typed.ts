import {
  childNode,
  resolveNode,
  type ListNode,
  type MapNode,
  type ScalarNode,
  type SchemaNode,
} from '../types/schema-node.ts'
import { goLiteral, goPrint, goType } from '../patch/go-print.ts'
import { isRecord } from '../../../kube/basics/json.ts'
import { describeElement, itemElement, ItemError } from './path-element.ts'

/** Why a configuration cannot be merged by its schema, with the API's messages; empty when it can. */
export function typedFaults(value: unknown, node: SchemaNode): string[] {
  return faultsOf(value, node, () => '')
}

function faultsOf(value: unknown, node: SchemaNode, path: Path): string[] {
  if (value === null || value === undefined) return []
  const shape = resolveNode(node, value)
  switch (shape.is) {
    case 'scalar':
      return scalarFaults(value, shape, path)
    case 'map':
      return isRecord(value) ? fieldFaults(value, shape, path) : [at(path, `expected map, got &{${goPrint(value)}}`)]
    case 'list':
      return Array.isArray(value)
        ? itemFaults(value, shape, path)
        : [at(path, `expected list, got &{${goPrint(value)}}`)]
  }
}

function scalarFaults(value: unknown, { scalar }: ScalarNode, path: Path): string[] {
  switch (scalar) {
    case 'numeric':
      return typeof value === 'number' ? [] : [at(path, `expected numeric (int or float), got ${goType(value)}`)]
    case 'string':
      return typeof value === 'string'
        ? []
        : [at(path, `expected string, got &value.valueUnstructured{Value:${goLiteral(value)}}`)]
    case 'boolean':
      return typeof value === 'boolean' ? [] : [at(path, `expected boolean, got &{${goPrint(value)}}`)]
    case 'untyped':
      return typeof value === 'object' ? [at(path, `expected any scalar, got &{${goPrint(value)}}`)] : []
  }
}

function fieldFaults(value: Record<string, unknown>, node: MapNode, path: Path): string[] {
  const faults: string[] = []
  for (const name of Object.keys(value)) {
    if (!node.field(name) && !node.element)
      return [...faults, at(() => `${path()}.${name}`, 'field not declared in schema')]
    faults.push(...faultsOf(value[name], childNode(node, name), () => `${path()}.${name}`))
  }
  return faults
}

function itemFaults(items: readonly unknown[], node: ListNode, path: Path): string[] {
  const faults: string[] = []
  const seen = new Set<string>()
  for (const [index, item] of items.entries()) {
    const element = elementOf(node, item, index)
    if (element instanceof ItemError) return [...faults, at(path, `element ${index}: ${element.message}`)]
    if (seen.has(element)) faults.push(at(path, `duplicate entries for key ${describeElement(element)}`))
    seen.add(element)
    faults.push(...faultsOf(item, node.element, () => path() + describeElement(element)))
  }
  return faults
}

function elementOf(node: ListNode, item: unknown, index: number): string | ItemError {
  if (node.relation === 'atomic') return `i:${index}`
  try {
    return itemElement(node, item)
  } catch (error) {
    if (error instanceof ItemError) return error
    throw error
  }
}

/** A path that is built only for faults. */
type Path = () => string

function at(path: Path, fault: string): string {
  const where = path()
  return where ? `${where}: ${fault}` : fault
}
