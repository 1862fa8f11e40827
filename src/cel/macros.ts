import type { Call, ComprehensionMacro, Expr } from './ast.ts'
import type { Builder } from './builder.ts'
import { SourceFault } from './errors.ts'

/** Macros every environment has. */
export const standardMacros = ['has', 'all', 'exists', 'exists_one', 'existsOne', 'map', 'filter'] as const

type CallDraft = Omit<Call, 'height'>
type Expand = (call: CallDraft, builder: Builder) => Expr | undefined

const macros: Readonly<Record<string, Expand>> = {
  has: expandHas,
  all: (call, builder) => predicate('all', call, builder),
  exists: (call, builder) => predicate('exists', call, builder),
  exists_one: (call, builder) => predicate('exists_one', call, builder),
  existsOne: (call, builder) => predicate('exists_one', call, builder),
  filter: (call, builder) => (call.args.length === 2 ? predicate('filter', call, builder) : undefined),
  map: expandMap,
  transformList: (call, builder) => transform('transformList', call, builder),
  transformMap: (call, builder) => transform('transformMap', call, builder),
  transformMapEntry: (call, builder) => transform('transformMapEntry', call, builder),
  sort_by: expandSortBy,
  sortBy: expandSortBy,
  optMap: (call, builder) => expandOptionalMap(false, call, builder),
  optFlatMap: (call, builder) => expandOptionalMap(true, call, builder),
  'cel.bind': expandBind,
  'math.greatest': (call, builder) => expandExtreme('math.@max', call, builder),
  'math.least': (call, builder) => expandExtreme('math.@min', call, builder),
}

/** The node a call stands for when it is one of the enabled macros. */
export function expandMacro(call: CallDraft, enabled: ReadonlySet<string>, builder: Builder): Expr | undefined {
  const name = macroName(call, enabled)
  return enabled.has(name) && Object.hasOwn(macros, name) ? macros[name]!(call, builder) : undefined
}

function macroName({ target, name }: CallDraft, enabled: ReadonlySet<string>): string {
  const qualified = target?.kind === 'name' ? `${target.name}.${name}` : name
  return enabled.has(qualified) ? qualified : name
}

function expandHas({ target, args, at }: CallDraft, builder: Builder): Expr | undefined {
  const [selection] = args
  if (target || args.length !== 1) return undefined
  if (selection?.kind !== 'select') throw new SourceFault('has() needs a field selection', at)
  if (selection.isOptional) throw new SourceFault('has() does not take an optional selection', at)
  return builder.node({ kind: 'has', at, operand: selection.operand, field: selection.field })
}

function predicate(macro: ComprehensionMacro, call: CallDraft, builder: Builder): Expr | undefined {
  const { args } = call
  if (args.length < 2 || args.length > 3) return undefined
  return comprehension(macro, call, builder, { variables: args.slice(0, -1), predicate: args.at(-1) })
}

function expandMap(call: CallDraft, builder: Builder): Expr | undefined {
  const { args } = call
  if (args.length < 2 || args.length > 3) return undefined
  const condition = args.length === 3 ? args[1] : undefined
  return comprehension('map', call, builder, { variables: args.slice(0, 1), predicate: condition, result: args.at(-1) })
}

function transform(macro: ComprehensionMacro, call: CallDraft, builder: Builder): Expr | undefined {
  const { args } = call
  if (args.length < 3 || args.length > 4) return undefined
  const condition = args.length === 4 ? args[2] : undefined
  return comprehension(macro, call, builder, { variables: args.slice(0, 2), predicate: condition, result: args.at(-1) })
}

function expandSortBy(call: CallDraft, builder: Builder): Expr | undefined {
  const [variable, result] = call.args
  if (!variable || call.args.length !== 2) return undefined
  return comprehension('sort_by', call, builder, { variables: [variable], result })
}

/** A comprehension over the target of a call; undefined for a call without one. */
function comprehension(
  macro: ComprehensionMacro,
  call: CallDraft,
  builder: Builder,
  parts: {
    readonly variables: readonly Expr[]
    readonly predicate?: Expr | undefined
    readonly result?: Expr | undefined
  },
): Expr | undefined {
  const { target: range, at } = call
  if (!range) return undefined
  const { predicate: condition, result } = parts
  const variables = names(parts.variables, call)
  return builder.node({ kind: 'comprehension', at, macro, range, variables, predicate: condition, result })
}

function expandOptionalMap(isFlat: boolean, call: CallDraft, builder: Builder): Expr | undefined {
  const { target, args, at } = call
  const [variable, body] = args
  if (!target || !variable || !body || args.length !== 2) return undefined
  const [name = ''] = names([variable], call)
  return builder.node({ kind: 'optional-map', at, isFlat, target, variable: name, body })
}

function expandBind(call: CallDraft, builder: Builder): Expr | undefined {
  const { args, at } = call
  const [variable, value, body] = args
  if (!variable || !value || !body || args.length !== 3) return undefined
  const [name = ''] = names([variable], call)
  return builder.node({ kind: 'bind', at, variable: name, value, body })
}

/** Any number of arguments becomes one argument or a list, which is what the functions behind take. */
function expandExtreme(name: string, { args, at }: CallDraft, builder: Builder): Expr | undefined {
  if (!args.length) throw new SourceFault('math.greatest() and math.least() need an argument', at)
  const elements = args.map((value) => ({ value, isOptional: false }))
  const packed = args.length === 1 ? args : [builder.node({ kind: 'list', at, elements })]
  return builder.node({ kind: 'call', at, target: undefined, name, args: packed, isRooted: true })
}

function names(args: readonly Expr[], { name }: CallDraft): string[] {
  const found = args.map((arg) => {
    if (arg.kind !== 'name' || arg.isRooted) {
      throw new SourceFault(`${name}() needs a simple name as its variable`, arg.at)
    }
    return arg.name
  })
  if (new Set(found).size < found.length) throw new SourceFault(`${name}() needs different variables`, args[0]!.at)
  return found
}
