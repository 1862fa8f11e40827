import { readPackageFile } from '../../../packaging/package-files.ts'
import type { GroupVersionKind } from '../../../kube/object.ts'

/** A subresource in the table, with the kind of its bodies. */
export interface SubresourceRow extends GroupVersionKind {
  readonly name: string
  readonly verbs: readonly string[]
}

/** A kind in the table. */
export interface KindRow extends GroupVersionKind {
  readonly plural: string
  readonly namespaced: boolean
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  /** In alphabetical order; only `create` for reviews. */
  readonly verbs: readonly string[]
  readonly subresources: readonly SubresourceRow[]
}

/** A type without fields; each has its own JSON and protobuf form. */
export type Scalar =
  | 'string'
  | 'bool'
  | 'int32'
  | 'int64'
  | 'double'
  | 'bytes'
  | 'Time'
  | 'MicroTime'
  | 'Duration'
  | 'Quantity'
  | 'IntOrString'
  | 'RawExtension'
  | 'FieldsV1'
  | 'JSON'
  | 'Strings'
  | 'SchemaOrArray'
  | 'SchemaOrBool'
  | 'SchemaOrStrings'

/** The type of a field, a list's items or a map's values. */
export type TypeExpression =
  | { readonly is: 'scalar'; readonly scalar: Scalar }
  | { readonly is: 'list'; readonly of: TypeExpression }
  | { readonly is: 'map'; readonly of: TypeExpression }
  | { readonly is: 'struct'; readonly struct: StructType }

/** One field of a built-in type. */
export interface Field {
  readonly name: string
  /** Its protobuf number; 0 when it has no protobuf form. */
  readonly number: number
  readonly type: TypeExpression
  readonly isPointer: boolean
  /** Whether it is embedded: its fields are inlined in JSON and nested in protobuf. */
  readonly isInline: boolean
  readonly omitEmpty: boolean
  readonly omitZero: boolean
  readonly isRequired: boolean
  readonly listType: 'atomic' | 'set' | 'map' | undefined
  readonly listKeys: readonly string[]
  readonly isAtomicMap: boolean
  readonly patchStrategies: readonly string[]
  readonly mergeKey: string | undefined
  readonly default: unknown
  /** The type as Go prints it in errors. */
  readonly goType: string
}

/** A built-in type. Its fields are resolved on first use, because types may contain themselves. */
export class StructType {
  /** `core/v1.PodSpec`. */
  readonly id: string
  readonly isAtomic: boolean
  readonly #rows: readonly FieldRow[]
  #own: readonly Field[] | undefined
  #fields: ReadonlyMap<string, Field> | undefined
  #byNumber: readonly (Field | undefined)[] | undefined

  constructor(id: string, row: TypeRow) {
    this.id = id
    this.isAtomic = row.atomic === true
    this.#rows = row.fields
  }

  /** `PodSpec`. */
  get goName(): string {
    return this.id.slice(this.id.lastIndexOf('.') + 1)
  }

