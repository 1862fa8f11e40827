import { join } from 'node:path'
import { readPackage, type GoField, type GoPackage, type GoType } from './go-types.ts'
import type { Modules } from './modules.ts'
import type { Definition, OpenApiFacts, Property } from './open-api.ts'
import { extraTypes } from './served.ts'

/** A field in the table: JSON name, protobuf number (0: not on the wire), type, flags, and what is rarely said. */
export type FieldRow = readonly [string, number, string, string, Record<string, unknown>?]

/** A type in the table: whether it is applied as a whole, and its fields. */
export interface TypeRow {
  readonly atomic?: true
  readonly fields: readonly FieldRow[]
}

export interface Table {
  readonly release: string
  readonly kinds: OpenApiFacts['kinds']
  readonly types: Readonly<Record<string, TypeRow>>
}

/** Types whose JSON or wire form is not that of their fields; `src/apiserver/schema` knows each by name. */
const special: Readonly<Record<string, string>> = {
  'meta/v1.Time': 'Time',
  'meta/v1.MicroTime': 'MicroTime',
  'meta/v1.Duration': 'Duration',
  'meta/v1.FieldsV1': 'FieldsV1',
  'resource.Quantity': 'Quantity',
  'intstr.IntOrString': 'IntOrString',
  'runtime.RawExtension': 'RawExtension',
  'authentication/v1.ExtraValue': 'Strings',
  'authorization/v1.ExtraValue': 'Strings',
  'meta/v1.Verbs': 'Strings',
  'apiextensions/v1.JSON': 'JSON',
  'apiextensions/v1.JSONSchemaPropsOrArray': 'SchemaOrArray',
  'apiextensions/v1.JSONSchemaPropsOrBool': 'SchemaOrBool',
  'apiextensions/v1.JSONSchemaPropsOrStringArray': 'SchemaOrStrings',
}

const scalars: Readonly<Record<string, string>> = {
  string: 'string',
  bool: 'bool',
  int32: 'int32',
  int64: 'int64',
  uint8: 'int32',
  float64: 'double',
}

/** Builds the table from the sources: fields and wire facts from Go, list types and patch keys from OpenAPI. */
export function buildTable(modules: Modules, openApi: OpenApiFacts, release: string): Table {
  const builder = new TableBuilder(modules, openApi)
  for (const kind of openApi.kinds) {
    builder.add(typeId(kind.group, kind.version, kind.kind))
    for (const sub of kind.subresources) builder.add(typeId(sub.group, sub.version, sub.kind))
  }
  for (const [pkg, names] of Object.entries(extraTypes)) for (const name of names) builder.add(`${pkg}.${name}`)
  return { release, kinds: openApi.kinds, types: builder.types() }
}

class TableBuilder {
  readonly #modules: Modules
  readonly #openApi: OpenApiFacts
  readonly #packages = new Map<string, GoPackage>()
  readonly #types = new Map<string, TypeRow>()

  constructor(modules: Modules, openApi: OpenApiFacts) {
    this.#modules = modules
    this.#openApi = openApi
  }

