import type { GroupVersionKind } from '../../../kube/object.ts'
import { readPackageFile } from '../../../packaging/package-files.ts'
import type { StructuralSchema } from '../types/structural-schema.ts'
import type { ObjectSchema } from '../types/object-schema.ts'
import {
  structOfKind,
  structType,
  type Field,
  type Scalar,
  type StructType,
  type TypeExpression,
} from '../types/type-table.ts'

type Schema = Record<string, unknown>

/** The schemas that a document references, each defined once. */
export class Components {
  readonly #schemas = new Map<string, Schema>()

  schemas(): Schema {
    return Object.fromEntries([...this.#schemas].toSorted(([a], [b]) => (a < b ? -1 : 1)))
  }

  /** A reference to the schema of a kind. */
  kind({ gvk, struct, structural }: ObjectSchema): Schema {
    return struct ? this.#struct(struct, gvk) : this.#custom(gvk, structural)
  }

  /** A reference to the schema of a subresource's kind, such as Scale. */
  other(gvk: GroupVersionKind): Schema {
    const struct = structOfKind(gvk)
    return struct ? this.#struct(struct, gvk) : { type: 'object' }
  }

  /** A reference to the schema of a kind's lists. */
  list(gvk: GroupVersionKind, listKind: string, item: Schema): Schema {
    const name = typeof item.$ref === 'string' ? item.$ref.slice(item.$ref.lastIndexOf('/') + 1) : gvk.kind
    return this.#define(`${name.slice(0, name.lastIndexOf('.'))}.${listKind}`, () => ({
      type: 'object',
      required: ['items'],
      properties: {
        apiVersion: { type: 'string' },
        items: { type: 'array', items: item },
        kind: { type: 'string' },
        metadata: this.#meta('ListMeta'),
      },
      'x-kubernetes-group-version-kind': [{ group: gvk.group, kind: listKind, version: gvk.version }],
    }))
  }

  patch(): Schema {
    return this.#define(`${metaPackage}.Patch`, () => ({ type: 'object' }))
  }

  #custom(gvk: GroupVersionKind, schema: StructuralSchema = {}): Schema {
    const { group, version, kind } = gvk
    // What all kinds have is described as it is for a built-in one.
    const [, common = {}] = descriptions()['io.k8s.api.core.v1.ConfigMap'] ?? []
    return this.#define([...group.split('.').toReversed(), version, kind].join('.'), () => ({
      ...schema,
      type: 'object',
      properties: {
        ...schema.properties,
        apiVersion: { type: 'string', description: common['apiVersion'] },
        kind: { type: 'string', description: common['kind'] },
        metadata: { allOf: [this.#meta('ObjectMeta')], description: common['metadata'] },
      },
      'x-kubernetes-group-version-kind': [{ group, kind, version }],
    }))
  }

  #struct(struct: StructType, gvk?: GroupVersionKind): Schema {
    const schemaName = openApiName(struct.id)
    return this.#define(schemaName, () => {
      const [description, ofFields = {}] = descriptions()[schemaName] ?? []
      const required = [...struct.fields.values()].filter((field) => field.isRequired).map((field) => field.name)
      const fields = [...struct.fields].map(([name, field]) => [name, this.#field(field, ofFields[name])] as const)
      return {
        ...(description ? { description } : {}),
        type: 'object',
        properties: Object.fromEntries(fields),
        ...(required.length > 0 ? { required: required.toSorted() } : {}),
        ...(struct.isAtomic ? { 'x-kubernetes-map-type': 'atomic' } : {}),
        ...(gvk
          ? { 'x-kubernetes-group-version-kind': [{ group: gvk.group, kind: gvk.kind, version: gvk.version }] }
          : {}),
      }
    })
  }

  #field(field: Field, description: string | undefined): Schema {
    const schema = this.#type(field.type)
    const said: Schema = {
      ...(description ? { description } : {}),
      ...(field.default === undefined ? {} : { default: field.default }),
      ...(field.listType ? { 'x-kubernetes-list-type': field.listType } : {}),
      ...(field.listKeys.length > 0 ? { 'x-kubernetes-list-map-keys': field.listKeys } : {}),
      ...(field.isAtomicMap ? { 'x-kubernetes-map-type': 'atomic' } : {}),
      ...(field.patchStrategies.length > 0 ? { 'x-kubernetes-patch-strategy': field.patchStrategies.join(',') } : {}),
      ...(field.mergeKey ? { 'x-kubernetes-patch-merge-key': field.mergeKey } : {}),
    }
    if (Object.keys(said).length === 0) return schema
    return '$ref' in schema ? { allOf: [schema], ...said } : { ...schema, ...said }
  }

  #type(type: TypeExpression): Schema {
    switch (type.is) {
      case 'struct':
        return this.#struct(type.struct)
      case 'list':
        return { type: 'array', items: this.#type(type.of) }
      case 'map':
        return { type: 'object', additionalProperties: this.#type(type.of) }
      case 'scalar':
        return this.#scalar(type.scalar)
    }
  }

  #scalar(scalar: Scalar): Schema {
    const named = namedScalars[scalar]
    if (named) return this.#define(named.name, () => named.schema)
    return plainScalars[scalar] ?? {}
  }

  #meta(name: string): Schema {
    const struct = structType(`meta/v1.${name}`)
    return struct ? this.#struct(struct) : { type: 'object' }
  }

  /** Registers the name before building the schema, because types may contain themselves. */
  #define(name: string, make: () => Schema): Schema {
    if (!this.#schemas.has(name)) {
      this.#schemas.set(name, {})
      this.#schemas.set(name, make())
    }
    return { $ref: `#/components/schemas/${name}` }
  }
}

