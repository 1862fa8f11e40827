import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../../kube/object.ts'
import { isStatusError } from '../../../kube/status-error.ts'
import { customSchema } from '../custom/custom-schema.ts'
import type { StructuralSchema } from '../types/structural-schema.ts'
import { changedOnlyInManagedTimes } from './changed-only-in-managed-times.ts'
import { apply } from './apply.ts'
import { compare } from './compare.ts'
import { fieldSetOf, removeFields } from './extract.ts'
import { FieldSet } from './field-set.ts'
import type { ManagedFieldsEntry } from './managers.ts'
import { merge } from './merge.ts'
import { trackUpdate } from './track-update.ts'

const structural: StructuralSchema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        size: { type: 'integer' },
        whole: { type: 'object', 'x-kubernetes-map-type': 'atomic', additionalProperties: { type: 'string' } },
        tags: { type: 'object', additionalProperties: { type: 'string' } },
        names: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
        ports: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['port', 'protocol'],
          items: {
            type: 'object',
            properties: {
              port: { type: 'integer' },
              protocol: { type: 'string', default: 'TCP' },
              note: { type: 'string' },
            },
          },
        },
        list: { type: 'array', items: { type: 'string' } },
        open: { 'x-kubernetes-preserve-unknown-fields': true },
      },
    },
  },
}
const gvk = { group: 'ex.io', version: 'v1', kind: 'Foo' }
const schema = customSchema(gvk, structural)
const now = '2030-01-01T00:00:00Z'

const foo = (spec: unknown): KubeObject => ({ apiVersion: 'ex.io/v1', kind: 'Foo', metadata: { name: 'f' }, spec })
const stored = (object: KubeObject): KubeObject => ({ ...object, metadata: { ...object.metadata, uid: 'u' } })
const by = (manager: string, live: KubeObject | undefined, spec: unknown, force = false): KubeObject =>
  stored(apply({ schema, live, applied: foo(spec), manager, force, now }))

const text = fc.constantFrom('a', 'b', 'c')
const tags = fc.dictionary(text, text, { maxKeys: 3 })
const port = fc.record(
  { port: fc.constantFrom(80, 443), protocol: fc.constantFrom('TCP', 'UDP'), note: text },
  { requiredKeys: ['port'] },
)
const spec = fc.record(
  {
    size: fc.nat(3),
    whole: tags,
    tags,
    names: fc.uniqueArray(text),
    ports: fc.uniqueArray(port, { selector: (each) => `${each.port}/${each.protocol ?? 'TCP'}` }),
    list: fc.array(text, { maxLength: 2 }),
    open: fc.oneof(text, fc.nat(3), fc.dictionary(text, fc.array(text, { maxLength: 2 }), { maxKeys: 2 })),
  },
  { requiredKeys: [] },
)

function ownersOf(object: KubeObject): readonly ManagedFieldsEntry[] {
  return (object.metadata.managedFields ?? []) as readonly ManagedFieldsEntry[]
}

