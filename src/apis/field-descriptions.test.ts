import { expect, it } from 'vitest'
import { allKinds } from './all-kinds.ts'

interface Schema {
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly additionalProperties?: Schema | boolean
}

/** The paths of all fields without a description. */
function undescribed(schema: Schema, path: string): string[] {
  const { properties = {}, items, additionalProperties: values } = schema
  return [
    ...Object.entries(properties).flatMap(([name, field]) => [
      ...(field.description ? [] : [`${path}.${name}`]),
      ...undescribed(field, `${path}.${name}`),
    ]),
    ...(items ? undescribed(items, `${path}[]`) : []),
    ...(typeof values === 'object' ? undescribed(values, `${path}{}`) : []),
  ]
}

it.each(allKinds.map(({ kind, crd }) => [kind, crd] as const))(
  'every field of %s but metadata has a description',
  (kind, crd) => {
    const { versions } = crd.spec as { versions: { schema: { openAPIV3Schema: Schema } }[] }
    for (const { schema } of versions) {
      expect(schema.openAPIV3Schema.description).toBeTruthy()
      expect(undescribed(schema.openAPIV3Schema, kind)).toEqual([`${kind}.metadata`])
      // Anything else here, and kube-apiserver refuses the definition.
      expect(schema.openAPIV3Schema.properties?.['metadata']).toEqual({ type: 'object' })
    }
  },
)
