import type { CelValue } from './values.ts'

interface Node {
  /** Offset in the source. */
  readonly at: number
  /** Longest way down to a leaf; bounded, so that walking a tree cannot exhaust the stack. */
  readonly height: number
}

export interface Literal extends Node {
  readonly kind: 'literal'
  readonly value: CelValue
}

export interface Name extends Node {
  readonly kind: 'name'
  readonly name: string
  /** Written with a leading dot: looked up outside every container and comprehension. */
  readonly isRooted: boolean
}

export interface Select extends Node {
  readonly kind: 'select'
  readonly operand: Expr
  readonly field: string
  /** `.?`: absent fields give an empty optional. */
  readonly isOptional: boolean
}

/** `has(operand.field)`. */
export interface Has extends Node {
  readonly kind: 'has'
  readonly operand: Expr
  readonly field: string
}

export interface Index extends Node {
  readonly kind: 'index'
  readonly operand: Expr
  readonly index: Expr
  readonly isOptional: boolean
}

export interface Call extends Node {
  readonly kind: 'call'
  readonly target: Expr | undefined
  readonly name: string
  readonly args: readonly Expr[]
  readonly isRooted: boolean
}

export interface Unary extends Node {
  readonly kind: 'unary'
  readonly operator: '!' | '-'
  readonly operand: Expr
}

export type BinaryOperator = '==' | '!=' | '<' | '<=' | '>' | '>=' | 'in' | '+' | '-' | '*' | '/' | '%'

interface Binary extends Node {
  readonly kind: 'binary'
  readonly operator: BinaryOperator
  readonly left: Expr
  readonly right: Expr
}

/** A whole chain of `&&` or of `||`. */
interface Logical extends Node {
  readonly kind: 'logical'
  readonly operator: '&&' | '||'
  readonly terms: readonly Expr[]
}

interface Conditional extends Node {
  readonly kind: 'conditional'
  readonly test: Expr
  readonly yes: Expr
  readonly no: Expr
}

interface ListLiteral extends Node {
  readonly kind: 'list'
  readonly elements: readonly { readonly value: Expr; readonly isOptional: boolean }[]
}

interface MapLiteral extends Node {
  readonly kind: 'map'
  readonly entries: readonly { readonly key: Expr; readonly value: Expr; readonly isOptional: boolean }[]
}

export type ComprehensionMacro =
  | 'all'
  | 'exists'
  | 'exists_one'
  | 'filter'
  | 'map'
  | 'transformList'
  | 'transformMap'
  | 'transformMapEntry'
  | 'sort_by'

export interface Comprehension extends Node {
  readonly kind: 'comprehension'
  readonly macro: ComprehensionMacro
  readonly range: Expr
  /** One variable: the element, or a map's key. Two: index and element, or key and value. */
  readonly variables: readonly string[]
  readonly predicate: Expr | undefined
  readonly result: Expr | undefined
}

/** `cel.bind(variable, value, body)`. */
export interface Bind extends Node {
  readonly kind: 'bind'
  readonly variable: string
  readonly value: Expr
  readonly body: Expr
}

/** `optMap` and, when flat, `optFlatMap`. */
export interface OptionalMap extends Node {
  readonly kind: 'optional-map'
  readonly isFlat: boolean
  readonly target: Expr
  readonly variable: string
  readonly body: Expr
}

export type Expr =
  | Literal
  | Name
  | Select
  | Has
  | Index
  | Call
  | Unary
  | Binary
  | Logical
  | Conditional
  | ListLiteral
  | MapLiteral
  | Comprehension
  | Bind
  | OptionalMap

/** The nodes right below this one, in source order. */
export function childrenOf(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case 'literal':
    case 'name':
      return []
    case 'select':
    case 'has':
    case 'unary':
      return [expr.operand]
    case 'index':
      return [expr.operand, expr.index]
    case 'call':
      return expr.target ? [expr.target, ...expr.args] : expr.args
    case 'binary':
      return [expr.left, expr.right]
    case 'logical':
      return expr.terms
    case 'conditional':
      return [expr.test, expr.yes, expr.no]
    case 'list':
      return expr.elements.map(({ value }) => value)
    case 'map':
      return expr.entries.flatMap(({ key, value }) => [key, value])
    case 'comprehension':
      return [expr.range, expr.predicate, expr.result].filter((part) => part !== undefined)
    case 'bind':
      return [expr.value, expr.body]
    case 'optional-map':
      return [expr.target, expr.body]
  }
}

/** `a.b.c` as its parts; `undefined` for anything else. */
export function dottedPath(expr: Expr): readonly string[] | undefined {
  if (expr.kind === 'name') return [expr.name]
  if (expr.kind !== 'select' || expr.isOptional) return undefined
  const path = dottedPath(expr.operand)
  return path && [...path, expr.field]
}

/** Whether the dotted path starts with a dot. */
export function isRootedPath(expr: Expr): boolean {
  if (expr.kind === 'select') return isRootedPath(expr.operand)
  return expr.kind === 'name' && expr.isRooted
}
