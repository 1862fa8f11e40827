import { dottedPath, isRootedPath } from './ast.ts'
import type { Call, Comprehension, Expr, Index, Name, Select } from './ast.ts'
import { comprehensionType, variableTypes } from './comprehension-types.ts'
import type { Environment } from './environment.ts'
import { CelError, SourceFault } from './errors.ts'
import { Budget, Frame, defaultBudget } from './frame.ts'
import type { Overload } from './functions.ts'
import { findFunction, findGlobal } from './names.ts'
import { operatorSignatures } from './operators.ts'
import { matchSignatures } from './overload-matching.ts'
import { typeNameOf } from './type-of.ts'
import { Unifier } from './unifier.ts'
import * as types from './types.ts'
import type { Field, Type } from './types.ts'

/** What a name, a dotted path or a call was found to mean. */
export type Reference =
  | { readonly kind: 'variable'; readonly name: string }
  | { readonly kind: 'type'; readonly name: string }
  | { readonly kind: 'field'; readonly field: Field }
  | {
      readonly kind: 'call'
      readonly overloads: readonly Overload[]
      /** The arguments, the target of a member call first. */
      readonly args: readonly Expr[]
      /** The argument types are known to fit the one overload, whatever the data. */
      readonly isCertain: boolean
    }

export interface Checked {
  readonly type: Type
  readonly references: ReadonlyMap<Expr, Reference>
  readonly faults: readonly SourceFault[]
}

/** Finds what every name means and what type every part has; collects what does not fit. */
export function check(expr: Expr, environment: Environment): Checked {
  const checker = new Checker(environment)
  const type = checker.check(expr)
  return checker.outcome(type)
}

interface Scope {
  readonly name: string
  readonly type: Type
  readonly outer: Scope | undefined
}

class Checker {
  readonly #environment: Environment
  readonly #unifier = new Unifier()
  readonly #references = new Map<Expr, Reference>()
  readonly #faults: SourceFault[] = []
  /** What is evaluated while compiling has a budget, too. */
  readonly #frame = new Frame({}, 0, new Budget(defaultBudget), undefined)
  #scope: Scope | undefined

  constructor(environment: Environment) {
    this.#environment = environment
  }

  outcome(type: Type): Checked {
    return {
      type: this.#unifier.resolve(type, true),
      references: this.#references,
      faults: this.#faults,
    }
  }

  check(expr: Expr): Type {
    return this.#unifier.resolve(this.#typeOf(expr))
  }

  #fault(message: string, { at }: Expr): Type {
    if (this.#environment.isChecked) this.#faults.push(new SourceFault(message, at))
    return types.dynType
  }

  #typeOf(expr: Expr): Type {
    switch (expr.kind) {
      case 'literal':
        return literalType(expr.value === null ? 'null' : typeNameOf(expr.value))
      case 'name':
        return this.#name(expr)
      case 'select':
        return this.#select(expr)
      case 'has':
        this.#field(expr, this.check(expr.operand))
        return types.boolType
      case 'index':
        return this.#index(expr)
      case 'call':
        return this.#call(expr)
      case 'unary':
        return this.#operator(expr, expr.operator === '-' ? 'negate' : '!', [expr.operand])
      case 'binary':
        return this.#operator(expr, expr.operator, [expr.left, expr.right])
      case 'logical':
        for (const term of expr.terms) this.#expect(term, types.boolType)
        return types.boolType
      case 'conditional':
        return this.#conditional(expr)
      case 'list':
        return types.listType(this.#joined(expr.elements.map((element) => this.#element(element))))
      case 'map':
        return types.mapType(
          this.#joined(expr.entries.map(({ key }) => this.check(key))),
          this.#joined(expr.entries.map((entry) => this.#element(entry))),
        )
      case 'comprehension':
        return this.#comprehension(expr)
      case 'bind':
        return this.#within([[expr.variable, this.check(expr.value)]], () => this.check(expr.body))
      case 'optional-map':
        return this.#optionalMap(expr)
    }
  }

