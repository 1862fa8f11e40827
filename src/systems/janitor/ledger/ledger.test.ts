import { describe, expect, it } from 'vitest'
import { historyOf, afterInventory, shardOf, shardsFor } from './ledger.ts'
import { day, hour, now, resource } from '../../../../test/janitor/fixtures.ts'

const times = { maxGapMs: day, everyMs: hour }
const usedBy = (by: string) => resource({ use: { state: 'used', by } })

describe('the ledger', () => {
  it('starts to record use with the first inventory', () => {
    const state = afterInventory(undefined, [resource()], { now, ...times })
    expect(state).toMatchObject({ trackingSince: now, observedAt: now })
    expect(state.entries.size).toBe(0)
  })

  it('remembers when something was last seen in use', () => {
    const first = afterInventory(undefined, [usedBy('Pod a')], { now, ...times })
    const second = afterInventory(first, [resource()], { now: now + hour, ...times })
    expect(historyOf(second).lastSeenUsed(resource())).toEqual({ at: now, by: 'Pod a' })
    expect(second.trackingSince).toBe(now)
  })

  it('does not rewrite a recent entry', () => {
    const first = afterInventory(undefined, [usedBy('Pod a')], { now, ...times })
    const second = afterInventory(first, [usedBy('Pod a')], { now: now + hour / 2, ...times })
    expect(second.entries.get('uid-thing')).toBe(first.entries.get('uid-thing'))
    const third = afterInventory(second, [usedBy('Pod a')], { now: now + hour, ...times })
    expect(historyOf(third).lastSeenUsed(resource())?.at).toBe(now + hour)
  })

  it('starts again after a long time without an inventory', () => {
    const first = afterInventory(undefined, [usedBy('Pod a')], { now, ...times })
    expect(afterInventory(first, [resource()], { now: now + 2 * day, ...times }).trackingSince).toBe(now + 2 * day)
  })

  it('records when a resource without a creation date was first seen', () => {
    const { createdAt: _, ...ageless } = resource()
    const first = afterInventory(undefined, [ageless], { now, ...times })
    const second = afterInventory(first, [ageless], { now: now + hour, ...times })
    expect(historyOf(second).firstSeen(ageless)).toBe(now)
  })

  it('drops deleted resources', () => {
    const first = afterInventory(undefined, [usedBy('Pod a')], { now, ...times })
    expect(afterInventory(first, [], { now: now + hour, ...times }).entries.size).toBe(0)
  })

  it('keeps shards below a thousand entries, for a million of them', () => {
    const shards = shardsFor(1_000_000)
    const sizes = new Uint32Array(shards)
    for (let index = 0; index < 1_000_000; index++) {
      const shard = shardOf(`0f3c2a9e-7c1d-4b1e-9d3a-${index.toString(16).padStart(12, '0')}`, shards)
      sizes[shard] = (sizes[shard] ?? 0) + 1
    }
    expect(Math.max(...sizes)).toBeLessThanOrEqual(1000)
    expect(shardsFor(10, shards)).toBe(shards)
  })
})
