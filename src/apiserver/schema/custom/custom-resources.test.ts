import { describe, expect, it } from 'vitest'
import type { StatusCause } from '../../../kube/status-error.ts'
import { decodeObject } from '../decode/decode.ts'
import type { FieldError } from '../types/field-error.ts'
import { recorded } from '../../../../test/apiserver/recorded/recorded.ts'
import { applyDefaults } from './apply-defaults.ts'
import { compileRules } from './cel-rules.ts'
import { customSchema } from './custom-schema.ts'
import type { StructuralSchema } from '../types/structural-schema.ts'
import { validateCustom } from './validate-custom.ts'

interface Recorded {
  readonly schema: StructuralSchema
  readonly cases: readonly {
    readonly spec: unknown
    readonly stored?: unknown
    readonly causes?: readonly StatusCause[]
  }[]
}

const { schema, cases } = recorded<Recorded>('custom-resources')
const { rules, errors } = compileRules(schema)
const kind = customSchema({ group: 'ex.io', version: 'v1', kind: 'Big' }, schema)

function completed(spec: unknown): Record<string, unknown> {
  return applyDefaults(schema, decodeObject(kind, { metadata: { name: 't' }, spec }).object) as Record<string, unknown>
}

function faults(spec: unknown, old?: unknown): readonly FieldError[] {
  return validateCustom(schema, completed(spec), {
    ...(rules ? { rules } : {}),
    ...(old === undefined ? {} : { old: completed(old) }),
  })
}

const inOrder = (texts: readonly string[]): readonly string[] => [...new Set(texts)].toSorted()
const ours = (found: readonly FieldError[]): readonly string[] =>
  inOrder(found.map(({ type, field, message }) => `${type} ${field} ${message}`))
const theirs = (causes: readonly StatusCause[]): readonly string[] =>
  inOrder(causes.map(({ reason, field, message }) => `${reason} ${field} ${message}`))

describe('custom resources', () => {
  it('have rules that compile', () => expect(errors).toEqual([]))

  it.each(cases.map(({ spec, causes = [] }) => [JSON.stringify(spec), spec, causes] as const))(
    'get the causes the API gives for %s',
    (_, spec, causes) => {
      expect(ours(faults(spec))).toEqual(theirs(causes))
    },
  )

  it.each(
    cases.filter(({ stored }) => stored).map(({ spec, stored }) => [JSON.stringify(spec), spec, stored] as const),
  )('are pruned and completed as the API does: %s', (_, spec, stored) => expect(completed(spec).spec).toEqual(stored))

  it('are refused before short lists of them fill the memory with defaults', () => {
    const text = { type: 'string', default: 'x'.repeat(1000) } as const
    const list = { type: 'array', items: { type: 'object', properties: { text } } } as const
    const fill = (length: number) =>
      applyDefaults(
        list,
        Array.from({ length }, () => ({})),
        { maxAdded: 100_000 },
      )
    expect(fill(99)).toHaveLength(99)
    expect(() => fill(100)).toThrow('Request entity too large')
  })

  it('may keep faults they were stored with', () => {
    const old = { req: 'a', s: 'much too long', map: [{ k: 'x', v: 99 }], cel: { a: 5, z: 1 } }
    expect(faults({ ...old, i: 1 }, old)).toEqual([])
  })

  it('may not gain new faults while they keep old ones', () => {
    const old = { req: 'a', map: [{ k: 'x', v: 99 }] }
    expect(faults({ ...old, map: [...old.map, { k: 'y', v: 99 }] }, old).map(({ field }) => field)).toEqual([
      'spec.map[1].v',
    ])
  })

  it('are held to transition rules on update only', () => {
    expect(faults({ req: 'a', cel: { imm: 'x' } })).toEqual([])
    expect(
      faults({ req: 'a', cel: { imm: 'y' } }, { req: 'a', cel: { imm: 'x' } }).map(({ message }) => message),
    ).toEqual(['Invalid value: "y": is immutable'])
  })

  it('stop being checked when their rules cost too much', () => {
    const costly: StructuralSchema = {
      type: 'object',
      properties: {
        spec: {
          type: 'array',
          items: { type: 'integer' },
          'x-kubernetes-validations': [{ rule: 'self.all(a, self.all(b, self.all(c, a + b + c >= 0)))' }],
        },
      },
    }
    const found = compileRules(costly).rules?.({ spec: Array.from({ length: 400 }, (_, index) => index) }, undefined)
    expect(found?.map(({ message }) => message)).toEqual([expect.stringContaining('call cost exceeds limit')])
  })

  it('match patterns in linear time', () => {
    const evil: StructuralSchema = { type: 'object', properties: { s: { type: 'string', pattern: '^(a+)+$' } } }
    expect(validateCustom(evil, { s: `${'a'.repeat(5000)}!` })).toHaveLength(1)
  })

  it('looks for no more errors than anybody reads, and prints no more of a value', () => {
    const allOf = Array.from({ length: 300 }, (_, minimum) => ({ minimum: minimum + 2 }))
    const items = { type: 'integer', allOf }
    const properties = { list: { type: 'array', items }, name: { type: 'string', pattern: '^b+$' } }
    const large = { list: Array.from({ length: 100_000 }, () => 1), name: 'a'.repeat(1_000_000) }
    const faults = validateCustom({ type: 'object', properties } as StructuralSchema, large)
    expect(faults.length).toBeLessThan(2000)
    expect(Math.max(...faults.map(({ message }) => message.length))).toBeLessThan(11_000)
  })

  it('see the former value as an optional where a rule asks for that', () => {
    const rule = { rule: 'oldSelf.orValue(0) <= self', optionalOldSelf: true }
    const growing: StructuralSchema = {
      type: 'object',
      properties: { n: { type: 'integer', 'x-kubernetes-validations': [rule] } },
    }
    const check = compileRules(growing).rules
    expect(check?.({ n: 1 }, undefined)).toEqual([])
    expect(check?.({ n: 1 }, { n: 2 })).toHaveLength(1)
    expect(check?.({ n: -1 }, undefined)).toHaveLength(1)
  })
})
