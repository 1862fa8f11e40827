type Json = Readonly<Record<string, unknown>>

/** The parts of an OpenAPI v3 document that OpenAPI v2 has too. */
export interface OpenApiDocument {
  readonly info: unknown
  readonly paths: Json
  readonly components: { readonly schemas: Json }
}

/** One OpenAPI v2 document for all groups, from their v3 documents. */
export function swaggerOf(documents: readonly OpenApiDocument[]): object {
  const paths: Json = Object.assign({}, ...documents.map((document) => document.paths))
  const schemas: Json = Object.assign({}, ...documents.map(({ components }) => components.schemas))
  return {
    swagger: '2.0',
    info: documents[0]?.info,
    paths: mapped(paths, (item) => pathItem(item as Json)),
    definitions: mapped(schemas, (schema) => rootDefinition(schema as Json)),
  }
}

function pathItem(item: Json): Json {
  return mapped(item, (value, key) => (key === 'parameters' ? parameters(value) : operation(value as Json)))
}

function operation({ requestBody, parameters: others = [], responses, ...rest }: Json): Json {
  const content = (requestBody as Json | undefined)?.['content'] as Json | undefined
  const body = schemaIn(content)
  const bodies = body ? [{ in: 'body', name: 'body', required: true, schema: body }] : []
  return {
    ...rest,
    ...(content ? { consumes: Object.keys(content) } : {}),
    produces: ['application/json'],
    parameters: [...bodies, ...parameters(others)],
    responses: mapped(responses as Json, (value) => {
      const { content: answer, ...said } = value as Json
      return { ...said, schema: schemaIn(answer as Json | undefined) }
    }),
  }
}

function parameters(list: unknown): readonly Json[] {
  return (list as readonly Json[]).map(({ schema, ...rest }) => ({ ...rest, ...(schema as Json) }))
}

/** The schema of the first media type. */
function schemaIn(content: Json = {}): Json | undefined {
  const [first] = Object.values(content) as readonly Json[]
  return first && definition(first['schema'] as Json)
}

/** A kind that allows unknown fields states none: kubectl would refuse all others. */
function rootDefinition(schema: Json): Json {
  const kinds = schema['x-kubernetes-group-version-kind']
  const isOpen = schema['x-kubernetes-preserve-unknown-fields'] === true && kinds
  return isOpen ? { type: 'object', 'x-kubernetes-group-version-kind': kinds } : definition(schema)
}

const rewritten = /^(allOf|oneOf|anyOf|not|nullable|required|properties|items|additionalProperties|type|\$ref)$/

/** A schema without what v2 lacks, in the shape that kubectl can read: see apiextensions' own conversion to v2. */
function definition(schema: Json): Json {
  const { allOf, oneOf, nullable, required = [], properties, items, additionalProperties: values } = schema
  const others = Object.fromEntries(Object.entries(schema).filter(([key]) => !rewritten.test(key)))
  const [only = schema] = (allOf ?? []) as readonly Json[]
  const reference = only['$ref'] as string | undefined
  const isOpen = others['x-kubernetes-preserve-unknown-fields'] === true || nullable === true
  // Quantities and IntOrStrings are strings in v2.
  const isUnion = Array.isArray(oneOf) && oneOf.some((each: Json) => each['type'] === 'string')
  const type = isUnion ? 'string' : schema['type']
  const isUntyped = nullable === true || (isOpen && (type === 'object' || type === 'array'))
  const fields = (properties ?? {}) as Readonly<Record<string, Json>>
  const needed = (required as readonly string[]).filter((name) => !fields[name]?.['nullable'])
  return {
    ...others,
    ...(reference ? { $ref: reference.replace('#/components/schemas/', '#/definitions/') } : {}),
    ...(type !== undefined && !isUntyped ? { type } : {}),
    ...(needed.length > 0 ? { required: needed } : {}),
    ...(properties && !isOpen ? { properties: mapped(fields, (each) => definition(each as Json)) } : {}),
    ...(items && !isOpen ? { items: definition(items as Json) } : {}),
    ...(typeof values === 'object' ? { additionalProperties: definition(values as Json) } : {}),
  }
}

function mapped(object: Json, change: (value: unknown, key: string) => unknown): Json {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value, key)]))
}
