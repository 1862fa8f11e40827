import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { deepEqual, diffToMergePatch, jsonPatch, mergePatch } from './patch.ts'

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

describe('jsonPatch', () => {
  it.each([
    ['add to an array', { a: [1, 3] }, [{ op: 'add', path: '/a/1', value: 2 }], { a: [1, 2, 3] }],
    ['append', { a: [1] }, [{ op: 'add', path: '/a/-', value: 2 }], { a: [1, 2] }],
    ['escaped keys', { 'a/b': 1 }, [{ op: 'replace', path: '/a~1b', value: 2 }], { 'a/b': 2 }],
    ['move', { a: 1 }, [{ op: 'move', from: '/a', path: '/b' }], { b: 1 }],
    ['copy', { a: { x: 1 } }, [{ op: 'copy', from: '/a', path: '/b' }], { a: { x: 1 }, b: { x: 1 } }],
    ['remove', { a: 1, b: 2 }, [{ op: 'remove', path: '/a' }], { b: 2 }],
    ['replace the whole', { a: 1 }, [{ op: 'replace', path: '', value: { b: 2 } }], { b: 2 }],
  ] as const)('can %s', (_, target, operations, expected) => expect(jsonPatch(target, operations)).toEqual(expected))

  it.each([
    ['a failed test', [{ op: 'test', path: '/a', value: 2 }]],
    ['a missing path', [{ op: 'remove', path: '/x' }]],
    ['an index out of bounds', [{ op: 'add', path: '/l/9', value: 1 }]],
    ['a leading zero', [{ op: 'add', path: '/l/01', value: 1 }]],
    ['moving into itself', [{ op: 'move', from: '/o', path: '/o/p' }]],
    ['an unknown operation', [{ op: 'frobnicate', path: '/a' }]],
  ])('refuses %s as invalid', (_, operations) =>
    expect(() => jsonPatch({ a: 1, l: [], o: {} }, operations as never)).toThrow(
      expect.objectContaining({ reason: 'Invalid' }),
    ),
  )

  it('changes nothing when a later operation fails', () => {
    const target = { a: 1 }
    expect(() =>
      jsonPatch(target, [
        { op: 'replace', path: '/a', value: 2 },
        { op: 'remove', path: '/x' },
      ]),
    ).toThrow()
    expect(target).toEqual({ a: 1 })
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
