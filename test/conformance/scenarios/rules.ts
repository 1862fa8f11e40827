import type { Scenario, Step } from '../target.ts'

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const definition = (plural: string, schema: unknown, rest: Record<string, unknown> = {}) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.rules.example.com` },
  spec: {
    group: 'rules.example.com',
    scope: 'Namespaced',
    names: { plural, kind: plural[0]?.toUpperCase() + plural.slice(1, -1) },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema }, ...rest }],
  },
})
const object = (properties: Record<string, unknown>, rest: Record<string, unknown> = {}) => ({
  type: 'object',
  properties,
  ...rest,
})
const text = { type: 'string', maxLength: 20 }
const rule = (rule: string, rest: Record<string, unknown> = {}): Step => ({
  method: 'POST',
  path: `${definitions}?dryRun=All`,
  body: definition(
    'faults',
    object({
      spec: object(
        { name: text, size: { type: 'integer' }, tags: { type: 'array', maxItems: 5, items: text } },
        { 'x-kubernetes-validations': [{ rule, ...rest }] },
      ),
    }),
  ),
  unlike: true,
})

/** Expressions that cannot be compiled. */
export const malformedRules: Scenario = {
  name: 'malformed-rules',
  steps: [
    ...[
      '',
      ' ',
      'self.size ==',
      '== 1',
      'self.size == == 1',
      '(self.size == 1',
      'self.size == 1)',
      'self.size 1',
      'self.size 1 2',
      'self.',
      'self.tags[',
      'self.tags[0',
      'self.tags.all(t, )',
      'self.tags.all(t t)',
      '[1, 2',
      '{1: 2',
      '{1 2}',
      'self.size > 1 &&',
      '&& self.size > 1',
      'self.size ? 1',
      'self.size > 1 ? true :',
      '"abc',
      "'abc",
      'self.name == #',
      'self.size & 1',
      'self.size = 1',
      'self.size > 1;',
      '1 +',
      '-',
      '!',
      'for',
      'self.nothing == 1',
      'nothing == 1',
      'self.size == "a"',
      'self.name + 1',
      'self.size',
      'self.tags.all(t, t.nothing)',
      'self.name.nothing()',
      'nothing(self)',
      'self.name.startsWith(1)',
      'oldSelf.size == self.size && self.none',
      'self.size == 99999999999999999999',
      'self.name.matches("[")',
      'self.name == "\\q"',
      'has(self)',
      'self.tags.exists(1, true)',
      'self.size in 3',
      'size(self.tags) > 0 && self.size > 0 && true || 7',
    ].map((text) => rule(text)),
    rule('self.size > 0', { messageExpression: 'self.' }),
    rule('self.size > 0', { messageExpression: '1' }),
    rule('self.size > 0', { messageExpression: 'self.nothing' }),
    rule('self.size > 0', { message: '' }),
    rule('self.size > 0', { message: 'a\nb' }),
    rule('self.size >\n0'),
    rule('self.size > 0', { reason: 'Twist' }),
    rule('self.size > 0', { fieldPath: '.nothing' }),
    rule('self.size > 0', { fieldPath: 'size' }),
    rule('self.size > 0', { fieldPath: '.tags[0]' }),
    rule('self.size > 0', { optionalOldSelf: true }),
  ],
}

const things = '/apis/rules.example.com/v1/namespaces/NS/things'
const thing = (spec: unknown) => ({
  apiVersion: 'rules.example.com/v1',
  kind: 'Thing',
  metadata: { name: 't' },
  spec,
})
const apply = (spec: unknown, manager = 'm', query = ''): Step => ({
  method: 'PATCH',
  path: `${things}/t?fieldManager=${manager}${query}`,
  headers: { 'content-type': 'application/apply-patch+yaml' },
  body: thing(spec),
})

/** Server-side apply of custom resources, down to nothing. */
export const appliedThings: Scenario = {
  name: 'applied-things',
  steps: [
    {
      method: 'POST',
      path: definitions,
      body: definition(
        'things',
        object({
          spec: object(
            {
              labels: { type: 'object', additionalProperties: text },
              needed: { type: 'object', additionalProperties: text, minProperties: 1 },
              inner: object({ a: text, b: text }, { required: ['a'] }),
              open: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
              atomic: { type: 'object', 'x-kubernetes-map-type': 'atomic', additionalProperties: text },
              set: { type: 'array', items: text, 'x-kubernetes-list-type': 'set' },
              items: {
                type: 'array',
                'x-kubernetes-list-type': 'map',
                'x-kubernetes-list-map-keys': ['key'],
                items: object({ key: text, value: text }, { required: ['key'] }),
              },
              nothing: { type: 'string', nullable: true },
            },
            { required: ['needed'] },
          ),
        }),
      ),
      unlike: true,
    },
    { path: things, until: 200, unlike: true },
    { path: '/openapi/v3/apis/rules.example.com/v1', until: 200, unlike: true },
    apply({}),
    apply({ needed: {} }),
    apply({ needed: { a: '1' }, labels: { a: '1', b: '2' }, inner: { a: '1', b: '2' }, open: { x: { y: 1 } } }),
    apply({ needed: { a: '1' }, labels: { a: '1' }, inner: { a: '1' } }),
    apply({ needed: { a: '1' }, labels: {}, inner: {} }),
    apply({ needed: { a: '1' }, labels: {} }),
    apply({ needed: {} }),
    apply({}),
    apply({ needed: { a: '1' }, set: ['a', 'b'], items: [{ key: 'x', value: '1' }, { key: 'y' }] }),
    apply({ needed: { a: '1' }, set: ['b'], items: [{ key: 'y' }] }),
    apply({ needed: { a: '1' }, set: [], items: [] }),
    apply({ needed: { a: '1' } }),
    apply({ needed: { a: '1' }, set: ['a', 'a'] }),
    apply({ needed: { a: '1' }, items: [{ key: 'x' }, { key: 'x' }] }),
    apply({ needed: { a: '1' }, items: [{ value: 'x' }] }),
    apply({ needed: { a: '1' }, labels: 7 }),
    apply({ needed: { a: 7 } }),
    apply({ needed: { a: '2' } }, 'other'),
    apply({ needed: { a: '2' } }, 'other', '&force=true'),
    apply({ needed: { a: '2' }, nothing: null }),
    apply({ needed: { a: '2' }, atomic: { a: '1' } }),
    apply({ needed: { a: '2' }, atomic: {} }),
    apply({ needed: { a: '2' }, more: 1 }),
    { method: 'DELETE', path: `${definitions}/things.rules.example.com`, unlike: true },
  ],
}
