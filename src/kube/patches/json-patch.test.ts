import { describe, expect, it } from 'vitest'
import { jsonPatch } from './json-patch.ts'

describe('jsonPatch', () => {
  it.each([
    ['add to an array', { a: [1, 3] }, [{ op: 'add', path: '/a/1', value: 2 }], { a: [1, 2, 3] }],
    ['append', { a: [1] }, [{ op: 'add', path: '/a/-', value: 2 }], { a: [1, 2] }],
    ['escaped keys', { 'a/b': 1 }, [{ op: 'replace', path: '/a~1b', value: 2 }], { 'a/b': 2 }],
    ['move', { a: 1 }, [{ op: 'move', from: '/a', path: '/b' }], { b: 1 }],
    ['copy', { a: { x: 1 } }, [{ op: 'copy', from: '/a', path: '/b' }], { a: { x: 1 }, b: { x: 1 } }],
    ['remove', { a: 1, b: 2 }, [{ op: 'remove', path: '/a' }], { b: 2 }],
    ['replace what was not there', {}, [{ op: 'replace', path: '/a', value: 1 }], { a: 1 }],
    ['copy what is not there as null', {}, [{ op: 'copy', from: '/a', path: '/b' }], { b: null }],
    ['find a key absent', {}, [{ op: 'test', path: '/a', value: null }], {}],
    ['count from the end', { a: [1, 2] }, [{ op: 'remove', path: '/a/-1' }], { a: [1] }],
    ['set __proto__ as data', {}, [{ op: 'add', path: '/__proto__', value: 1 }], JSON.parse('{"__proto__": 1}')],
    ['replace the whole', { a: 1 }, [{ op: 'replace', path: '', value: { b: 2 } }], { b: 2 }],
  ] as const)('can %s', (_, target, operations, expected) => expect(jsonPatch(target, operations)).toEqual(expected))

  it.each([
    ['a failed test', [{ op: 'test', path: '/a', value: 2 }]],
    ['a missing path', [{ op: 'remove', path: '/x' }]],
    ['an index out of bounds', [{ op: 'add', path: '/l/9', value: 1 }]],
    ['an index that is none', [{ op: 'add', path: '/l/x', value: 1 }]],
    ['adding the whole', [{ op: 'add', path: '', value: {} }]],
    ['removing the whole', [{ op: 'remove', path: '' }]],
    ['replacing the whole by a number', [{ op: 'replace', path: '', value: 7 }]],
    ['a path without a slash', [{ op: 'add', path: 'a', value: 7 }]],
    ['a path through a number', [{ op: 'add', path: '/a/b', value: 7 }]],
    ['what objects inherit', [{ op: 'add', path: '/constructor/x', value: 7 }]],
    ['moving into itself', [{ op: 'move', from: '/o', path: '/o/p' }]],
    ['an unknown operation', [{ op: 'frobnicate', path: '/a' }]],
  ])('refuses %s', (_, operations) =>
    expect(() => jsonPatch({ a: 1, l: [], o: {} }, operations as never)).toThrow(Error),
  )

  it('refuses copies of copies before they fill the memory', () => {
    const double = (n: number) => ({ op: 'copy', from: '/a', path: `/a/${n}` }) as const
    const operations = Array.from({ length: 40 }, (_, n) => double(n))
    expect(() => jsonPatch({ a: { x: 'y'.repeat(1000) } }, operations)).toThrow(/copies come to/)
  })

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