  #expect(expr: Expr, wanted: Type): void {
    const type = this.check(expr)
    if (this.#unifier.assign(wanted, type)) return
    this.#fault(`expected type '${types.typeText(wanted)}' but found '${this.#text(type)}'`, expr)
  }

  #text(type: Type): string {
    return types.typeText(this.#unifier.resolve(type, true))
  }

  #name(expr: Name): Type {
    const local = expr.isRooted ? undefined : this.#local(expr.name)
    if (local) return local.type
    return this.#global(expr, expr.name) ?? this.#undeclared(expr)
  }

  #undeclared(expr: Name | Call): Type {
    return this.#fault(`undeclared reference to '${expr.name}' (in container '${this.#environment.container}')`, expr)
  }

  #local(name: string): Scope | undefined {
    for (let scope = this.#scope; scope; scope = scope.outer) if (scope.name === name) return scope
    return undefined
  }

  #global(expr: Expr, path: string): Type | undefined {
    const found = findGlobal(this.#environment, expr, path)
    if (found) this.#references.set(expr, found.reference)
    return found?.type
  }

  #select(expr: Select): Type {
    const path = dottedPath(expr)
    const head = path?.[0]
    if (path && head !== undefined && (isRootedPath(expr) || !this.#local(head))) {
      const global = this.#global(expr, path.join('.'))
      if (global) return global
    }
    const operand = this.check(expr.operand)
    const isOptional = expr.isOptional || operand.kind === 'optional'
    const type = this.#field(expr, operand)
    return isOptional ? types.optionalType(type) : type
  }

  #field(expr: Expr & { readonly field: string }, operandType: Type): Type {
    const operand = operandType.kind === 'optional' ? this.#unifier.resolve(operandType.of) : operandType
    if (operand.kind === 'dyn' || operand.kind === 'variable') return types.dynType
    if (operand.kind === 'map') return operand.value
    if (operand.kind !== 'object') {
      return this.#fault(`type '${this.#text(operand)}' does not support field selection`, expr)
    }
    const field = operand.fields.get(expr.field)
    if (!field) return this.#fault(`undefined field '${expr.field}'`, expr)
    this.#references.set(expr, { kind: 'field', field })
    return field.type
  }

  #index(expr: Index): Type {
    const operand = this.check(expr.operand)
    const inner = operand.kind === 'optional' ? this.#unifier.resolve(operand.of) : operand
    const type = this.#item(expr, inner)
    return expr.isOptional || operand.kind === 'optional' ? types.optionalType(type) : type
  }

  #item(expr: Index, container: Type): Type {
    const index = this.check(expr.index)
    const fits = (wanted: Type): boolean => this.#unifier.attempt(() => this.#unifier.assign(wanted, index))
    if (container.kind === 'list' && fits(types.intType)) return container.element
    if (container.kind === 'map' && fits(container.key)) return container.value
    if (container.kind === 'dyn' || container.kind === 'variable') return types.dynType
    return this.#noOverload(expr, '_[_]', [container, index])
  }

  #noOverload(expr: Expr, name: string, args: readonly Type[]): Type {
    const isMember = expr.kind === 'call' && expr.target !== undefined && args.length > expr.args.length
    const [first = '', ...rest] = args.map((type) => this.#text(type))
    const list = isMember ? `${first}.(${rest.join(', ')})` : `(${[first, ...rest].join(', ')})`
    return this.#fault(`found no matching overload for '${name}' applied to '${list}'`, expr)
  }

  #operator(expr: Expr, operator: keyof typeof operatorSignatures, operands: readonly Expr[]): Type {
    const args = operands.map((operand) => this.check(operand))
    const { result } = matchSignatures(this.#unifier, operatorSignatures[operator], args)
    const shown = operator === 'negate' ? '-_' : operands.length === 1 ? `${operator}_` : `_${operator}_`
    return result ?? this.#noOverload(expr, shown, args)
  }

  #call(expr: Call): Type {
    const found = findFunction(this.#environment, expr)
    if (!found) {
      for (const arg of expr.target ? [expr.target, ...expr.args] : expr.args) this.check(arg)
      this.#references.set(expr, { kind: 'call', overloads: [], args: [], isCertain: false })
      return this.#undeclared(expr)
    }
    const argTypes = found.args.map((arg) => this.check(arg))
    const { matches, result } = matchSignatures(this.#unifier, found.overloads, argTypes)
    const isCertain = matches.length === 1 && argTypes.every((type) => isConcrete(this.#unifier.resolve(type)))
    const overloads = this.#environment.isChecked ? matches : found.overloads
    this.#references.set(expr, { kind: 'call', overloads, args: found.args, isCertain })
    this.#checkLiterals(expr, matches, found.args)
    return result ?? this.#noOverload(expr, expr.name, argTypes)
  }

  /** Durations, timestamps and patterns written out are looked at now, not when they are first needed. */
  #checkLiterals(expr: Call, matches: readonly Overload[], args: readonly Expr[]): void {
    const values = args.map((arg) => (arg.kind === 'literal' ? arg.value : undefined))
    for (const { checkLiterals } of matches) {
      const error = checkLiterals?.(this.#frame, values)
      if (error instanceof CelError) this.#fault(error.message, expr)
    }
  }

  #conditional(expr: Extract<Expr, { kind: 'conditional' }>): Type {
    this.#expect(expr.test, types.boolType)
    const yes = this.check(expr.yes)
    const no = this.check(expr.no)
    const joined = this.#unifier.join(yes, no)
    const isDynamic = yes.kind === 'dyn' || no.kind === 'dyn'
    if (joined.kind !== 'dyn' || isDynamic) return joined
    return this.#noOverload(expr, '_?_:_', [types.boolType, yes, no])
  }

  #element({ value, isOptional }: { readonly value: Expr; readonly isOptional: boolean }): Type {
    const type = this.check(value)
    if (!isOptional || type.kind === 'dyn') return type
    const inner = this.#unifier.fresh()
    if (this.#unifier.assign(types.optionalType(inner), type)) return inner
    return this.#fault(`expected type 'optional_type' but found '${this.#text(type)}'`, value)
  }

  #joined(all: readonly Type[]): Type {
    const [first, ...rest] = all
    if (!first) return this.#unifier.fresh()
    return rest.reduce((joined, type) => this.#unifier.join(joined, type), first)
  }

  #comprehension(expr: Comprehension): Type {
    const range = this.check(expr.range)
    const found = variableTypes(range, expr.variables.length)
    if (!found)
      this.#fault(`expression of type '${this.#text(range)}' cannot be the range of a comprehension`, expr.range)
    const variables = expr.variables.map((name, index) => [name, found?.[index] ?? types.dynType] as const)
    return this.#within(variables, () => {
      if (expr.predicate) this.#expect(expr.predicate, types.boolType)
      const result = expr.result ? this.check(expr.result) : types.dynType
      return comprehensionType(expr, { range, first: variables[0]?.[1] ?? types.dynType, result })
    })
  }

  #optionalMap(expr: Extract<Expr, { kind: 'optional-map' }>): Type {
    const target = this.check(expr.target)
    const inner = this.#unifier.fresh()
    if (!this.#unifier.assign(types.optionalType(inner), target)) {
      return this.#noOverload(expr, expr.isFlat ? 'optFlatMap' : 'optMap', [target])
    }
    const body = this.#within([[expr.variable, this.#unifier.resolve(inner)]], () => this.check(expr.body))
    return expr.isFlat ? body : types.optionalType(body)
  }

  #within(variables: readonly (readonly [string, Type])[], work: () => Type): Type {
    const outer = this.#scope
    for (const [name, type] of variables) this.#scope = { name, type, outer: this.#scope }
    const type = work()
    this.#scope = outer
    return type
  }
}

function isConcrete(type: Type): boolean {
  return type.kind !== 'dyn' && type.kind !== 'variable' && type.kind !== 'null'
}

function literalType(name: string): Type {
  return { kind: name as 'bool' }
}
