import { childrenOf, type Expr } from './ast.ts'
import { parse } from './parser.ts'
import { escapeField, type Schema } from './schema.ts'

/** A schema with the bounds that limit how much an expression can have to do. */
export interface BoundedSchema extends Schema {
  readonly maxLength?: number
  readonly maxItems?: number
  readonly maxProperties?: number
  readonly required?: readonly string[]
  readonly enum?: readonly unknown[]
  readonly properties?: Readonly<Record<string, BoundedSchema>>
  readonly additionalProperties?: BoundedSchema | boolean
  readonly items?: BoundedSchema
}

/** Bytes of the largest request, which bounds what no schema does. */
const maxRequest = 3 * 1024 * 1024

/**
 * The cost that evaluating an expression may have at most, in the units of Kubernetes: a step is 1, a character a tenth. What
 * the schema does not tell, such as the result of a function, counts as small: an expression is never said to cost more than in Kubernetes.
 */
export function estimateCost(
  source: string,
  macros: ReadonlySet<string>,
  variables: Readonly<Record<string, BoundedSchema>>,
): number {
  return costOf(parse(source, macros), new Map(Object.entries(variables)))
}

/** How many values of this schema fit in one request. */
export function mostInRequest(schema: BoundedSchema): number {
  return Math.floor(maxRequest / (smallest(schema) + 1))
}

type Scope = ReadonlyMap<string, BoundedSchema>

function costOf(expr: Expr, scope: Scope): number {
  const of = (inner: Expr): number => costOf(inner, scope)
  const parts = (): number => childrenOf(expr).reduce((total, each) => total + of(each), 0)
  switch (expr.kind) {
    case 'literal':
    case 'logical':
      return parts()
    case 'name':
    case 'select':
    case 'has':
    case 'unary':
    case 'index':
      return 1 + parts()
    case 'call':
      return callCost(expr, scope) + parts()
    case 'binary':
      return binaryCost(expr, scope) + parts()
    case 'conditional':
      return of(expr.test) + Math.max(of(expr.yes), of(expr.no))
    case 'list':
      return 10 + parts()
    case 'map':
      return 30 + parts()
    case 'comprehension': {
      const inner = comprehensionScope(expr, scope)
      const round = { all: 2, exists: 2, exists_one: 4 }[expr.macro as 'all'] ?? 12
      const body = [expr.predicate, expr.result].reduce(
        (total, each) => total + (each ? costOf(each, inner) : 0),
        round,
      )
      return of(expr.range) + sizeOf(expr.range, scope) * body
    }
    case 'bind':
      return of(expr.value) + costOf(expr.body, withVariable(scope, expr.variable, schemaOf(expr.value, scope)))
    case 'optional-map':
      return of(expr.target) + costOf(expr.body, withVariable(scope, expr.variable, schemaOf(expr.target, scope)))
  }
}

const perCharacter = 0.1

function callCost({ name, target, args }: Extract<Expr, { kind: 'call' }>, scope: Scope): number {
  const [subject = target, argument] = target ? [target, args[0]] : args
  if (!subject || !argument) return 1
  const [length, other] = [sizeOf(subject, scope) * perCharacter, sizeOf(argument, scope)]
  if (name === 'matches') return Math.max(1, length) * Math.max(1, other * 0.25)
  if (name === 'contains') return Math.max(1, length) * Math.max(1, other * perCharacter)
  return 1
}

function binaryCost({ operator, left, right }: Extract<Expr, { kind: 'binary' }>, scope: Scope): number {
  const [one, other] = [sizeOf(left, scope), sizeOf(right, scope)]
  if (operator === 'in') return schemaOf(right, scope)?.type === 'array' ? Math.max(1, other) : 1
  if (operator === '+') return Math.max(1, (one + other) * perCharacter)
  return Math.max(1, Math.min(one, other) * perCharacter)
}

/** Elements of a list or map, characters of a string: at most. 1 for what the schema does not tell. */
function sizeOf(expr: Expr, scope: Scope): number {
  if (expr.kind === 'literal') return typeof expr.value === 'string' ? expr.value.length : 1
  if (expr.kind === 'list') return expr.elements.length
  if (expr.kind === 'map') return expr.entries.length
  const schema = schemaOf(expr, scope)
  return schema ? largest(schema) : 1
}

/** The schema of what an expression gives, where it is a part of a variable. */
function schemaOf(expr: Expr, scope: Scope): BoundedSchema | undefined {
  switch (expr.kind) {
    case 'name':
      return scope.get(expr.name)
    case 'select':
      return fieldOf(schemaOf(expr.operand, scope), expr.field)
    case 'index': {
      const operand = schemaOf(expr.operand, scope)
      return operand?.items ?? valuesOf(operand)
    }
    case 'comprehension': {
      const range = schemaOf(expr.range, scope)
      if (expr.macro === 'filter') return range
      return expr.macro === 'map' && range ? { type: 'array', maxItems: largest(range), items: {} } : undefined
    }
    default:
      return undefined
  }
}

function fieldOf(schema: BoundedSchema | undefined, name: string): BoundedSchema | undefined {
  const found = Object.entries(schema?.properties ?? {}).find(([key]) => key === name || escapeField(key) === name)
  return found?.[1] ?? valuesOf(schema)
}

function valuesOf(schema: BoundedSchema | undefined): BoundedSchema | undefined {
  const values = schema?.additionalProperties
  return typeof values === 'object' ? values : undefined
}

function comprehensionScope({ range, variables }: Extract<Expr, { kind: 'comprehension' }>, scope: Scope): Scope {
  const schema = schemaOf(range, scope)
  const [first = '', second] = variables
  // Of a map, the first variable is a key.
  if (second === undefined) return withVariable(scope, first, schema?.items)
  return withVariable(scope, second, schema?.items ?? valuesOf(schema))
}

function withVariable(scope: Scope, name: string, schema: BoundedSchema | undefined): Scope {
  const inner = new Map(scope)
  if (schema) inner.set(name, schema)
  else inner.delete(name)
  return inner
}

const formatLengths: Readonly<Record<string, number>> = { date: 12, 'date-time': 42, duration: 42 }

function largest(schema: BoundedSchema): number {
  const { type, maxLength, maxItems, maxProperties, format = '', enum: choices, items = {} } = schema
  if (type === 'array') return maxItems ?? mostInRequest(items)
  if (type === 'object') {
    const values = valuesOf(schema)
    return values ? (maxProperties ?? Math.floor(maxRequest / (smallest(values) + 6))) : 1
  }
  if (type !== 'string') return 1
  if (choices) return Math.max(...choices.map((choice) => String(choice).length))
  return maxLength ?? formatLengths[format] ?? maxRequest - 2
}

/** The bytes of the shortest JSON of a value. */
function smallest({ type, properties = {}, required = [] }: BoundedSchema): number {
  if (type === 'string' || type === 'array') return 2
  if (type === 'boolean') return 4
  if (type !== 'object') return 1
  return required.reduce((size, name) => size + name.length + 4 + smallest(properties[name] ?? {}), 2)
}
