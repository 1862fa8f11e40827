import { describe, expect, it } from 'vitest'
import { wavesOf, type Before } from './restore-set.ts'
import type { PageLine } from '../records/pages.ts'

function line(uid: string, ...owners: readonly string[]): PageLine {
  const ownerReferences = owners.map((owner) => ({ apiVersion: 'v1', kind: 'ConfigMap', name: owner, uid: owner }))
  return { uid, manifest: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: uid, ownerReferences } } }
}

const order = (lines: readonly PageLine[], before?: Before) =>
  wavesOf(lines, before)
    .map((wave) => wave.map(({ uid }) => uid).join(' '))
    .join(' | ')

describe('wavesOf', () => {
  it('keeps the order where nothing has owners', () => {
    expect(order([line('a'), line('b'), line('c')])).toBe('a b c')
  })

  it('puts owners before what they own, at any depth', () => {
    expect(order([line('c', 'b'), line('b', 'a'), line('a'), line('d')])).toBe('a d | b | c')
    expect(order([line('d', 'b', 'c'), line('b', 'a'), line('c', 'a'), line('a')])).toMatch(/^a \| (b c|c b) \| d$/)
  })

  it('keeps everything where owners form a circle or are elsewhere', () => {
    expect(wavesOf([line('a', 'b'), line('b', 'a'), line('c', 'gone')]).flat()).toHaveLength(3)
  })

  it('puts what has a namespace after what has none, be it that namespace', () => {
    const inside = { ...line('inside'), manifest: { ...line('inside').manifest, metadata: { namespace: 'team' } } }
    expect(order([inside, line('team')])).toBe('team | inside')
  })

  it('puts what else has to be there before what waits for it', () => {
    const before: Before = ({ uid }) => (uid === 'a' ? ['c'] : [])
    expect(order([line('b', 'a'), line('a'), line('c')], before)).toBe('c | a | b')
  })

  it('does not mind ten thousand levels', () => {
    const chain = Array.from({ length: 10_000 }, (_, index) => line(`${index}`, `${index + 1}`))
    expect(wavesOf(chain).map(([first]) => first?.uid)).toEqual(chain.map(({ uid }) => uid).toReversed())
  })
})
