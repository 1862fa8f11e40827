import { expect, it } from 'vitest'
import { goJsonError } from './go-json-error.ts'

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
