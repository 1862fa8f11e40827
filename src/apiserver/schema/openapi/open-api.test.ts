import { describe, expect, it } from 'vitest'
import { builtinKinds } from '../types/builtin-kinds.ts'
import { customSchema } from '../custom/custom-schema.ts'
import { builtinSchema, type ObjectSchema } from '../types/object-schema.ts'
import { openApiDocument, type OpenApiKind } from './open-api.ts'

interface Document {
  readonly paths: Readonly<Record<string, Record<string, Operation>>>
  readonly components: { readonly schemas: Readonly<Record<string, Record<string, unknown>>> }
}

interface Operation {
  readonly parameters?: readonly { readonly name: string }[]
  readonly requestBody?: { readonly content: Readonly<Record<string, unknown>> }
  readonly 'x-kubernetes-group-version-kind'?: unknown
}

const documentOf = (group: string, version: string): Document => {
  const kinds = builtinKinds()
    .filter((kind) => kind.group === group && kind.version === version)
    .map((kind): OpenApiKind => Object.assign({}, kind, { schema: builtinSchema(kind) as ObjectSchema }))
  return openApiDocument({ group, version, kinds }) as Document
}

const versions = [...new Set(builtinKinds().map(({ group, version }) => `${group}/${version}`))].map(
  (each) => each.split('/') as [string, string],
)

describe('openApiDocument', () => {
  it.each(versions)('has no dangling reference in %s/%s', (group, version) => {
    const document = documentOf(group, version)
    const references = JSON.stringify(document).matchAll(/"#\/components\/schemas\/([^"]+)"/g)
    const missing = [...references]
      .map(([, name = '']) => name)
      .filter((name) => !(name in document.components.schemas))
    expect(missing).toEqual([])
  })

  it('describes built-in types and fields, for kubectl explain', () => {
    const { schemas } = documentOf('', 'v1').components
    expect(schemas['io.k8s.api.core.v1.PodSpec']).toMatchObject({
      description: 'PodSpec is a description of a pod.',
      properties: { nodeName: { description: expect.stringMatching(/^NodeName/) as string } },
    })
    expect(schemas['io.k8s.api.core.v1.Pod']).toMatchObject({
      properties: { metadata: { description: "Standard object's metadata." } },
    })
  })

  it('lists fieldValidation for PATCH, with the kind, as kubectl requires', () => {
    const { patch } = documentOf('apps', 'v1').paths['/apis/apps/v1/namespaces/{namespace}/deployments/{name}'] ?? {}
    expect(patch?.parameters?.map(({ name }) => name)).toContain('fieldValidation')
    expect(patch?.['x-kubernetes-group-version-kind']).toEqual({ group: 'apps', version: 'v1', kind: 'Deployment' })
    expect(Object.keys(patch?.requestBody?.content ?? {})).toContain('application/strategic-merge-patch+json')
  })

  it('marks the schema of a kind and says how its lists merge', () => {
    const { schemas } = documentOf('', 'v1').components
    expect(schemas['io.k8s.api.core.v1.Pod']).toHaveProperty('x-kubernetes-group-version-kind', [
      { group: '', kind: 'Pod', version: 'v1' },
    ])
    expect(schemas['io.k8s.api.core.v1.PodSpec']).toMatchObject({
      required: ['containers'],
      properties: {
        containers: {
          'x-kubernetes-list-map-keys': ['name'],
          'x-kubernetes-patch-merge-key': 'name',
          'x-kubernetes-patch-strategy': 'merge',
        },
      },
    })
  })

  it('publishes the schema of a custom resource without strategic merge', () => {
    const schema = customSchema(
      { group: 'ex.io', version: 'v1', kind: 'Foo' },
      { type: 'object', properties: { spec: { type: 'object' } } },
    )
    const kind: OpenApiKind = {
      ...schema.gvk,
      plural: 'foos',
      namespaced: false,
      listKind: 'FooList',
      verbs: ['get', 'list', 'patch'],
      subresources: [{ ...schema.gvk, name: 'status', verbs: ['get', 'patch', 'update'] }],
      schema,
    }
    const { paths, components } = openApiDocument({ group: 'ex.io', version: 'v1' }, [kind]) as Document
    expect(Object.keys(paths)).toEqual([
      '/apis/ex.io/v1/foos',
      '/apis/ex.io/v1/foos/{name}',
      '/apis/ex.io/v1/foos/{name}/status',
    ])
    expect(Object.keys(paths['/apis/ex.io/v1/foos/{name}']?.patch?.requestBody?.content ?? {})).not.toContain(
      'application/strategic-merge-patch+json',
    )
    expect(components.schemas['io.ex.v1.Foo']).toMatchObject({
      properties: {
        spec: { type: 'object' },
        metadata: { allOf: [{ $ref: expect.stringContaining('ObjectMeta') as string }] },
      },
    })
  })
})
