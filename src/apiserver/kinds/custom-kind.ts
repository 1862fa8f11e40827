/** A column of `kubectl get` as a CRD gives it. */
export interface PrinterColumn {
  readonly name: string
  readonly type: string
  readonly jsonPath: string
  readonly format?: string
  readonly description?: string
  readonly priority?: number
}

/** Where `/scale` finds its numbers in a custom resource. */
export interface ScalePaths {
  readonly specReplicasPath: string
  readonly statusReplicasPath: string
  readonly labelSelectorPath?: string
}

/** What a CustomResourceDefinition says about one version of its kind. */
export interface CustomKind {
  readonly definition: string
  readonly openAPIV3Schema: Readonly<Record<string, unknown>> | undefined
  readonly printerColumns: readonly PrinterColumn[]
  readonly selectableFields: readonly string[]
  readonly scale: ScalePaths | undefined
  readonly hasStatus: boolean
  readonly deprecationWarning: string | undefined
}
