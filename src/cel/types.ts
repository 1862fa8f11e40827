/** A static type. `dyn` fits everything; a `variable` is bound by the first type it meets. */
export type Type =
  | { readonly kind: SimpleKind }
  | { readonly kind: 'list'; readonly element: Type }
  | { readonly kind: 'map'; readonly key: Type; readonly value: Type }
  | { readonly kind: 'optional'; readonly of: Type }
  | { readonly kind: 'type'; readonly of: Type }
  | { readonly kind: 'opaque'; readonly name: string; readonly parameters: readonly Type[] }
  | ObjectType
  | { readonly kind: 'variable'; readonly name: string }

type SimpleKind = 'dyn' | 'null' | 'bool' | 'int' | 'uint' | 'double' | 'string' | 'bytes' | 'timestamp' | 'duration'

/** An object with known fields: selecting any other is an error. */
export interface ObjectType {
  readonly kind: 'object'
  readonly name: string
  readonly fields: ReadonlyMap<string, Field>
}

export interface Field {
  /** The key in the JSON object; the name in expressions may be an escaped form of it. */
  readonly key: string
  readonly type: Type
  /** Makes the typed value from JSON, where the two differ (a timestamp from its text). */
  readonly adapt?: (json: never) => unknown
}

const simple = (kind: SimpleKind): Type => ({ kind })

export const dynType = simple('dyn')
export const nullType = simple('null')
export const boolType = simple('bool')
export const intType = simple('int')
export const uintType = simple('uint')
export const doubleType = simple('double')
export const stringType = simple('string')
export const bytesType = simple('bytes')
export const timestampType = simple('timestamp')
export const durationType = simple('duration')

export function listType(element: Type): Type {
  return { kind: 'list', element }
}

export function mapType(key: Type, value: Type): Type {
  return { kind: 'map', key, value }
}

export function optionalType(of: Type): Type {
  return { kind: 'optional', of }
}

export function typeType(of: Type): Type {
  return { kind: 'type', of }
}

export function opaqueType(name: string, parameters: readonly Type[] = []): Type {
  return { kind: 'opaque', name, parameters }
}

/** An object type from its fields' types; any other field is an error where it is selected. */
export function objectType(name: string, fields: Readonly<Record<string, Type>>): ObjectType {
  return { kind: 'object', name, fields: new Map(Object.entries(fields).map(([key, type]) => [key, { key, type }])) }
}

/** The type's name at run time, as `type(x)` gives it. */
export function runtimeName(type: Type): string {
  switch (type.kind) {
    case 'null':
      return 'null_type'
    case 'timestamp':
      return 'google.protobuf.Timestamp'
    case 'duration':
      return 'google.protobuf.Duration'
    case 'optional':
      return 'optional_type'
    case 'opaque':
    case 'object':
    case 'variable':
      return type.name
    default:
      return type.kind
  }
}

/** The type as a reader of an error message knows it. */
export function typeText(type: Type): string {
  switch (type.kind) {
    case 'list':
      return `list(${typeText(type.element)})`
    case 'map':
      return `map(${typeText(type.key)}, ${typeText(type.value)})`
    case 'optional':
      return `optional_type(${typeText(type.of)})`
    case 'type':
      return `type(${typeText(type.of)})`
    case 'null':
    case 'timestamp':
    case 'duration':
      return type.kind
    case 'opaque':
      return type.parameters.length ? `${type.name}(${type.parameters.map(typeText).join(', ')})` : type.name
    default:
      return runtimeName(type)
  }
}
