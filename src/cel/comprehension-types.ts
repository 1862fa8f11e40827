import type { Comprehension } from './ast.ts'
import { boolType, dynType, intType, listType, mapType, type Type } from './types.ts'

/** The types of a comprehension's variables over such a range; `undefined` when it cannot be gone through. */
export function variableTypes(range: Type, count: number): readonly Type[] | undefined {
  const isTwo = count === 2
  switch (range.kind) {
    case 'list':
      return isTwo ? [intType, range.element] : [range.element]
    case 'map':
      return isTwo ? [range.key, range.value] : [range.key]
    case 'dyn':
    case 'variable':
      return [dynType, dynType]
    default:
      return undefined
  }
}

/** The type of what a comprehension gives, from the types of its range, first variable and result expression. */
export function comprehensionType(
  { macro }: Comprehension,
  { range, first, result }: { readonly range: Type; readonly first: Type; readonly result: Type },
): Type {
  switch (macro) {
    case 'all':
    case 'exists':
    case 'exists_one':
      return boolType
    case 'filter':
    case 'sort_by':
      return listType(first)
    case 'map':
    case 'transformList':
      return listType(result)
    case 'transformMap':
      return mapType(range.kind === 'list' || range.kind === 'map' ? first : dynType, result)
    case 'transformMapEntry':
      return result.kind === 'map' ? result : dynType
  }
}
