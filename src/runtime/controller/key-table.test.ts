import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyCharacter } from '../../../test/characters.ts'
import { KeyTable } from './key-table.ts'

const text = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.string({ unit: anyCharacter, maxLength: 12 }),
  fc.constantFrom('a', 'b'),
)

describe('KeyTable', () => {
  it('agrees with a map of counts, whatever is interned and released', () => {
    const step = fc.record({ text, release: fc.boolean() })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), (script) => {
        const table = new KeyTable()
        const model = new Map<string, { handle: number; references: number }>()
        for (const { text: key, release } of script) {
          const known = model.get(key)
          if (release && known) {
            known.references--
            expect(table.release(known.handle)).toBe(known.references === 0)
            if (known.references === 0) model.delete(key)
          } else {
            const handle = table.intern(key)
            if (known) expect(handle).toBe(known.handle)
            model.set(key, { handle, references: (known?.references ?? 0) + 1 })
          }
        }
        expect(table.size).toBe(model.size)
        expect(new Set(model.values().map(({ handle }) => handle)).size).toBe(model.size)
        for (const [key, { handle }] of model) {
          expect(table.textOf(handle)).toBe(key)
          expect(table.find(key)).toBe(handle)
        }
      }),
    )
  })

  it('gives dense handles and takes freed ones again', () => {
    const table = new KeyTable()
    const handles = Array.from({ length: 50_000 }, (_, index) => table.intern(`namespace-${index % 100}/name-${index}`))
    expect(Math.max(...handles.slice(0, 1000))).toBeLessThan(256 * 20)
    const highest = handles.reduce((most, handle) => Math.max(most, handle), 0)
    expect(highest).toBeLessThan(65_000)
    for (const handle of handles) table.release(handle)
    expect(table.size).toBe(0)
    let highestAgain = 0
    for (let index = 0; index < 50_000; index++) highestAgain = Math.max(highestAgain, table.intern(`other-${index}`))
    expect(highestAgain).toBeLessThan(70_000)
  })

  it('does not grow when keys come and go for ever', () => {
    const table = new KeyTable()
    const churn = (round: number) => {
      const handles = Array.from({ length: 20_000 }, (_, index) => table.intern(`round-${round}/some-name-${index}`))
      for (const handle of handles) table.release(handle)
    }
    churn(0)
    churn(1)
    const { byteLength } = table
    for (let round = 2; round < 12; round++) churn(round)
    expect(table.byteLength).toBeLessThan(byteLength * 1.3)
  })

  it.each([
    ['reading', (table: KeyTable, handle: number) => table.textOf(handle)],
    ['releasing', (table: KeyTable, handle: number) => table.release(handle)],
    ['retaining', (table: KeyTable, handle: number) => table.retain(handle)],
  ])('refuses %s what was released', (_, use) => {
    const table = new KeyTable()
    const handle = table.intern('a')
    table.release(handle)
    expect(() => use(table, handle)).toThrow('after its release')
  })

  it('refuses a key no name can be as long as', () => {
    expect(() => new KeyTable().intern('a'.repeat(40_000))).toThrow(RangeError)
  })
})
