import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startWorld, type World } from '../../../../test/world.ts'
import { cleanupPolicy, type CleanupPolicy } from '../../../apis/cleanup-policy.ts'
import { writePolicyStatus } from './policy-status.ts'
import type { WorkPorts } from './work.ts'

const given = {
  apiVersion: cleanupPolicy.apiVersion,
  kind: cleanupPolicy.kind,
  metadata: { name: 'unused' },
  spec: { targets: [{ kubernetes: { resources: [{ kind: 'ConfigMap' }] } }], rules: [{ rules: [{ name: 'Unused' }] }] },
}

describe('the status of a policy, where the cache is behind', () => {
  let world: World
  let before: CleanupPolicy
  beforeEach(async () => {
    world = await startWorld()
    before = await world.create<CleanupPolicy>(given)
  })
  afterEach(() => world[Symbol.asyncDispose]())

  /** Writes what was found at one location, with a cache that holds this. */
  const write = (cached: CleanupPolicy | undefined, trouble: string | null) => {
    const caches = { policies: { get: () => cached } } as unknown as WorkPorts['caches']
    return writePolicyStatus({ ...world, caches }, 'unused', { location: { name: 'here', change: { trouble } } })
  }
  const stored = () => world.get<CleanupPolicy>({ ...given, name: 'unused' })

  it('is written upon what the cluster holds', async () => {
    await write(before, 'no answer')
    await write(before, 'still no answer')
    expect((await stored())?.status?.locations?.['here']?.trouble).toBe('still no answer')
  })

  it('is written even if the stale cache already has it', async () => {
    await write(before, null)
    const calm = await stored()
    await write(calm, 'no answer')
    await write(calm, null)
    expect((await stored())?.status?.locations?.['here']).toEqual({})
  })

  it('is not written once the policy is gone', async () => {
    await world.client.deleteObject(cleanupPolicy.type, { name: 'unused' })
    await write(before, 'no answer')
    expect(await stored()).toBeUndefined()
  })
})
