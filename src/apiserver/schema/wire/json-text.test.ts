import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseJson } from './json-text.ts'

describe('parseJson', () => {
  it.each([
    ['a key', '{"a":1,"a":2}', ['a']],
    ['a key below another', '{"spec":{"replicas":1,"x":{},"replicas":2}}', ['spec.replicas']],
    ['a key in a list', '{"a":[{"b":1},{"c":1,"c":2}]}', ['a[1].c']],
    ['a key written in two ways', '{"a":1,"\\u0061":2}', ['a']],
    ['each key once', '{"a":1,"a":2,"a":3}', ['a']],
    ['a key whose value looks like JSON', '{"a":"{\\"a\\":1}","a":":"}', ['a']],
  ])('finds %s that is there twice', (_, text, duplicates) => {
    expect(parseJson(text).duplicates).toEqual(duplicates)
  })

  it('keeps the last of repeated keys', () => {
    expect(parseJson('{"a":1,"a":2}').value).toEqual({ a: 2 })
  })

  it('throws what JSON.parse throws', () => {
    expect(() => parseJson('{"a"')).toThrow(SyntaxError)
  })

  it('finds nothing in JSON without repeated keys', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const value: unknown = JSON.parse(text)
        expect(parseJson(JSON.stringify(value))).toEqual({ value, duplicates: [] })
      }),
    )
  })
})
