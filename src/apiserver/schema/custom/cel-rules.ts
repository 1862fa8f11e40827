import { CelError } from '../../../cel/errors.ts'
import { Budget } from '../../../cel/frame.ts'
import type { Program } from '../../../cel/program.ts'
import { CelOptional, type CelValue } from '../../../cel/values.ts'
import { deepEqual } from '../../../kube/patches/patch.ts'
import { duplicate, forbidden, invalidValue, omitted, required, type FieldError } from '../types/field-error.ts'
import { isRecord } from '../../../kube/basics/json.ts'
import { compileRule, selfType, type CompiledRule, type SelfType } from './compile-rule.ts'
import type { StructuralSchema, ValidationRule } from '../types/structural-schema.ts'
import type { RuleHook } from './validate-custom.ts'

/** The rules of a schema, ready to check objects with; `rules` is left out when the schema has none. */
export interface CompiledRules {
  readonly rules?: RuleHook
  /** What is wrong with the rules themselves; fields are relative to the schema. */
  readonly errors: readonly FieldError[]
}

/** Compiles x-kubernetes-validations. Compile once per schema: it costs more than checking an object. */
export function compileRules(schema: StructuralSchema, path = 'spec.validation.openAPIV3Schema'): CompiledRules {
  const errors: FieldError[] = []
  const root = compileNode(schema, '', errors, { isRoot: true, schemaPath: path })
  if (!root) return { errors }
  return { rules: (object, old) => new Check().object(root, object, old), errors }
}

/** CEL cost limits of one rule and of all rules of an object: about a tenth of a second at most. */
const ruleBudget = 1_000_000
const objectBudget = 3_000_000

/** A node of the schema that has rules, or has nodes with rules below it. */
interface RuleNode {
  readonly schema: StructuralSchema
  readonly self: SelfType
  readonly rules: readonly CompiledRule[]
  readonly properties: ReadonlyMap<string, RuleNode>
  readonly additional: RuleNode | undefined
  readonly items: RuleNode | undefined
}

interface Place {
  readonly isRoot?: boolean
  /** The path of the schema in its CRD; messages name it. */
  readonly schemaPath: string
  /** The nearest enclosing list whose items cannot be matched with their old values, if any. */
  readonly uncorrelated?: string
}

function compileNode(schema: StructuralSchema, path: string, errors: FieldError[], place: Place): RuleNode | undefined {
  const { isRoot = false, ...below } = place
  const at = (step: string): string => (path ? `${path}.${step}` : step)
  const properties = new Map<string, RuleNode>()
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const node = compileNode(property, at(`properties[${name}]`), errors, below)
    if (node) properties.set(name, node)
  }
  const { additionalProperties, items } = schema
  const additional = isRecord(additionalProperties)
    ? compileNode(additionalProperties as StructuralSchema, at('additionalProperties'), errors, below)
    : undefined
  const isKeyed = schema['x-kubernetes-list-type'] === 'map'
  const list = path ? `${place.schemaPath}.${path}` : place.schemaPath
  const inner = items && compileNode(items, at('items'), errors, isKeyed ? below : { uncorrelated: list, ...below })
  const rules = schema['x-kubernetes-validations'] ?? []
  if (rules.length === 0 && properties.size === 0 && !additional && !inner) return undefined
  const self = selfType(schema, isRoot)
  const compiled = rules.flatMap((rule, index) =>
    compiledRule(rule, self, { path: at(`x-kubernetes-validations[${index}]`), schema, place, errors }),
  )
  return { schema, self, rules: compiled, properties, additional, items: inner }
}

interface RulePlace {
  readonly path: string
  readonly schema: StructuralSchema
  readonly place: Place
  readonly errors: FieldError[]
}

