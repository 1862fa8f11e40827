import { expect, it } from 'vitest'
import { caseNumbersIn } from '../../case-numbers.ts'

const folders = ['src/systems/activator', 'test/e2e/activator']

/** Numbers that were never given. */
const unused = new Set([66, 75, 78, 87, 92, 100])
const cases = Array.from({ length: 105 }, (_, index) => index + 1)
  .filter((number) => !unused.has(number))
  .map((number) => `C${number}`)

/** Cases that no test can bear, and why. */
const without: Readonly<Record<string, string>> = {
  C57: 'nothing to reject: a Service is annotated, there is no kind of our own',
  C59: 'measured, not asserted: npm run bench -- activator',
}

it('every case has a test that bears its number, or a reason why not', () => {
  const named = caseNumbersIn(folders, /\((C\d+(?:, C\d+)*)\)['"`]/g)
  expect(cases.filter((id) => !named.has(id) && !(id in without))).toEqual([])
  expect(Object.keys(without).filter((id) => named.has(id))).toEqual([])
  expect([...named].filter((id) => !cases.includes(id))).toEqual([])
})
