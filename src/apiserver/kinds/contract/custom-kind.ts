import type { StructuralSchema } from '../../schema/types/structural-schema.ts'

/** An entry of a CRD's `additionalPrinterColumns`. */
export interface PrinterColumn {
  readonly name: string
  readonly type: string
  readonly jsonPath: string
  readonly format?: string
  readonly description?: string
  readonly priority?: number
}

/** What a CustomResourceDefinition says about one version of its kind. */
export interface CustomKind {
  /** The CRD's name: `cleaners.cleaner.vtex.dev`. */
  readonly definition: string
  readonly openAPIV3Schema: StructuralSchema | undefined
  readonly printerColumns: readonly PrinterColumn[]
  readonly hasStatus: boolean
  readonly deprecationWarning: string | undefined
  /** The revision of the CRD's current schema. Documents with a lower revision were written under an older schema. */
  readonly since: number
}