function compiledRule(rule: ValidationRule, self: SelfType, at: RulePlace): CompiledRule[] {
  const compiled = compileRule(rule, self, at)
  if (!('program' in compiled)) {
    at.errors.push(...compiled)
    return []
  }
  const { uncorrelated } = at.place
  if (compiled.usesOldSelf && uncorrelated !== undefined) {
    const detail = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${uncorrelated}`
    at.errors.push(invalidValue(`${at.path}.rule`, rule.rule, detail))
  }
  return [compiled]
}

/** A value of the object under validation. */
interface Checked {
  readonly value: unknown
  /** The stored value it replaces; undefined when there is none. */
  readonly old: unknown
  readonly path: string
}

/** Validates one object. All its rules share one cost budget; once that is spent, no further rule runs. */
class Check {
  readonly #errors: FieldError[] = []
  #remaining = objectBudget
  #isSpent = false

  object(root: RuleNode, value: unknown, old: unknown): readonly FieldError[] {
    this.#visit(root, { value, old, path: '' })
    return this.#errors
  }

  #visit(node: RuleNode, { value, old, path }: Checked): void {
    if (value === null || value === undefined) return
    for (const rule of node.rules) if (!this.#isSpent) this.#rule(rule, node, { value, old: old ?? undefined, path })
    if (Array.isArray(value)) this.#items(node, value, { old, path })
    else if (isRecord(value)) this.#fields(node, value, { old, path })
  }

  #fields(node: RuleNode, value: Record<string, unknown>, { old, path }: Omit<Checked, 'value'>): void {
    const before = isRecord(old) ? old : {}
    for (const name of Object.keys(value)) {
      const property = node.properties.get(name)
      const inner = { value: value[name], old: before[name] }
      if (property) this.#visit(property, { ...inner, path: path ? `${path}.${name}` : name })
      else if (node.additional) this.#visit(node.additional, { ...inner, path: `${path}[${name}]` })
    }
  }

  /** Only lists of type map tell which old item a new one replaces: by its keys. */
  #items(node: RuleNode, value: readonly unknown[], { old, path }: Omit<Checked, 'value'>): void {
    const { items } = node
    if (!items) return
    const keys =
      node.schema['x-kubernetes-list-type'] === 'map' ? (node.schema['x-kubernetes-list-map-keys'] ?? []) : []
    const keyOf = (item: unknown): string =>
      isRecord(item) ? JSON.stringify(keys.map((key) => item[key] ?? null)) : ''
    const before = new Map(
      keys.length > 0 && Array.isArray(old) ? old.map((item) => [keyOf(item), item as unknown]) : [],
    )
    value.forEach((item, index) =>
      this.#visit(items, { value: item, old: before.get(keyOf(item)), path: `${path}[${index}]` }),
    )
  }

  #rule(compiled: CompiledRule, node: RuleNode, { value, old, path }: Checked): void {
    const { rule, program, usesOldSelf } = compiled
    if (usesOldSelf && old === undefined && !rule.optionalOldSelf) return
    const bindings = bind(compiled, node, value, old)
    const result = this.#evaluate(program, bindings)
    if (result === true) return
    // Validation ratcheting: an unchanged value that already broke the rule stays valid.
    if (!usesOldSelf && old !== undefined && deepEqual(value, old)) return
    const field = (path + (rule.fieldPath ?? '')).replace(/^\./, '') || '<nil>'
    this.#errors.push(
      result instanceof CelError
        ? this.#failure(result, rule, node, field)
        : this.#broken(compiled, value, bindings, field),
    )
  }

  #evaluate(program: Program, bindings: Record<string, CelValue>): CelValue {
    const granted = Math.min(ruleBudget, this.#remaining)
    const budget = new Budget(granted)
    const result = program.evaluate(bindings, { budget })
    this.#remaining -= granted - Math.max(0, budget.remaining)
    return result
  }

  #failure({ kind, message }: CelError, rule: ValidationRule, { schema }: RuleNode, field: string): FieldError {
    const type = schema.type ?? ''
    if (kind === 'budget') {
      this.#isSpent = true
      if (this.#remaining > 0) {
        const detail = `'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: ${rule.message?.trim() || rule.rule.trim()}`
        return invalidValue(field, type, detail)
      }
      return invalidValue(
        field,
        type,
        'validation failed due to running out of cost budget, no further validation rules will be run',
      )
    }
    const name = rule.message?.trim() || rule.rule.trim()
    if (message.startsWith('no such overload')) {
      const detail = `'${message}': call arguments did not match a supported operator, function or macro signature for rule: ${name}`
      return invalidValue(field, type, detail)
    }
    return invalidValue(field, type, `${message} evaluating rule: ${name}`)
  }

  #broken(
    { rule, message }: CompiledRule,
    value: unknown,
    bindings: Record<string, CelValue>,
    field: string,
  ): FieldError {
    const text = message && this.#evaluate(message, bindings)
    const isUsable = typeof text === 'string' && text.trim() !== '' && !text.trim().includes('\n')
    const detail = isUsable ? text.trim() : rule.message?.trim() || `failed rule: ${rule.rule.trim()}`
    const shown = typeof value === 'object' ? omitted : value
    switch (rule.reason) {
      case 'FieldValueForbidden':
        return forbidden(field, detail)
      case 'FieldValueRequired':
        return required(field, detail)
      case 'FieldValueDuplicate':
        return duplicate(field, shown)
      default:
        return invalidValue(field, shown, detail)
    }
  }
}

function bind({ rule }: CompiledRule, { self }: RuleNode, value: unknown, old: unknown): Record<string, CelValue> {
  const before = old === undefined ? undefined : self.adapt(old)
  if (rule.optionalOldSelf) {
    return { self: self.adapt(value), oldSelf: before === undefined ? CelOptional.none : new CelOptional(before) }
  }
  return before === undefined ? { self: self.adapt(value) } : { self: self.adapt(value), oldSelf: before }
}
