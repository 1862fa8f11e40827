import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { goJsonError, parseJson } from './json-text.ts'

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

  it.each(['9007199254740993', '-9007199254740993', '9223372036854775807'])('finds that %s is rounded', (integer) => {
    expect(parseJson(`{"a":[{"b":${integer}}]}`).rounded).toEqual([Number(integer)])
  })

  it('keeps every number that comes out as it went in', () => {
    const text =
      '{"a":9007199254740992,"b":1234567890123456800,"c":0.1234567890123456789,"d":"9007199254740993","e":1e20}'
    expect(parseJson(text).rounded).toEqual([])
    expect(JSON.stringify(parseJson(text).value)).toBe(
      text.replace('0.1234567890123456789', '0.12345678901234568').replace('1e20', '100000000000000000000'),
    )
  })

  it('throws what JSON.parse throws', () => {
    expect(() => parseJson('{"a"')).toThrow(SyntaxError)
  })

  it('finds nothing in JSON without repeated keys', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const value: unknown = JSON.parse(text)
        expect(parseJson(JSON.stringify(value))).toEqual({ value, duplicates: [], rounded: [] })
      }),
    )
  })
})

it.each([
  ['', 'unexpected end of JSON input'],
  ['{"kind":', 'unexpected end of JSON input'],
  ['{"a":1,}', "invalid character '}' looking for beginning of object key string"],
  ['{a:1}', "invalid character 'a' looking for beginning of object key string"],
  ['{"a" 1}', "invalid character '1' after object key"],
  ['{"a":1 "b":2}', `invalid character '"' after object key:value pair`],
  ['[1 2]', "invalid character '2' after array element"],
  ['x', "invalid character 'x' looking for beginning of value"],
  ['{} x', "invalid character 'x' after top-level value"],
  ['trux', "invalid character 'x' in literal true (expecting 'e')"],
  ['-x', "invalid character 'x' in numeric literal"],
  ['1.x', "invalid character 'x' after decimal point in numeric literal"],
  ['1ex', "invalid character 'x' in exponent of numeric literal"],
  ['"\n"', String.raw`invalid character '\n' in string literal`],
  [String.raw`"\x"`, "invalid character 'x' in string escape code"],
  [String.raw`"\u00zz"`, String.raw`invalid character 'z' in \u hexadecimal character escape`],
])('says of %j what Go says', (text, expected) => expect(goJsonError(text)).toBe(expected))