describe('apply', () => {
  it('applied twice is applied once', () => {
    fc.assert(
      fc.property(spec, spec, (first, second) => {
        const live = by('b', by('a', undefined, first), second, true)
        expect(changedOnlyInManagedTimes(live, by('b', live, second))).toBe(true)
      }),
    )
  })

  it('keeps the fields that the configuration names', () => {
    fc.assert(
      fc.property(spec, spec, (first, second) => {
        const live = by('b', by('a', undefined, first), second, true)
        const { modified, removed } = compare(fooOnly(second), fooOnly(live.spec), schema.root)
        expect([...modified.paths(), ...removed.paths()]).toEqual([])
      }),
    )
  })

  it('takes away what one manager alone had applied', () => {
    fc.assert(
      fc.property(spec, (first) => {
        const owned = fieldSetOf(fooOnly(first), schema.root)
        const emptied = by('a', by('a', undefined, first), {})
        expect(
          [
            ...fieldSetOf(fooOnly(emptied.spec ?? {}), schema.root)
              .intersection(owned)
              .paths(),
          ].filter((path) => path.length > 1),
        ).toEqual([])
      }),
    )
  })

  it('reports a conflict whenever two appliers differ about a field', () => {
    // Without a schema an object may become a number, and the API has no word for that either.
    const typed = spec.map(({ open: _, ...rest }) => rest)
    fc.assert(
      fc.property(typed, typed, (first, second) => {
        const live = by('a', undefined, first)
        try {
          const after = by('b', live, second)
          const { modified, removed } = compare(fooOnly(first), fooOnly(after.spec), schema.root)
          expect([...modified.paths(), ...removed.paths()]).toEqual([])
        } catch (error) {
          if (!isStatusError(error)) throw error
          expect(error.reason).toBe('Conflict')
          expect(error.details?.causes?.length).toBeGreaterThan(0)
        }
      }),
    )
  })

  it('gives the field to the manager that forces it, and to no other', () => {
    const live = by('b', by('a', undefined, { size: 1 }), { size: 2 }, true)
    expect(ownersOf(live).map(({ manager }) => manager)).toEqual(['b'])
  })

  it('keeps the entry of a version that is still served and drops the others', () => {
    const entry = (apiVersion: string): ManagedFieldsEntry => ({
      manager: apiVersion,
      operation: 'Update',
      apiVersion,
      fieldsType: 'FieldsV1',
      fieldsV1: { 'f:spec': { 'f:size': {} } },
    })
    const live = {
      ...foo({ size: 1 }),
      metadata: { name: 'f', uid: 'u', managedFields: [entry('ex.io/v1'), entry('ex.io/v1beta1'), entry('ex.io/v0')] },
    }
    const schemaOf = (version: string) => (version === 'ex.io/v0' ? undefined : schema)
    const after = apply({ schema, live, applied: foo({ tags: { a: 'b' } }), manager: 'm', force: false, now, schemaOf })
    expect(ownersOf(after).map(({ manager }) => manager)).toEqual(['m', 'ex.io/v1', 'ex.io/v1beta1'])
  })

  it('takes a value as owned whole once its schema calls it atomic', () => {
    const fieldsV1 = { 'f:spec': { 'f:whole': { 'f:a': {} } } }
    const entry = { manager: 'old', operation: 'Apply', apiVersion: 'ex.io/v1', fieldsType: 'FieldsV1', fieldsV1 }
    const live = { ...foo({ whole: { a: '1' } }), metadata: { name: 'f', uid: 'u', managedFields: [entry] } }
    const conflict = (): KubeObject => by('new', live, { whole: { b: '2' } })
    expect(conflict).toThrow('conflict with "old": .spec.whole')
  })

  it('answers 400, and nothing else, whatever is applied', () => {
    const name = fc.constantFrom(
      'spec',
      'size',
      'tags',
      'names',
      'ports',
      'port',
      'open',
      'metadata',
      'labels',
      'finalizers',
    )
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 5 },
        fc.constantFrom(null, 'x', 1, true),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(name, tie('value'), { maxKeys: 4 }),
      ),
    }))
    fc.assert(
      fc.property(value, value, (metadata, given) => {
        try {
          apply({
            schema,
            live: stored(foo({ size: 1 })),
            applied: { ...foo(given), metadata: { ...(metadata as object), name: 'f' } },
            manager: 'm',
            force: true,
            now,
          })
        } catch (error) {
          expect(isStatusError(error, 'BadRequest')).toBe(true)
        }
      }),
      { numRuns: 300 },
    )
  })
})

describe('trackUpdate', () => {
  it('gives a changed field to who changed it', () => {
    const live = by('a', undefined, { size: 1, tags: { x: 'y' } })
    const after = trackUpdate({
      schema,
      live,
      object: { ...live, spec: { size: 2, tags: { x: 'y' } } },
      manager: 'u',
      now,
    })
    expect(ownersOf(after).map(({ manager, fieldsV1 }) => [manager, fieldsV1])).toEqual([
      ['a', { 'f:spec': { 'f:tags': { 'f:x': {} } } }],
      ['u', { 'f:spec': { 'f:size': {} } }],
    ])
  })

  it('resets all managers on `[{}]`', () => {
    const live = by('a', undefined, { size: 1 })
    const object = { ...live, metadata: { ...live.metadata, managedFields: [{}] } }
    expect(trackUpdate({ schema, live, object, manager: 'u', now }).metadata).not.toHaveProperty('managedFields')
  })

  it('stores an object whose items have no identity without managers', () => {
    const object = foo({ ports: [{ note: 'no port' }, null] })
    expect(trackUpdate({ schema, live: undefined, object, manager: 'u', now }).metadata).not.toHaveProperty(
      'managedFields',
    )
  })
})

describe('field sets', () => {
  const set = spec.map((each) => fieldSetOf(fooOnly(each), schema.root))

  it('come back from FieldsV1 as they went', () => {
    fc.assert(
      fc.property(set, (each) => {
        expect(FieldSet.from(each.toFieldsV1()).toFieldsV1()).toEqual(each.toFieldsV1())
      }),
    )
  })

  it('split into what is shared and what is not', () => {
    fc.assert(
      fc.property(set, set, (one, other) => {
        expect(one.difference(other).union(one.intersection(other)).toFieldsV1()).toEqual(one.toFieldsV1())
        expect(one.difference(other).intersection(other).isEmpty).toBe(true)
      }),
    )
  })

  it('merge then extract: what is merged in can be taken out again', () => {
    fc.assert(
      fc.property(spec, spec, (live, applied) => {
        const merged = merge(fooOnly(live), fooOnly(applied), schema.root)
        const owned = fieldSetOf(fooOnly(applied), schema.root)
        const rest = fieldSetOf(removeFields(merged, owned, schema.root) ?? {}, schema.root)
        expect(rest.intersection(owned).isEmpty).toBe(true)
      }),
    )
  })
})

function fooOnly(given: unknown): unknown {
  return { spec: given }
}
