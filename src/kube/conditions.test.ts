import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  findCondition,
  isConditionTrue,
  markNotReady,
  markReady,
  markReconciling,
  markStalled,
  setCondition,
  type Condition,
} from './conditions.ts'

const setters = { markReady, markNotReady, markReconciling, markStalled }
const minute = 60_000

describe('conditions', () => {
  it('moves the transition time only when the status changes', () => {
    const claim = { type: 'Ready', status: 'True' as const, reason: 'Fine', message: '' }
    const first = setCondition(undefined, claim, 0)
    const reworded = setCondition(first, { ...claim, message: 'still fine' }, minute)
    const flipped = setCondition(reworded, { ...claim, status: 'False' }, 2 * minute)
    expect([first, reworded, flipped].map((conditions) => conditions[0]?.lastTransitionTime)).toEqual([
      '1970-01-01T00:00:00Z',
      '1970-01-01T00:00:00Z',
      '1970-01-01T00:02:00Z',
    ])
  })

  it('returns the very same array when nothing changed, so that nothing is written', () => {
    const cause = { reason: 'Done', message: 'all done', observedGeneration: 2 }
    const once = markReady(undefined, cause, 0)
    expect(markReady(once, cause, minute)).toBe(once)
    const stalled = markStalled(undefined, cause, 0)
    expect(markStalled(stalled, cause, minute)).toBe(stalled)
  })

  it('shortens a message that the API server would refuse, together with the whole status', () => {
    const [long] = markReady(undefined, { reason: 'Done', message: '長'.repeat(40_000) }, 0)
    expect(Buffer.byteLength(long?.message ?? '')).toBeLessThanOrEqual(32_768)
    expect(long?.message.endsWith('…')).toBe(true)
  })

  it('leaves conditions of others where they are', () => {
    const other: Condition = { type: 'Other', status: 'True', reason: 'X', message: '', lastTransitionTime: 'then' }
    expect(markReady([other], { reason: 'Done', message: '' }, 0)[0]).toBe(other)
  })

  it('cannot be made to contradict itself by any order of setters', () => {
    const step = fc.record({ setter: fc.constantFrom(...Object.values(setters)), reason: fc.constantFrom('A', 'B') })
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 20 }), (script) => {
        let conditions: readonly Condition[] = []
        script.forEach(({ setter, reason }, now) => (conditions = setter(conditions, { reason, message: '' }, now)))
        const claims = ['Ready', 'Stalled', 'Reconciling'].filter((type) => isConditionTrue(conditions, type))
        expect(claims.length).toBeLessThanOrEqual(1)
        expect(new Set(conditions.map(({ type }) => type)).size).toBe(conditions.length)
        expect(findCondition(conditions, 'Ready')).toBeDefined()
      }),
    )
  })
})
