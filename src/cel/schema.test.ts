import { describe, expect, it } from 'vitest'
import { compile } from './compile.ts'
import { kubernetesEnvironment } from './environments.ts'
import { CelCompileError } from './errors.ts'
import { escapeField, typeFromSchema } from './schema.ts'
import type { Schema } from './schema.ts'

const schema: Schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        replicas: { type: 'integer' },
        ratio: { type: 'number' },
        port: { 'x-kubernetes-int-or-string': true },
        until: { type: 'string', format: 'date-time' },
        windows: { type: 'array', items: { type: 'string', format: 'duration' } },
        labels: { type: 'object', additionalProperties: { type: 'string' } },
        steps: {
          type: 'array',
          items: { type: 'object', properties: { at: { type: 'string', format: 'date-time' } } },
        },
        'my-field': { type: 'string' },
        namespace: { type: 'string' },
        note: { type: 'string', nullable: true },
        free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      },
    },
  },
}
const environment = kubernetesEnvironment({ self: typeFromSchema(schema, { isRoot: true }) })

const self = {
  apiVersion: 'example.com/v1',
  kind: 'Example',
  metadata: { name: 'one', labels: { a: 'b' } },
  spec: {
    replicas: 3,
    ratio: 2,
    port: 80,
    until: '2026-11-15T12:00:00Z',
    windows: ['1h', '90m'],
    labels: { app: 'x' },
    steps: [{ at: '2026-11-15T11:00:00Z' }],
    'my-field': 'dash',
    namespace: 'n',
    note: null,
    free: { any: { thing: 1 } },
  },
}

function issues(source: string): readonly string[] {
  const program = compile(source, environment)
  return program instanceof CelCompileError ? program.issues.map(({ message }) => message) : []
}

describe('types from a schema', () => {
  it.each([
    'self.spec.replicas + 1 == 4',
    'self.spec.ratio * 1.5 == 3.0',
    'self.spec.port == 80 || self.spec.port == "http"',
    'self.spec.until > timestamp("2026-11-15T00:00:00Z")',
    'self.spec.windows.all(w, w <= duration("2h"))',
    'self.spec.labels.exists(k, k == "app") && self.spec.labels.app == "x"',
    'self.spec.steps.all(s, s.at < self.spec.until)',
    'self.spec.my__dash__field == "dash"',
    'self.spec.__namespace__ == "n"',
    'self.spec.namespace == "n"',
    'self.spec.note == null',
    'self.spec.free.any.thing == 1',
    'self.metadata.name == "one" && self.kind == "Example"',
    'has(self.spec.replicas) && !has(self.metadata.generateName)',
  ])('let %s be asked', (source) => {
    const program = compile(source, environment)
    if (program instanceof CelCompileError) throw program
    expect(program.evaluate({ self })).toBe(true)
  })

  it.each([
    ['self.spec.replica', "undefined field 'replica'"],
    ['has(self.spec.replica)', "undefined field 'replica'"],
    ['self.metadata.labels', "undefined field 'labels'"],
    ['self.spec.steps[0].when', "undefined field 'when'"],
    ['self.spec.replicas + "x"', "found no matching overload for '_+_' applied to '(int, string)'"],
    ['self.spec.until == "2026"', "found no matching overload for '_==_' applied to '(timestamp, string)'"],
  ])('refuse %s', (source, message) => {
    expect(issues(source)).toEqual([message])
  })

  it.each([
    ['my-field', 'my__dash__field'],
    ['a.b/c', 'a__dot__b__slash__c'],
    ['two__lines', 'two__underscores__lines'],
    ['in', '__in__'],
    ['plain', 'plain'],
  ])('reach the field %s as %s', (key, name) => expect(escapeField(key)).toBe(name))
})
