import { describe, expect, it } from 'vitest'
import { Document } from './document.ts'
import { RecordCache } from './record-cache.ts'
import type { StoredRecord } from './store.ts'

const at = (name: string) => ({ resource: 'configmaps', namespace: 'team', name })
const record = (name: string, length = 10, revision = 1): StoredRecord => ({
  ...at(name),
  uid: name,
  document: new Document(revision, 'x'.repeat(length)),
})

describe('RecordCache', () => {
  it('keeps what is used, and forgets the others before they are more than it may hold', () => {
    const cache = new RecordCache(100)
    cache.put(record('used'))
    for (let index = 0; index < 50; index++) {
      cache.put(record(`m${index}`))
      expect(cache.get(at('used'))).toBeDefined()
    }
    const kept = Array.from({ length: 50 }, (_, index) => cache.get(at(`m${index}`))).filter(Boolean)
    expect(kept.length).toBeGreaterThan(0)
    expect(kept.length).toBeLessThanOrEqual(10)
  })

  it('has the newest state of each, and none of what was dropped', () => {
    const cache = new RecordCache(100)
    for (let revision = 1; revision <= 50; revision++) cache.put(record('a', 10, revision))
    cache.put(record('b'))
    expect([cache.get(at('a'))?.document.revision, cache.get(at('b'))?.uid]).toEqual([50, 'b'])
    for (const name of ['a', 'b']) cache.drop(at(name))
    expect([cache.get(at('a')), cache.get(at('b'))]).toEqual([undefined, undefined])
  })

  it('has nothing old of what has become too large for it, or after it was cleared', () => {
    const cache = new RecordCache(100)
    cache.put(record('a'))
    cache.put(record('a', 20))
    expect(cache.get(at('a'))).toBeUndefined()
    cache.put(record('b'))
    cache.clear()
    expect(cache.get(at('b'))).toBeUndefined()
  })
})
