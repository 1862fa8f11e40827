import type { GroupVersionKind } from '../../../kube/object.ts'
import type { ObjectSchema } from '../types/object-schema.ts'
import { tableRelease } from '../types/type-table.ts'
import { Components } from './components.ts'
import { pathsOf } from './paths.ts'

/** A kind as an OpenAPI document describes it. */
export interface OpenApiKind extends GroupVersionKind {
  readonly plural: string
  readonly namespaced: boolean
  readonly listKind: string
  readonly verbs: readonly string[]
  readonly subresources: readonly (GroupVersionKind & { readonly name: string; readonly verbs: readonly string[] })[]
  readonly schema: ObjectSchema
}

/** A group and version, and the kinds served in it. */
export interface OpenApiGroupVersion {
  readonly group: string
  readonly version: string
  readonly kinds?: readonly OpenApiKind[]
}

/** The OpenAPI v3 document of one group and version, with what kubectl needs to validate, explain and patch. */
export function openApiDocument(of: OpenApiGroupVersion, more: readonly OpenApiKind[] = []): object {
  const components = new Components()
  const paths: Record<string, unknown> = {}
  for (const kind of [...(of.kinds ?? []), ...more]) Object.assign(paths, pathsOf(kind, components))
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: tableRelease() },
    paths,
    components: { schemas: components.schemas() },
  }
}
