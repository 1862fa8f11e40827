import { expect, it } from 'vitest'
import { swaggerOf, type OpenApiDocument } from './swagger.ts'

const documentOf = (schema: Record<string, unknown>): OpenApiDocument => ({
  info: { title: 'Kubernetes' },
  paths: {
    '/apis/ex.io/v1/foos': {
      parameters: [{ in: 'path', name: 'namespace', schema: { type: 'string' } }],
      post: {
        parameters: [{ in: 'query', name: 'dryRun', schema: { type: 'string' } }],
        requestBody: { content: { '*/*': { schema: { $ref: '#/components/schemas/io.ex.v1.Foo' } } } },
        responses: { '200': { description: 'OK', content: { 'application/json': { schema: {} } } } },
      },
    },
  },
  components: { schemas: { 'io.ex.v1.Foo': schema } },
})
const definitionOf = (schema: Record<string, unknown>) =>
  (swaggerOf([documentOf(schema)]) as { definitions: Record<string, unknown> }).definitions['io.ex.v1.Foo']

it('writes paths with their body as a parameter, and references to definitions', () => {
  expect(swaggerOf([documentOf({})])).toMatchObject({
    swagger: '2.0',
    paths: {
      '/apis/ex.io/v1/foos': {
        parameters: [{ in: 'path', name: 'namespace', type: 'string' }],
        post: {
          parameters: [
            { in: 'body', schema: { $ref: '#/definitions/io.ex.v1.Foo' } },
            { in: 'query', name: 'dryRun', type: 'string' },
          ],
        },
      },
    },
  })
})

it.each([
  ['keeps a plain schema', { type: 'object', properties: { a: { type: 'string' } } }, undefined],
  [
    'keeps a reference beside its extensions',
    { properties: { a: { allOf: [{ $ref: '#/components/schemas/b' }], default: {} } } },
    { properties: { a: { $ref: '#/definitions/b', default: {} } } },
  ],
  [
    'drops the type of a nullable field, and does not require it',
    { type: 'object', required: ['a', 'b'], properties: { a: { type: 'object', nullable: true }, b: {} } },
    { type: 'object', required: ['b'], properties: { a: {}, b: {} } },
  ],
  [
    'drops what kubectl would refuse beside unknown fields',
    { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties: { a: {} } },
    { 'x-kubernetes-preserve-unknown-fields': true },
  ],
  ['makes a quantity a string', { oneOf: [{ type: 'string' }, { type: 'number' }] }, { type: 'string' }],
])('%s', (_, schema, expected) => expect(definitionOf(schema)).toEqual(expected ?? schema))
