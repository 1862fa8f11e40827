import type { GroupVersionKind, ResourceType } from '../../kube/object.ts'
import type { Document } from '../store/document.ts'
import type { CustomKind } from './custom-kind.ts'

/** A path below an object, such as `status` or `scale`. */
export interface Subresource extends GroupVersionKind {
  readonly name: string
  readonly verbs: readonly string[]
}

/** A kind as it is served in one version. */
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
  /** A stored document in this version. */
  serve(document: Document): Document
}
