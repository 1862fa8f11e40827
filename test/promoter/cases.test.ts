import { expect, it } from 'vitest'
import { caseNumbersIn } from '../case-numbers.ts'

const folders = ['src/systems/promoter', 'src/git', 'src/forges', 'test/promoter', 'test/forge', 'test/gitea']

/** What pipeline-controller's own tests check. */
const theirs = Array.from({ length: 61 }, (_, index) => `C${index + 1}`)
/** What goes wrong where pipelines meet the world; some numbers were never given. */
const nasty = [1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 21, 22, 23, 24, 25, 26, 28, 29, 30]
  .concat([31, 32, 33, 34, 36, 37, 39, 40, 41])
  .map((number) => `N${number}`)

it('every case has a test that bears its number', () => {
  const named = caseNumbersIn(folders, /['"`]((?:[CN]\d+ )*[CN]\d+):/g)
  expect([...theirs, ...nasty].filter((id) => !named.has(id))).toEqual([])
})
