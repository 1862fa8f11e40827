type Json = Readonly<Record<string, unknown>>

/** The parts of an OpenAPI v3 document that OpenAPI v2 has too. */
export interface OpenApiDocument {
  readonly info: unknown
  readonly paths: Readonly<Record<string, Json>>
  readonly components: { readonly schemas: Readonly<Record<string, Json>> }
}

/** One OpenAPI v2 document for all groups, from their v3 documents. */
export function swaggerOf(documents: readonly OpenApiDocument[]): object {
  const paths = documents.flatMap((document) =>
    Object.entries(document.paths).map(([path, item]) => [path, pathItem(item)]),
  )
  const schemas = documents.flatMap(({ components }) => Object.entries(components.schemas))
  return {
    swagger: '2.0',
    info: documents[0]?.info,
    paths: Object.fromEntries(paths),
    definitions: Object.fromEntries(schemas.map(([name, schema]) => [name, definition(schema)])),
  }
}

function pathItem(item: Json): Json {
  return Object.fromEntries(
    Object.entries(item).map(([key, value]) =>
      key === 'parameters' ? [key, (value as readonly Json[]).map(parameter)] : [key, operation(value as Json)],
    ),
  )
}

function operation({ requestBody, parameters = [], responses, ...rest }: Json): Json {
  const content = (requestBody as { content?: Readonly<Record<string, Json>> } | undefined)?.content
  const [body] = Object.values(content ?? {})
  const bodies = body ? [{ in: 'body', name: 'body', required: true, schema: definition(body['schema'] as Json) }] : []
  return {
    ...rest,
    ...(content ? { consumes: Object.keys(content) } : {}),
    produces: ['application/json'],
    parameters: [...bodies, ...(parameters as readonly Json[]).map(parameter)],
    responses: Object.fromEntries(
      Object.entries(responses as Json).map(([code, answer]) => [code, response(answer as Json)]),
    ),
  }
}

function parameter({ schema, ...rest }: Json): Json {
  return { ...rest, ...(schema as Json) }
}

function response({ content, ...rest }: Json): Json {
  const [answer] = Object.values((content ?? {}) as Readonly<Record<string, Json>>)
  return { ...rest, ...(answer ? { schema: definition(answer['schema'] as Json) } : {}) }
}

/** A schema without what v2 lacks, in the shape that kubectl can read: see apiextensions' own conversion to v2. */
function definition(schema: Json): Json {
  const {
    allOf,
    oneOf,
    anyOf: _any,
    not: _not,
    nullable,
    required,
    properties,
    items,
    additionalProperties,
    ...rest
  } = schema
  const [only] = (allOf ?? []) as readonly Json[]
  const reference = typeof only?.['$ref'] === 'string' ? only : rest
  const isOpen = rest['x-kubernetes-preserve-unknown-fields'] === true || nullable === true
  const isUntyped = isOpen && (rest['type'] === 'object' || nullable === true || rest['type'] === 'array')
  const { type = isScalarUnion(oneOf) ? 'string' : undefined, ...others } = rest
  const optional = Object.entries((properties ?? {}) as Record<string, Json>).filter(([, each]) => each['nullable'])
  const needed = ((required ?? []) as readonly string[]).filter((name) => !optional.some(([each]) => each === name))
  return {
    ...others,
    ...(typeof reference['$ref'] === 'string' ? { $ref: referenceIn(reference['$ref']) } : {}),
    ...(type !== undefined && !isUntyped ? { type } : {}),
    ...(needed.length > 0 ? { required: needed } : {}),
    ...(properties && !isOpen ? { properties: eachOf(properties as Record<string, Json>) } : {}),
    ...(items && !isOpen ? { items: definition(items as Json) } : {}),
    ...(typeof additionalProperties === 'object'
      ? { additionalProperties: definition(additionalProperties as Json) }
      : {}),
  }
}

function eachOf(properties: Readonly<Record<string, Json>>): Json {
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, definition(schema)]))
}

/** Quantities and IntOrStrings are strings in v2. */
function isScalarUnion(oneOf: unknown): boolean {
  return Array.isArray(oneOf) && oneOf.some((each: Json) => each['type'] === 'string')
}

function referenceIn(reference: string): string {
  return reference.replace('#/components/schemas/', '#/definitions/')
}
