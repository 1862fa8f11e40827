import { describe, expect, it } from 'vitest'
import { disruptionStatus, nextRecount, type DisruptionBudget } from './disruption-status.ts'
import type { Pod } from '../types.ts'

const now = Date.parse('2026-01-01T01:00:00Z')
const metadata = { uid: 'x', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' }

function budget(spec: DisruptionBudget['spec'], disruptedPods: Record<string, string> = {}): DisruptionBudget {
  const status = { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0, conditions: [] }
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { ...metadata, name: 'b', generation: 2 },
    spec,
    status: { ...status, disruptedPods },
  }
}

function pod(name: string, { ready = true, deleted = false } = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...metadata, name, ...(deleted ? { deletionTimestamp: '2026-01-01T00:59:59Z' } : {}) },
    spec: { containers: [] },
    status: {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: '' }],
    },
  }
}

const three = [pod('a'), pod('b'), pod('c')]

describe('disruptionStatus', () => {
  it.each<[string, DisruptionBudget['spec'], Pod[], number, object]>([
    ['counts pods that serve beyond the minimum', { minAvailable: 1 }, three, 3, { disruptionsAllowed: 2 }],
    ['allows none at the minimum', { minAvailable: 3 }, three, 3, { disruptionsAllowed: 0, desiredHealthy: 3 }],
    ['allows none below it', { minAvailable: 4 }, three, 3, { disruptionsAllowed: 0 }],
    ['rounds percentages up', { minAvailable: '50%' }, three, 3, { desiredHealthy: 2, disruptionsAllowed: 1 }],
    ['asks controllers how many there should be', { maxUnavailable: 1 }, three, 4, { disruptionsAllowed: 0 }],
    ['allows as many as may be missing', { maxUnavailable: 2 }, three, 3, { disruptionsAllowed: 2, expectedPods: 3 }],
    ['allows none where there are none', { minAvailable: 0 }, [], 0, { disruptionsAllowed: 0, expectedPods: 0 }],
    [
      'does not count pods that are not ready or terminating',
      { minAvailable: 1 },
      [pod('a'), pod('b', { ready: false }), pod('c', { deleted: true })],
      3,
      { currentHealthy: 1, disruptionsAllowed: 0 },
    ],
  ])('%s', (_, spec, pods, wanted, expected) =>
    expect(disruptionStatus({ budget: budget(spec), pods, wanted }, now)).toMatchObject(expected),
  )

  it('counts a pod as disrupted as soon as its eviction is allowed', () => {
    const evicted = budget({ minAvailable: 1 }, { a: '2026-01-01T00:59:30Z' })
    const status = disruptionStatus({ budget: evicted, pods: three, wanted: 3 }, now)
    expect(status).toMatchObject({ currentHealthy: 2, disruptionsAllowed: 1, disruptedPods: { a: expect.any(String) } })
    expect(nextRecount(status)).toBe(now + 90_000)
  })

  it('forgets evictions that failed, and those that were carried out', () => {
    const evicted = budget({ minAvailable: 1 }, { a: '2026-01-01T00:57:59Z', gone: '2026-01-01T00:59:59Z' })
    const status = disruptionStatus({ budget: evicted, pods: three, wanted: 3 }, now)
    expect(status).toMatchObject({ currentHealthy: 3, disruptionsAllowed: 2 })
    expect(status.disruptedPods).toBeUndefined()
    expect(nextRecount(status)).toBeUndefined()
  })

  it('allows none and reports why when the controllers are unknown', () => {
    const problem = 'found no controller ref for pod "a"'
    const status = disruptionStatus({ budget: budget({ maxUnavailable: 1 }), pods: three, wanted: { problem } }, now)
    expect(status).toMatchObject({ disruptionsAllowed: 0, conditions: [{ reason: 'SyncFailed', message: problem }] })
  })
})
