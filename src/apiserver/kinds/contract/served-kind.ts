import type { GroupVersionKind, KubeObject, ResourceType } from '../../../kube/object.ts'
import type { Decoded } from '../../schema/decode/decode.ts'
import type { FieldError } from '../../schema/types/field-error.ts'
import type { ObjectSchema } from '../../schema/types/object-schema.ts'
import type { Document } from '../../store/document.ts'
import type { CustomKind } from './custom-kind.ts'
import type { KindRules } from '../rules/kind-rules.ts'

/** A path below an object, such as `status` or `scale`. */
export interface Subresource extends GroupVersionKind {
  readonly name: string
  readonly verbs: readonly string[]
}

/** A kind as it is served in one version, with everything that differs from kind to kind. */
export interface ServedKind extends ResourceType {
  readonly singular: string
  readonly listKind: string
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  readonly verbs: readonly string[]
  readonly subresources: readonly Subresource[]
  /** The store's name for it, the same for all its versions: `deployments.apps`. */
  readonly resource: string
  /** The apiVersion that objects are stored in. */
  readonly storageVersion: string
  /** Only for kinds that a CustomResourceDefinition made. */
  readonly custom: CustomKind | undefined
  readonly schema: ObjectSchema
  readonly rules: KindRules
  /** What the list of this kind can be narrowed by. */
  readonly selectableFields: ReadonlySet<string>
  /** Where /scale finds its numbers; undefined for kinds without it. */
  readonly scale: ScalePaths | undefined
  fieldsOf(object: KubeObject): Readonly<Record<string, string>>
  /** A stored document in this version. */
  serve(document: Document): Document
  /** An object of this version as it is stored. */
  toStored(object: KubeObject): KubeObject
  decode(value: unknown): Decoded
  /** Fills in what was not said. What server-side apply made of an object keeps its nulls: it is refused for them. */
  default(object: KubeObject, options?: { readonly isApplied: boolean }): KubeObject
  validateCreate(object: KubeObject): readonly FieldError[]
  validateUpdate(object: KubeObject, old: KubeObject): readonly FieldError[]
  /** Schemas of this kind's other versions, by apiVersion. */
  readonly schemaOf: (apiVersion: string) => ObjectSchema | undefined
}

/** Dotted paths of what /scale reads and writes. */
export interface ScalePaths {
  readonly specReplicasPath: string
  readonly statusReplicasPath: string
  /** A string in the status, or the selector of the spec. */
  readonly labelSelectorPath?: string
}