  /** Fields as declared, with embedded structs as one field. */
  get own(): readonly Field[] {
    return (this.#own ??= this.#rows.map(fieldFrom))
  }

  /** Fields by JSON name, with the fields of embedded structs. */
  get fields(): ReadonlyMap<string, Field> {
    if (this.#fields) return this.#fields
    const fields = new Map<string, Field>()
    for (const field of this.own) {
      if (field.isInline && field.type.is === 'struct') {
        for (const [name, inner] of field.type.struct.fields) fields.set(name, inner)
      } else fields.set(field.name, field)
    }
    return (this.#fields = fields)
  }

  /** The embedded structs that contain a field, as Go's errors name them: `ProbeHandler.`; '' for own fields. */
  embeddingOf(name: string): string {
    const holder = this.own.find(
      (field) => field.isInline && field.type.is === 'struct' && field.type.struct.fields.has(name),
    )
    if (holder?.type.is !== 'struct') return ''
    return `${holder.type.struct.goName}.${holder.type.struct.embeddingOf(name)}`
  }

  /** Fields by protobuf number, with embedded structs as one field. */
  get byNumber(): readonly (Field | undefined)[] {
    if (this.#byNumber) return this.#byNumber
    const byNumber: (Field | undefined)[] = []
    for (const field of this.own) if (field.number > 0) byNumber[field.number] = field
    return (this.#byNumber = byNumber)
  }
}

/** The built-in type with this name, such as `core/v1.PodSpec`; undefined when the table does not have it. */
export function structType(id: string): StructType | undefined {
  const known = structs.get(id)
  if (known) return known
  const row = table().types[id]
  if (!row) return undefined
  const made = new StructType(id, row)
  structs.set(id, made)
  return made
}

/** The built-in type of a kind, or of an options or review object. */
export function structOfKind({ group, version, kind }: GroupVersionKind): StructType | undefined {
  const packageName = group === '' ? 'core' : (group.split('.')[0] ?? '')
  return (
    structType(`${packageName}/${version}.${kind}`) ?? (metaKinds.has(kind) ? structType(`meta/v1.${kind}`) : undefined)
  )
}

/** The kinds of the table. */
export function kindRows(): readonly KindRow[] {
  return table().kinds
}

/** The Kubernetes release that the table was generated from, such as `v1.36.4`. */
export function tableRelease(): string {
  return table().release
}

/** Name, protobuf number, type expression, flags, rare attributes. */
type FieldRow = readonly [string, number, string, string, RareAttributes?]

interface RareAttributes {
  readonly l?: 'atomic' | 'set' | 'map'
  readonly k?: readonly string[]
  readonly a?: 1
  readonly s?: string
  readonly m?: string
  readonly d?: unknown
  readonly g?: string
}

interface TypeRow {
  readonly atomic?: true
  readonly fields: readonly FieldRow[]
}

interface Table {
  readonly release: string
  readonly kinds: readonly KindRow[]
  readonly types: Readonly<Record<string, TypeRow>>
}

const metaKinds = new Set(['DeleteOptions', 'CreateOptions', 'UpdateOptions', 'PatchOptions', 'Status', 'WatchEvent'])
const structs = new Map<string, StructType>()
let loaded: Table | undefined

function table(): Table {
  return (loaded ??= JSON.parse(readPackageFile('dist/types.generated.json').toString()) as Table)
}

function fieldFrom([name, number, expression, flags, rare = {}]: FieldRow): Field {
  return {
    name,
    number,
    type: expressionFrom(expression),
    isPointer: flags.includes('p'),
    isInline: flags.includes('i'),
    omitEmpty: flags.includes('o'),
    omitZero: flags.includes('z'),
    isRequired: flags.includes('r'),
    listType: rare.l,
    listKeys: rare.k ?? [],
    isAtomicMap: rare.a === 1,
    patchStrategies: rare.s?.split(',') ?? [],
    mergeKey: rare.m,
    default: rare.d,
    goType: rare.g ?? goTypeOf(expression),
  }
}

function expressionFrom(text: string): TypeExpression {
  if (text.startsWith('[]')) return { is: 'list', of: expressionFrom(text.slice(2)) }
  if (text.startsWith('{}')) return { is: 'map', of: expressionFrom(text.slice(2)) }
  if (!text.startsWith('@')) return { is: 'scalar', scalar: text as Scalar }
  const struct = structType(text.slice(1))
  if (!struct) throw new Error(`the type table mentions ${text}, which it does not have`)
  return { is: 'struct', struct }
}

const goScalars: Readonly<Record<string, string>> = {
  double: 'float64',
  bytes: '[]uint8',
  Time: 'v1.Time',
  MicroTime: 'v1.MicroTime',
  Duration: 'v1.Duration',
  Quantity: 'resource.Quantity',
  IntOrString: 'intstr.IntOrString',
  RawExtension: 'runtime.RawExtension',
  FieldsV1: 'v1.FieldsV1',
  JSON: 'v1.JSON',
  Strings: 'v1.ExtraValue',
}

function goTypeOf(expression: string): string {
  if (expression.startsWith('[]')) return `[]${goTypeOf(expression.slice(2))}`
  if (expression.startsWith('{}')) return `map[string]${goTypeOf(expression.slice(2))}`
  if (expression.startsWith('@')) return expression.slice(expression.lastIndexOf('/') + 1)
  return goScalars[expression] ?? expression
}
