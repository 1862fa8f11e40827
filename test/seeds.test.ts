import { expect, it } from 'vitest'
import { seedRows, unproved } from './seed-page.ts'

it.each(['activator', 'cleaner', 'collector', 'janitor', 'promoter'])(
  'every sentence of the %s’s founding document is proved where it is said to be',
  (system) => {
    const page = `docs/spec/seed-${system}.md`
    expect(seedRows(page).length).toBeGreaterThan(20)
    expect(unproved(page, `src/systems/${system}`)).toEqual([])
  },
)
