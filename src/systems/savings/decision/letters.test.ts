import { describe, expect, it } from 'vitest'
import type { SavingsRow } from '../../../apis/savings-report.ts'
import { notCounted, ownerLetters } from './letters.ts'

const row = (owner: string, namespace: string): SavingsRow => ({
  system: 'environments',
  state: 'Asleep',
  currency: 'USD',
  owner,
  namespace,
  cost: 1,
})

it('says how many sleepers request nothing, and nothing where there are none', () => {
  expect([0, 1, 2].flatMap(notCounted)).toEqual([
    'Not counted: 1 sleeping workload without requests.',
    'Not counted: 2 sleeping workloads without requests.',
  ])
})

describe('the weekly mail to owners', () => {
  it('124: is one per address, however a tenant combines and writes addresses during the week', () => {
    const rows = Array.from({ length: 9 }, (_, index) => row(`u${index}@example.org,Victim@example.org`, `ns-${index}`))
    const environments = [{ namespace: 'awake', owner: 'other@example.org,victim@example.org' }]
    const letters = ownerLetters({ until: '2026-01-12', uncounted: 0, rows, environments })
    expect(letters).toHaveLength(10)
    expect(letters.every(({ to }) => to.length === 1)).toBe(true)
    const mine = letters.filter(({ to }) => to.includes('victim@example.org'))
    expect(mine.map(({ text }) => text.split('\n')[0])).toEqual([expect.stringContaining('about 9.00 USD')])
    expect(mine[0]?.text).toContain('Never slept: awake.')
  })

  it('124: goes to at most five addresses of one owner', () => {
    const owner = Array.from({ length: 40 }, (_, index) => `u${index}@example.org`).join()
    expect(ownerLetters({ until: '', uncounted: 0, rows: [row(owner, 'a')], environments: [] })).toHaveLength(5)
  })

  it('131: goes to at most 20 mailboxes about one namespace, those that released most', () => {
    const rows = Array.from({ length: 40 }, (_, index) => ({ ...row(`u${index}@example.org`, 'a'), cost: index }))
    const letters = ownerLetters({ until: '', uncounted: 0, rows, environments: [] })
    expect(letters.flatMap(({ to }) => to).toSorted()).toEqual(
      Array.from({ length: 20 }, (_, index) => `u${index + 20}@example.org`),
    )
  })

  it('131: is one per mailbox, however its addresses are tagged', () => {
    const rows = Array.from({ length: 9 }, (_, index) => row(`victim+${index}@example.org`, 'a'))
    expect(ownerLetters({ until: '', uncounted: 0, rows, environments: [] })).toHaveLength(1)
  })
})
