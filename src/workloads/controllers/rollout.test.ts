import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { planRollout, type RolloutState } from './rollout.ts'
import type { Workload } from '../types.ts'

function set(name: string, replicas: number, available = replicas): Workload {
  const metadata = { name, uid: name, resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' }
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata,
    spec: { replicas, selector: {}, template: { spec: { containers: [] } } },
    status: { availableReplicas: available },
  }
}

function plan(state: Partial<RolloutState> & Pick<RolloutState, 'current' | 'owned' | 'wanted'>) {
  return planRollout({ strategy: {}, isPaused: false, ...state }).map(({ set: { metadata }, replicas }) => [
    metadata.name,
    replicas,
  ])
}

describe('planRollout', () => {
  it('starts all replicas of a new Deployment at once', () => {
    const current = set('new', 0)
    expect(plan({ wanted: 3, current, owned: [current] })).toEqual([['new', 3]])
  })

  it('surges first, and deletes old Pods only as new ones become available', () => {
    const current = set('new', 0)
    expect(plan({ wanted: 4, current, owned: [current, set('old', 4)] })).toEqual([
      ['new', 1],
      ['old', 3],
    ])
    const grown = set('new', 1, 0)
    expect(plan({ wanted: 4, current: grown, owned: [grown, set('old', 3)] })).toEqual([['new', 2]])
  })

  it('deletes old Pods that are not available without waiting', () => {
    const current = set('new', 1, 0)
    expect(plan({ wanted: 2, current, owned: [current, set('old', 2, 1)] })).toContainEqual(['old', 1])
  })

  it('deletes every old Pod before a Recreate starts new ones', () => {
    const current = set('new', 0)
    expect(plan({ wanted: 2, strategy: { type: 'Recreate' }, current, owned: [current, set('old', 2)] })).toEqual([
      ['old', 0],
    ])
    expect(plan({ wanted: 2, strategy: { type: 'Recreate' }, current, owned: [current, set('old', 0)] })).toEqual([
      ['new', 2],
    ])
  })

  it('does not roll out while paused, but still scales', () => {
    const current = set('new', 2)
    expect(plan({ wanted: 5, isPaused: true, current, owned: [current] })).toEqual([['new', 5]])
    expect(plan({ wanted: 2, isPaused: true, current: set('new', 0), owned: [set('new', 0), set('old', 2)] })).toEqual(
      [],
    )
  })

  it('always ends with exactly the wanted replicas, never too many and never too few on the way', () => {
    const amounts = fc.oneof(fc.integer({ min: 0, max: 3 }), fc.constantFrom('0%', '25%', '50%', '100%'))
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 10 }),
        fc.integer({ min: 0, max: 10 }),
        amounts,
        amounts,
        (wanted, before, maxSurge, maxUnavailable) => {
          let sizes = { new: 0, old: before }
          let available = { new: 0, old: before }
          const strategy = { rollingUpdate: { maxSurge, maxUnavailable } }
          const surge =
            typeof maxSurge === 'number' ? maxSurge : Math.ceil((Number.parseInt(maxSurge, 10) / 100) * wanted)
          for (let round = 0; round < 200; round++) {
            const current = set('new', sizes.new, available.new)
            const steps = planRollout({
              wanted,
              strategy,
              current,
              owned: [current, set('old', sizes.old, available.old)],
              isPaused: false,
            })
            if (steps.length === 0 && available.new === sizes.new) break
            for (const step of steps) sizes = { ...sizes, [step.set.metadata.name]: step.replicas }
            available = { new: Math.min(sizes.new, available.new + 1), old: Math.min(sizes.old, available.old) }
            if (before <= wanted)
              expect(sizes.new + sizes.old).toBeLessThanOrEqual(Math.max(wanted + surge, before, wanted))
          }
          expect(sizes).toEqual({ new: wanted, old: 0 })
        },
      ),
    )
  })
})
