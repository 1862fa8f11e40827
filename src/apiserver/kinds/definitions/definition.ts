import type { Condition } from '../../../kube/conditions.ts'
import type { StoredMeta } from '../../../kube/object.ts'
import type { StructuralSchema } from '../../schema/types/structural-schema.ts'
import type { PrinterColumn } from '../contract/custom-kind.ts'
import type { ScalePaths } from '../contract/served-kind.ts'

/** The name of CustomResourceDefinitions in the store. */
export const definitionResource = 'customresourcedefinitions.apiextensions.k8s.io'

/** The finalizer that keeps a CRD until all its custom resources are deleted. */
export const cleanupFinalizer = 'customresourcecleanup.apiextensions.k8s.io'

/** `spec.names` and `status.acceptedNames`. */
export interface DefinitionNames {
  readonly plural: string
  readonly singular?: string
  readonly kind: string
  readonly listKind?: string
  readonly shortNames?: readonly string[]
  readonly categories?: readonly string[]
}

/** An entry of `spec.versions`. */
export interface DefinitionVersion {
  readonly name: string
  readonly served: boolean
  readonly storage: boolean
  readonly deprecated?: boolean
  readonly deprecationWarning?: string
  readonly schema?: { readonly openAPIV3Schema?: StructuralSchema }
  readonly subresources?: { readonly status?: object; readonly scale?: WrittenScalePaths }
  readonly additionalPrinterColumns?: readonly PrinterColumn[]
  readonly selectableFields?: readonly { readonly jsonPath: string }[]
}

/** Scale paths as a CRD writes them, with a leading dot. */
export type WrittenScalePaths = ScalePaths

/** `spec` of a CRD. */
export interface DefinitionSpec {
  readonly group: string
  readonly names: DefinitionNames
  readonly scope: string
  readonly versions: readonly DefinitionVersion[]
  readonly conversion?: { readonly strategy?: string }
  readonly preserveUnknownFields?: boolean
}

export type DefinitionCondition = Partial<Condition> & Pick<Condition, 'type' | 'status'>

export interface DefinitionStatus {
  readonly conditions?: readonly DefinitionCondition[]
  readonly acceptedNames?: DefinitionNames
  readonly storedVersions?: readonly string[]
}

/** A CustomResourceDefinition. */
export interface Definition {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: StoredMeta
  readonly spec: DefinitionSpec
  readonly status?: DefinitionStatus
}

/** Whether the CRD's condition of this type is True. */
export function hasTrueCondition({ status }: Definition, type: string): boolean {
  return status?.conditions?.some((condition) => condition.type === type && condition.status === 'True') ?? false
}
