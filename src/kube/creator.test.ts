import { describe, expect, it } from 'vitest'
import { creatorOf, withoutManagedFields } from './creator.ts'

describe('the creator of an object', () => {
  const managedFields = [
    { manager: 'kubectl', time: '2026-03-02T00:00:00Z' },
    { manager: 'helm', time: '2026-03-01T00:00:00Z' },
    { manager: 'late', time: '2026-03-03T00:00:00Z' },
  ]

  it('is the field manager that wrote the object first', () => {
    expect(creatorOf({ name: 'a', managedFields })).toBe('helm')
    expect(creatorOf({ name: 'a', managedFields: [] })).toBeUndefined()
    expect(creatorOf({ name: 'a' })).toBeUndefined()
  })

  it('survives the removal of managed fields, and never appears in JSON', () => {
    const kept = Object.freeze(withoutManagedFields({ name: 'a', managedFields }))
    expect(creatorOf(kept)).toBe('helm')
    expect(kept).toEqual({ name: 'a' })
    expect(JSON.stringify(kept)).toBe('{"name":"a"}')
  })
})
