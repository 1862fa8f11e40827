import { expect, it } from 'vitest'
import { RequestLimit } from './request-limit.ts'

const window = 30_000

function exhausted(address: string): RequestLimit {
  const limit = new RequestLimit()
  for (let request = 0; request < 20; request++) expect(limit.take(address, request)).toBeUndefined()
  return limit
}

it('refuses more than twenty requests of a client in half a minute, and says when that ends', () => {
  const limit = exhausted('10.0.0.1')
  expect(limit.take('10.0.0.1', 20)).toBe(window)
  expect(limit.take('10.0.0.2', 20)).toBeUndefined()
  expect(limit.take('10.0.0.1', window - 1)).toBe(window)
  expect(limit.take('10.0.0.1', window)).toBeUndefined()
})

it.each([
  ['::ffff:10.0.0.1', '10.0.0.1', true],
  ['2001:db8:0:1::1', '2001:db8:0:1:ffff::2', true],
  ['2001:db8:0:1::1', '2001:DB8::1:0:0:0:7', true],
  ['fe80::1%eth0', 'fe80::2', true],
  ['2001:db8:0:1::1', '2001:db8:0:2::1', false],
])('tells clients of IPv6 apart by their network: %s and %s are one: %s', (first, second, isSame) => {
  expect(exhausted(first).take(second, 20) !== undefined).toBe(isSame)
})
