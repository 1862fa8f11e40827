import { expect, it } from 'vitest'
import { jsonValue } from './json-value.ts'

it('drops what is undefined, as the wire does', () => {
  const value = { a: undefined, b: { c: [1, undefined, { d: undefined, e: 2 }] }, f: null }
  expect(jsonValue(value)).toStrictEqual(JSON.parse(JSON.stringify(value)))
})

it('gives back the very value where there is nothing to drop', () => {
  const value = { a: [1, { b: 'c' }], d: null }
  expect(jsonValue(value)).toBe(value)
})
