import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { WorkQueue, type Priority } from './work-queue.ts'

const priority = fc.constantFrom<Priority>('user', 'change', 'due', 'initial')

describe('WorkQueue', () => {
  it('never hands a key to two workers, never loses one, never keeps one twice', () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant('add' as const), handle: fc.nat(9), priority }),
      fc.record({
        do: fc.constantFrom('take' as const, 'done' as const),
        handle: fc.nat(9),
        priority,
      }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (script) => {
        const queue = new WorkQueue()
        const wanted = new Set<number>()
        const taken = new Set<number>()
        for (const { do: what, handle, priority: urgency } of script) {
          if (what === 'add') {
            queue.add(handle, urgency)
            wanted.add(handle)
          } else if (what === 'take') {
            const next = queue.take()
            if (next < 0) expect([...wanted].every((key) => taken.has(key))).toBe(true)
            else {
              expect(taken.has(next)).toBe(false)
              expect(wanted.delete(next)).toBe(true)
              taken.add(next)
            }
          } else if (taken.delete(handle)) queue.done(handle)
          expect(queue.active).toBe(taken.size)
          expect(queue.size).toBe([...wanted].filter((key) => !taken.has(key)).length)
          expect(queue.has(handle)).toBe(wanted.has(handle) || taken.has(handle))
        }
      }),
    )
  })

  it('serves urgent work first, and first come first served within', () => {
    const queue = new WorkQueue()
    queue.add(1, 'initial')
    queue.add(2, 'change')
    queue.add(3, 'change')
    queue.add(4, 'user')
    queue.add(5, 'due')
    expect(drained(queue)).toEqual([4, 2, 3, 5, 1])
  })

  it('lets a key that waits move up, never down', () => {
    const queue = new WorkQueue()
    queue.add(1, 'change')
    queue.add(2, 'initial')
    queue.add(2, 'user')
    queue.add(1, 'initial')
    expect(drained(queue)).toEqual([2, 1])
  })

  it('gives a key that was added while taken a second turn, at its highest priority', () => {
    const queue = new WorkQueue()
    queue.add(1)
    expect(queue.take()).toBe(1)
    queue.add(1, 'initial')
    queue.add(1, 'user')
    queue.add(2)
    expect(queue.size).toBe(1)
    queue.done(1)
    expect(drained(queue)).toEqual([1, 2])
  })

  it('does not let a flood of urgent work starve the rest', () => {
    const queue = new WorkQueue()
    queue.add(1, 'initial')
    queue.add(2, 'due')
    const seen = new Set<number>()
    for (let handle = 10; handle < 60; handle++) {
      queue.add(handle, 'change')
      const next = queue.take()
      seen.add(next)
      queue.done(next)
    }
    expect(seen.has(1) && seen.has(2)).toBe(true)
  })

  it('rejects done() for a handle that is not being processed', () => {
    expect(() => new WorkQueue().done(3)).toThrow('not being processed')
  })
})

function drained(queue: WorkQueue): number[] {
  const order: number[] = []
  for (let handle = queue.take(); handle >= 0; handle = queue.take()) order.push(handle)
  return order
}
