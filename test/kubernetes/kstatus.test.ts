import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { ensureTool, whyUnavailable } from '../../scripts/reference-cluster/tools.ts'
import { allKinds } from '../../src/apis/all-kinds.ts'
import { healthStatus, type Health } from '../../src/kube/conditions.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { keyOfKind, reported, unreported, type States } from './kstatus-states.ts'

const missing = await whyUnavailable('kstatus')
if (missing) console.warn(`\n*** Tests of kstatus are SKIPPED: ${missing}\n`)

/** What kstatus, by which Flux and Helm wait, says about each object. */
async function kstatus(...objects: readonly KubeObject[]): Promise<readonly string[]> {
  const input = objects.map((object) => JSON.stringify(object)).join('\n')
  return execFileSync(await ensureTool('kstatus'), { input, encoding: 'utf8' })
    .trim()
    .split('\n')
}

const flat = (states: States) =>
  Object.entries(states).flatMap(([kind, each]) => each.map((state) => [kind, ...state] as const))

describe.skipIf(missing)('kstatus', () => {
  it.each(flat(reported))('says of a %s that %s: %s', async (_, __, expected, object) => {
    const stored = await object()
    const { generation = 0 } = stored.metadata
    const { observedGeneration, conditions = [] } = stored.status as {
      observedGeneration?: number
      conditions?: { type: string }[]
    }
    expect(observedGeneration).toBe(generation)
    expect(conditions.map(({ type }) => type)).toContain('Ready')
    const edited = { ...stored, metadata: { ...stored.metadata, generation: generation + 1 } }
    // An edit that the controller has not seen is in progress, whatever the state was.
    expect(await kstatus(stored, edited)).toEqual([expected, 'InProgress'])
  })

  it.each(flat(unreported))('says of a %s that %s: %s', async (_, __, expected, object) => {
    expect(await kstatus(await object())).toEqual([expected])
  })

  it.each<[Health, string]>([
    ['ready', 'Current'],
    ['reconciling', 'InProgress'],
    ['not-ready', 'InProgress'],
    ['stalled', 'Failed'],
  ])('reads %s in the status of any kind as %s', async (health, expected) => {
    const objects = allKinds.map(({ apiVersion, kind }) => {
      const object = { apiVersion, kind, metadata: { name: 'it', generation: 3 } }
      return { ...object, status: healthStatus(object, { health, reason: 'Because', message: '' }, 0) }
    })
    expect(new Set(await kstatus(...objects))).toEqual(new Set([expected]))
  })
})

describe('the states that kstatus judges', () => {
  it('are of every kind, and of each at least one that is Current', () => {
    const states = { ...reported, ...unreported }
    expect(Object.keys(states).toSorted()).toEqual(allKinds.map(keyOfKind).toSorted())
    for (const each of Object.values(states)) expect(each.map(([, expected]) => expected)).toContain('Current')
  })
})
