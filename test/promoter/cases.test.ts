import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const folders = ['src/systems/promoter', 'test/promoter', 'test/forge', 'test/gitea']
const root = join(import.meta.dirname, '../..')

/** What pipeline-controller's own tests check. */
const theirs = Array.from({ length: 61 }, (_, index) => `C${index + 1}`)
/** What goes wrong where pipelines meet the world; some numbers were never given. */
const nasty = [1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 21, 22, 23, 24, 25, 26, 28, 29, 30]
  .concat([31, 32, 33, 34, 36, 37, 39, 40, 41])
  .map((number) => `N${number}`)

it('every case has a test that bears its number', () => {
  const named = new Set(titles().flatMap((title) => title.match(/^(?:[CN]\d+ )*[CN]\d+(?=:)/)?.[0].split(' ') ?? []))
  expect([...theirs, ...nasty].filter((id) => !named.has(id))).toEqual([])
})

/** Every text in a test that could be its title, or a part of it. */
function titles(): string[] {
  return folders.flatMap((folder) =>
    readdirSync(join(root, folder))
      .filter((name) => name.endsWith('.test.ts'))
      .flatMap(
        (name) => readFileSync(join(root, folder, name), 'utf8').match(/(?<=['"`])[CN]\d+[ \dCN]*:[^\n]*/g) ?? [],
      ),
  )
}
