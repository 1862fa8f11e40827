import { describe, expect, it } from 'vitest'
import { ownersFirst } from './owners-first.ts'
import type { PageLine } from './pages.ts'

function line(uid: string, ...owners: readonly string[]): PageLine {
  const ownerReferences = owners.map((owner) => ({ apiVersion: 'v1', kind: 'ConfigMap', name: owner, uid: owner }))
  return { uid, manifest: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: uid, ownerReferences } } }
}

const order = (lines: readonly PageLine[]) =>
  ownersFirst(lines)
    .map(({ uid }) => uid)
    .join(' ')

describe('ownersFirst', () => {
  it('leaves the order alone where nobody owns anybody', () => {
    expect(order([line('a'), line('b'), line('c')])).toBe('a b c')
  })

  it('puts owners before what they own, at any depth', () => {
    expect(order([line('c', 'b'), line('b', 'a'), line('a'), line('d')])).toBe('a b c d')
    expect(order([line('d', 'b', 'c'), line('b', 'a'), line('c', 'a'), line('a')])).toMatch(/^a (b c|c b) d$/)
  })

  it('keeps everything where owners form a circle or are elsewhere', () => {
    expect(ownersFirst([line('a', 'b'), line('b', 'a'), line('c', 'gone')])).toHaveLength(3)
  })

  it('does not mind ten thousand levels', () => {
    const chain = Array.from({ length: 10_000 }, (_, index) => line(`${index}`, `${index + 1}`))
    expect(ownersFirst(chain)[0]?.uid).toBe('9999')
  })
})
