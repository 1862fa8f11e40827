import type { GroupVersionKind, KubeObject, ResourceType } from '../../../kube/object.ts'
import type { Decoded } from '../../schema/decode/decode.ts'
import type { FieldError } from '../../schema/types/field-error.ts'
import type { ObjectSchema } from '../../schema/types/object-schema.ts'
import type { Document } from '../../store/document.ts'
import type { CustomKind } from './custom-kind.ts'
import type { KindRules } from '../rules/kind-rules.ts'

/** A subresource, such as `status` or `scale`, with the kind of its bodies. */
export interface Subresource extends GroupVersionKind {
  readonly name: string
  readonly verbs: readonly string[]
}

/**
 * One served version of a kind, with everything that differs between kinds: how to decode, default, validate, convert
 * and select its objects. More than 15 fields, because it joins discovery data and behaviour: each request needs
 * both.
 */
export interface ServedKind extends ResourceType {
  readonly singular: string
  readonly listKind: string
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  readonly verbs: readonly string[]
  readonly subresources: readonly Subresource[]
  /** Its name in the store, the same for all its versions: `deployments.apps`. */
  readonly resource: string
  /** The apiVersion that objects are stored in. */
  readonly storageVersion: string
  /** Undefined for built-in kinds. */
  readonly custom: CustomKind | undefined
  readonly schema: ObjectSchema
  readonly rules: KindRules
  /** The field labels that field selectors of this kind may use. */
  readonly selectableFields: ReadonlySet<string>
  /** Where `/scale` reads and writes; undefined for kinds without that subresource. */
  readonly scale: ScalePaths | undefined
  fieldsOf(object: KubeObject): Readonly<Record<string, string>>
  /** Converts a stored document to this version. */
  serve(document: Document): Document
  /** Converts an object of this version to the storage version. */
  toStored(object: KubeObject): KubeObject
  decode(value: unknown): Decoded
  /** Applies defaults. After a server-side apply nulls are kept, so that validation refuses them. */
  default(object: KubeObject, options?: { readonly isApplied: boolean }): KubeObject
  validateCreate(object: KubeObject): readonly FieldError[]
  validateUpdate(object: KubeObject, old: KubeObject): readonly FieldError[]
  /** Schemas of this kind's other versions, by apiVersion. */
  readonly schemaOf: (apiVersion: string) => ObjectSchema | undefined
}

/** The dotted paths that `/scale` reads and writes. */
export interface ScalePaths {
  readonly specReplicasPath: string
  readonly statusReplicasPath: string
  /** Either a string in the status, or a selector in the spec. */
  readonly labelSelectorPath?: string
}