const metaPackage = 'io.k8s.apimachinery.pkg.apis.meta.v1'

const plainScalars: Partial<Record<Scalar, Schema>> = {
  string: { type: 'string' },
  bool: { type: 'boolean' },
  int32: { type: 'integer', format: 'int32' },
  int64: { type: 'integer', format: 'int64' },
  double: { type: 'number', format: 'double' },
  bytes: { type: 'string', format: 'byte' },
  Strings: { type: 'array', items: { type: 'string' } },
}

const namedScalars: Partial<Record<Scalar, { readonly name: string; readonly schema: Schema }>> = {
  Time: { name: `${metaPackage}.Time`, schema: { type: 'string', format: 'date-time' } },
  MicroTime: { name: `${metaPackage}.MicroTime`, schema: { type: 'string', format: 'date-time' } },
  Duration: { name: `${metaPackage}.Duration`, schema: { type: 'string' } },
  FieldsV1: { name: `${metaPackage}.FieldsV1`, schema: { type: 'object' } },
  Quantity: {
    name: 'io.k8s.apimachinery.pkg.api.resource.Quantity',
    schema: { oneOf: [{ type: 'string' }, { type: 'number' }] },
  },
  IntOrString: {
    name: 'io.k8s.apimachinery.pkg.util.intstr.IntOrString',
    schema: { format: 'int-or-string', oneOf: [{ type: 'integer' }, { type: 'string' }] },
  },
  RawExtension: { name: 'io.k8s.apimachinery.pkg.runtime.RawExtension', schema: { type: 'object' } },
}

type Descriptions = Readonly<Record<string, readonly [string, Readonly<Record<string, string>>]>>
let loaded: Descriptions | undefined

/** Descriptions of types and their fields, by OpenAPI name. Only `kubectl explain` reads them: loaded on first use. */
function descriptions(): Descriptions {
  const read = () => JSON.parse(readPackageFile('dist/types-descriptions.generated.json').toString()) as unknown
  return (loaded ??= (read() as { readonly types: Descriptions }).types)
}

/** The OpenAPI name of a type: `io.k8s.api.core.v1.Pod` for `core/v1.Pod`. */
export function openApiName(id: string): string {
  const dotted = id.replace('/', '.')
  if (id.startsWith('meta/')) return `io.k8s.apimachinery.pkg.apis.${dotted}`
  if (id.startsWith('apiregistration/')) return `io.k8s.kube-aggregator.pkg.apis.${dotted}`
  if (id.startsWith('apiextensions/')) return `io.k8s.apiextensions-apiserver.pkg.apis.${dotted}`
  return `io.k8s.api.${dotted}`
}
