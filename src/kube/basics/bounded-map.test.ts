import { describe, expect, it } from 'vitest'
import { BoundedMap } from './bounded-map.ts'

describe('BoundedMap', () => {
  it('drops the oldest entry for a new one', () => {
    const map = new BoundedMap<string, number>(2)
    map.set('a', 1).set('b', 2).set('c', 3)
    expect([...map]).toEqual([
      ['b', 2],
      ['c', 3],
    ])
  })

  it('makes a key that is set again the newest', () => {
    const map = new BoundedMap<string, number>(2)
    map.set('a', 1).set('b', 2).set('a', 3).set('c', 4)
    expect([...map.keys()]).toEqual(['a', 'c'])
  })

  it('drops as many as the size of a new one needs, and keeps none that is larger than the limit', () => {
    const map = new BoundedMap<string, string>(10, (key, value) => key.length + value.length)
    map.set('a', '1').set('b', '2').set('c', '3').set('d', '456')
    expect([...map.keys()]).toEqual(['a', 'b', 'c', 'd'])
    map.set('e', '12345')
    expect([...map.keys()]).toEqual(['d', 'e'])
    map.set('f', '1234567890')
    expect([...map.keys()]).toEqual(['d', 'e'])
    map.delete('e')
    map.set('g', '12345')
    expect([...map.keys()]).toEqual(['d', 'g'])
  })

  it('keeps its limit for what it computes', () => {
    const map = new BoundedMap<number, number>(2)
    for (const key of [1, 2, 3, 3]) expect(map.getOrInsertComputed(key, (at) => at * 2)).toBe(key * 2)
    expect([...map.keys()]).toEqual([2, 3])
  })
})