  types(): Record<string, TypeRow> {
    return Object.fromEntries([...this.#types].toSorted(([a], [b]) => (a < b ? -1 : 1)))
  }

  add(id: string): void {
    if (this.#types.has(id) || id in special) return
    const [pkg, name] = split(id)
    const type = this.#declaration(pkg, name)
    if (!('fields' in type)) throw new Error(`${id} is not a struct`)
    this.#types.set(id, { fields: [] })
    const definition = this.#openApi.definitions.get(openApiName(id))
    const fields = type.fields.map((field) => this.#row(pkg, field, definition)).filter((row) => row !== undefined)
    this.#types.set(id, definition?.['x-kubernetes-map-type'] === 'atomic' ? { atomic: true, fields } : { fields })
  }

  #row(pkg: string, field: GoField, definition: Definition | undefined): FieldRow | undefined {
    const [jsonName = '', ...options] = (field.tags.json ?? '').split(',')
    if (jsonName === '-' || (jsonName === '' && !options.includes('inline'))) return undefined
    const [wire, number = '0'] = (field.tags.protobuf ?? '').split(',')
    const type = this.#expression(pkg, field.type)
    const property = definition?.properties?.[jsonName]
    const flags = [
      field.type.startsWith('*') && 'p',
      options.includes('inline') && 'i',
      options.includes('omitempty') && 'o',
      options.includes('omitzero') && 'z',
      definition?.required?.includes(jsonName) && 'r',
    ]
    const rest = { ...rarities(property, field), ...this.#goName(pkg, field.type) }
    const row = [jsonName, wire === '' ? 0 : Number(number), type, flags.filter(Boolean).join('')] as const
    return Object.keys(rest).length > 0 ? [...row, rest] : row
  }

  /** The table's type expression: a scalar, a special, `@type`, with `[]` or `{}` (map of) in front. */
  #expression(pkg: string, goType: string): string {
    const type = goType.replace(/^\*/, '')
    if (type === '[]byte') return 'bytes'
    if (type.startsWith('[]')) return `[]${this.#expression(pkg, type.slice(2))}`
    const map = /^map\[[\w.]+\](.+)$/.exec(type)
    if (map?.[1]) return `{}${this.#expression(pkg, map[1])}`
    if (type in scalars) return scalars[type] ?? ''
    const id = this.#resolve(pkg, type)
    if (id in special) return special[id] ?? ''
    const [itsPackage, name] = split(id)
    const declaration = this.#declaration(itsPackage, name)
    if ('underlying' in declaration) return this.#expression(itsPackage, declaration.underlying)
    this.add(id)
    return `@${id}`
  }

  /** Go's name of a named scalar, list or map: decoding errors mention it. */
  #goName(pkg: string, goType: string): Record<string, string> {
    const type = goType.replace(/^\*/, '')
    if (!/^(\w+\.)?[A-Z]\w*$/.test(type)) return {}
    const id = this.#resolve(pkg, type)
    const [itsPackage, name] = split(id)
    if (id in special || !('underlying' in this.#declaration(itsPackage, name))) return {}
    return { g: `${itsPackage.slice(itsPackage.lastIndexOf('/') + 1)}.${name}` }
  }

  #resolve(pkg: string, type: string): string {
    const dot = type.indexOf('.')
    if (dot < 0) return `${pkg}.${type}`
    const path = this.#package(pkg).imports.get(type.slice(0, dot))
    if (path === undefined) throw new Error(`${pkg}: unknown package in ${type}`)
    return `${packageId(path)}.${type.slice(dot + 1)}`
  }

  #declaration(pkg: string, name: string): GoType {
    const type = this.#package(pkg).types.get(name)
    if (type === undefined) throw new Error(`${pkg} does not declare ${name}`)
    return type
  }

  #package(pkg: string): GoPackage {
    const known = this.#packages.get(pkg)
    if (known) return known
    const read = readPackage(folderOf(this.#modules, pkg))
    this.#packages.set(pkg, read)
    return read
  }
}

function rarities(property: Property | undefined, field: GoField): Record<string, unknown> {
  const listType = property?.['x-kubernetes-list-type']
  const keys = property?.['x-kubernetes-list-map-keys']
  const strategy = field.tags.patchStrategy ?? property?.['x-kubernetes-patch-strategy']
  const mergeKey = field.tags.patchMergeKey ?? property?.['x-kubernetes-patch-merge-key']
  const isSaid = (value: unknown): boolean =>
    value !== undefined && value !== '' && value !== 0 && value !== false && JSON.stringify(value) !== '{}'
  return {
    ...(listType ? { l: listType } : {}),
    ...(keys ? { k: keys } : {}),
    ...(property?.['x-kubernetes-map-type'] === 'atomic' ? { a: 1 } : {}),
    ...(strategy ? { s: strategy } : {}),
    ...(mergeKey ? { m: mergeKey } : {}),
    ...(isSaid(property?.default) ? { d: property?.default } : {}),
  }
}

function split(id: string): [string, string] {
  const dot = id.lastIndexOf('.')
  return [id.slice(0, dot), id.slice(dot + 1)]
}

function typeId(group: string, version: string, kind: string): string {
  return `${group === '' ? 'core' : group.split('.')[0]}/${version}.${kind}`
}

function packageId(importPath: string): string {
  if (importPath.startsWith('k8s.io/api/')) return importPath.slice('k8s.io/api/'.length)
  if (importPath.endsWith('pkg/apis/meta/v1')) return 'meta/v1'
  return importPath.slice(importPath.lastIndexOf('/') + 1)
}

function folderOf(modules: Modules, pkg: string): string {
  switch (pkg) {
    case 'meta/v1':
      return join(modules.apimachinery, 'pkg/apis/meta/v1')
    case 'runtime':
      return join(modules.apimachinery, 'pkg/runtime')
    case 'types':
      return join(modules.apimachinery, 'pkg/types')
    case 'apiextensions/v1':
      return join(modules.apiextensions, 'pkg/apis/apiextensions/v1')
    case 'apiregistration/v1':
      return join(modules.aggregator, 'pkg/apis/apiregistration/v1')
    default:
      return join(modules.api, pkg)
  }
}

function openApiName(id: string): string {
  const [pkg, name] = split(id)
  const dotted = pkg.replaceAll('/', '.')
  if (pkg === 'meta/v1') return `io.k8s.apimachinery.pkg.apis.meta.v1.${name}`
  if (pkg === 'apiextensions/v1') return `io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.${name}`
  if (pkg === 'apiregistration/v1') return `io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.${name}`
  return `io.k8s.api.${dotted}.${name}`
}
