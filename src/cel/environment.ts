import { defaultLimits, type Limits } from './builder.ts'
import type { Library, Overload } from './functions.ts'
import { standardMacros } from './macros.ts'
import { runtimeName, type Type } from './types.ts'

/** What an expression may mention: variables and their types, functions, macros, type names. */
export interface Environment {
  readonly variables: ReadonlyMap<string, Type>
  /** By name; a member function's has a dot in front. */
  readonly overloads: ReadonlyMap<string, readonly Overload[]>
  readonly macros: ReadonlySet<string>
  readonly typeNames: ReadonlyMap<string, Type>
  /** Prefix tried in front of names, as a protobuf package would be. */
  readonly container: string
  /** Whether types must fit at compile time; otherwise misfits are evaluation errors. */
  readonly isChecked: boolean
  readonly limits: Limits
}

export interface EnvironmentOptions {
  readonly libraries: readonly Library[]
  /** Variables an expression may use; `dyn` for those whose type is not known. */
  readonly variables?: Readonly<Record<string, Type>>
  readonly container?: string
  /** Defaults to true. */
  readonly isChecked?: boolean
  readonly limits?: Partial<Limits>
}

export function createEnvironment(options: EnvironmentOptions): Environment {
  const { libraries, variables = {}, container = '', isChecked = true, limits = {} } = options
  return {
    variables: new Map(Object.entries(variables)),
    overloads: Map.groupBy(
      libraries.flatMap((library) => library.overloads),
      ({ isMember, name }) => (isMember ? `.${name}` : name),
    ),
    macros: new Set([...standardMacros, ...libraries.flatMap((library) => library.macros ?? [])]),
    typeNames: new Map(
      libraries.flatMap((library) => library.types ?? []).map((type): [string, Type] => [runtimeName(type), type]),
    ),
    container,
    isChecked,
    limits: { ...defaultLimits, ...limits },
  }
}

/** The same environment with further variables, which hide those of the same name. */
export function withVariables(environment: Environment, variables: Readonly<Record<string, Type>>): Environment {
  return { ...environment, variables: new Map([...environment.variables, ...Object.entries(variables)]) }
}

/** Overloads whose calls `x.name(…)` or `name(…)` may mean. */
export function overloadsOf(environment: Environment, name: string, isMember: boolean): readonly Overload[] {
  return environment.overloads.get(isMember ? `.${name}` : name) ?? []
}
