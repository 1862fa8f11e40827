import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { deepEqual, diffToMergePatch, mergePatch } from './patch.ts'

describe('mergePatch', () => {
  it('merges objects, removes on null, replaces the rest', () => {
    expect(mergePatch({ a: { b: 1, c: 2 }, d: [1] }, { a: { b: null, e: 3 }, d: [2] })).toEqual({
      a: { c: 2, e: 3 },
      d: [2],
    })
  })

  it('leaves its arguments alone', () => {
    const target = Object.freeze({ a: Object.freeze({ b: 1 }) })
    mergePatch(target, { a: { b: 2 } })
    expect(target).toEqual({ a: { b: 1 } })
  })

  it('treats __proto__ as data', () => {
    const result = mergePatch({}, JSON.parse('{"__proto__": {"polluted": true}}')) as Record<string, unknown>
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
    expect(Object.hasOwn(result, '__proto__')).toBe(true)
  })
})

const json = fc.letrec((tie) => ({
  // Merge patches cannot carry null, nor an object into which nothing changes: keep values plain.
  value: fc.oneof(fc.integer(), fc.string(), fc.array(fc.integer()), tie('object')),
  object: fc.dictionary(fc.string({ maxLength: 3 }), tie('value'), { maxKeys: 4 }),
})).object

describe('diffToMergePatch', () => {
  it('is undone by mergePatch', () => {
    fc.assert(
      fc.property(json, json, (from, to) => {
        const patch = diffToMergePatch(from, to)
        expect(deepEqual(patch === undefined ? from : mergePatch(from, patch), to)).toBe(true)
      }),
    )
  })
})
