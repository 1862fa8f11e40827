import { describe, expect, it } from 'vitest'
import { listProblems } from '../scripts/guards/guard-list.ts'
import * as door from './door/guards.ts'
import * as environments from './environments/guards.ts'
import * as janitor from './janitor/guards.ts'
import * as mechanics from './mechanics/guards.ts'
import * as tenants from './tenants/guards.ts'

/** `npm run test:guards` takes them out, one by one; that they are there to be taken out is looked at every time. */
describe('the guards', () => {
  it.each(Object.entries({ janitor, environments, door, mechanics, tenants }))(
    'of the %s stand where they are said to, one at least for every case that must hold',
    (_, list) => expect(listProblems(list)).toEqual([]),
  )

  it('are missed when they have moved or were never there', () => {
    const guards = janitor.guards.map((guard) => (guard.case === 'C5' ? { ...guard, guard: 'not in the file' } : guard))
    const problems = listProblems({ ...janitor, guards, cases: [...janitor.cases, 'C999'] })
    expect(problems).toEqual([
      'C999: no guard is listed',
      'C999: no test has it in its name',
      'C5: its guard occurs 0 times in src/systems/janitor/verdict/judge.ts: not in the file',
    ])
  })
})
