import type { KubeObject, ResourceType, StoredObject } from '../kube/object.ts'
import { sojournGroup } from './group.ts'
import type { Static, TSchema } from './schema.ts'

/** A column of `kubectl get`. */
export interface PrinterColumn {
  readonly name: string
  readonly type: 'string' | 'integer' | 'boolean' | 'date' | 'number'
  readonly jsonPath: string
  readonly description?: string
  /** Above 0: shown only with `-o wide`. Defaults to 0. */
  readonly priority?: number
}

/** A kind of ours: the source of its TypeScript type, CRD, documentation and registration. */
export interface KindDefinition<Spec extends TSchema = TSchema, StatusSchema extends TSchema = TSchema> {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly scope: 'Namespaced' | 'Cluster'
  /** What an object of this kind does, in one sentence; `kubectl explain` shows it. */
  readonly description: string
  readonly spec: Spec
  readonly status: StatusSchema
  readonly shortNames?: readonly string[]
  readonly categories?: readonly string[]
  readonly columns?: readonly PrinterColumn[]
  /** Whether `spec` may be absent. Defaults to false. */
  readonly specOptional?: boolean
}

/** A definition and what is derived from it. */
export interface Kind<Spec extends TSchema = TSchema, StatusSchema extends TSchema = TSchema> extends KindDefinition<
  Spec,
  StatusSchema
> {
  readonly type: ResourceType
  readonly apiVersion: string
  /** The CustomResourceDefinition that registers the kind, here and in any cluster. */
  readonly crd: KubeObject
  /** An object of the kind, as clients create it. */
  object<S>(metadata: KubeObject['metadata'], spec: S): KubeObject & { readonly spec: S }
}

/** An object of a kind, as its client returns it. */
export type ObjectOf<K> =
  K extends Kind<infer Spec, infer StatusSchema>
    ? StoredObject & { readonly spec: Static<Spec>; readonly status?: Static<StatusSchema> }
    : never

/** Derives the resource type and the CustomResourceDefinition from a definition. */
export function defineKind<Spec extends TSchema, StatusSchema extends TSchema>(
  definition: KindDefinition<Spec, StatusSchema>,
): Kind<Spec, StatusSchema> {
  const { group, version, kind, plural, scope } = definition
  return {
    ...definition,
    apiVersion: `${group}/${version}`,
    type: { group, version, kind, plural, namespaced: scope === 'Namespaced' },
    crd: customResourceDefinition(definition),
    object: (metadata, spec) => ({ apiVersion: `${group}/${version}`, kind, metadata, spec }),
  }
}

/** Defines a kind of Sojourn's own group, which `kubectl get sojourn` lists. The plural defaults to the kind with an s. */
export function defineOwnKind<Spec extends TSchema, StatusSchema extends TSchema>(
  definition: Omit<KindDefinition<Spec, StatusSchema>, 'group' | 'version' | 'plural'> & { readonly plural?: string },
): Kind<Spec, StatusSchema> {
  const plural = `${definition.kind.toLowerCase()}s`
  return defineKind({ ...sojournGroup, plural, categories: ['sojourn'], ...definition })
}

function customResourceDefinition(definition: KindDefinition): KubeObject {
  const { group, version, kind, plural, scope, description, spec, status, columns, specOptional } = definition
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope,
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        ...(definition.shortNames ? { shortNames: definition.shortNames } : {}),
        ...(definition.categories ? { categories: definition.categories } : {}),
      },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: { status: {} },
          ...(columns ? { additionalPrinterColumns: columns } : {}),
          schema: {
            openAPIV3Schema: {
              type: 'object',
              description,
              properties: {
                apiVersion: { type: 'string', description: `API group and version: ${group}/${version}.` },
                kind: { type: 'string', description: `Kind of the object: ${kind}.` },
                // kube-apiserver refuses a definition that describes the metadata itself.
                metadata: { type: 'object' },
                spec: { description: `Desired state of the ${kind}.`, ...copy(spec) },
                status: { description: `Observed state of the ${kind}. Only Sojourn writes it.`, ...copy(status) },
              },
              ...(specOptional ? {} : { required: ['spec'] }),
            },
          },
        },
      ],
    },
  }
}

/** A copy without shared parts, which YAML would print as aliases. */
function copy(schema: TSchema): object {
  return JSON.parse(JSON.stringify(schema)) as object
}
