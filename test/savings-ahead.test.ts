import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { cleaner } from '../src/apis/cleaner.ts'
import { readConfig } from '../src/app/config/config.ts'
import { savingsAhead, savingsBeyond, withoutDryRuns } from '../src/app/forecast/savings-ahead.ts'
import { grouped } from '../src/app/operations/savings.ts'
import { readAssumption } from '../src/forecast/assumption.ts'
import { readSnapshot } from '../src/forecast/cluster-snapshot.ts'
import type { KubeObject } from '../src/kube/object.ts'
import { startWorld, type World } from './world.ts'

const day = 86_400_000
// A Monday.
const startAt = Date.parse('2026-01-05T12:00:00Z')
let world: World

beforeEach(async () => {
  world = await startWorld({ startAt })
  await world.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } })
})
afterEach(() => world[Symbol.asyncDispose]())

function deployment(name: string, annotations: Record<string, string> = {}): KubeObject {
  const labels = { app: name }
  const resources = { requests: { cpu: '250m', memory: '512Mi' } }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'app', image: 'app:1', resources }] } }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'shop', annotations },
    spec: { replicas: 2, selector: { matchLabels: labels }, template },
  }
}

const options = () => ({ config: readConfig({ flags: {}, env: {} }), now: startAt, forMs: 7 * day })
const totalOf = (rows: Parameters<typeof grouped>[0]) => {
  const [total] = grouped(rows, 'total')
  return { hours: Math.round(((total?.cpuSeconds ?? 0) / 3600) * 100) / 100, cost: total?.cost ?? 0 }
}

describe('what a change would save', () => {
  it('is what its sleep releases, to the minute: a schedule of 10 hours a day for 2 × (250m, 512Mi)', async () => {
    await world.create(deployment('web'))
    const snapshot = await readSnapshot(world.client)
    const schedule = `apiVersion: v1
kind: Namespace
metadata: { name: shop, annotations: { sojourn.dev/awake: 'Mon-Sun 08:00-18:00 UTC' } }`
    const assumptions = [readAssumption('schedule.yaml', { now: startAt, readFile: () => schedule })]
    const today = await savingsAhead(snapshot, options())
    const changed = await savingsAhead(snapshot, { ...options(), assumptions })
    expect(totalOf(today.rows)).toEqual({ hours: 0, cost: 0 })
    const more = savingsBeyond(changed.rows, today.rows)
    // Seven nights of 14 hours, each 7 core hours and 14 GiB hours: 0.2806 USD, as in docs/guide/savings.md.
    const { hours, cost } = totalOf(more)
    expect(hours).toBeCloseTo(49, 1)
    expect(cost).toBeCloseTo(7 * 0.280595, 2)
    expect(grouped(more, 'namespace').map(({ group }) => group)).toEqual(['shop'])
    expect(grouped(more, 'day').map(({ group }) => group)[0]).toBe('2026-01-05')
  }, 120_000)

  it('leaves out what already sleeps, and counts nothing of the past', async () => {
    await world.create({
      ...deployment('old', {
        'sojourn.dev/former-replicas': '2',
        'sojourn.dev/asleep-since': '2026-01-01T00:00:00Z',
        'sojourn.dev/asleep-until': '2027-01-01T00:00:00Z',
      }),
      spec: { ...(deployment('old').spec as object), replicas: 0 },
    })
    const snapshot = await readSnapshot(world.client)
    const today = await savingsAhead(snapshot, options())
    expect(totalOf(today.rows).hours).toBeCloseTo(7 * 24 * 0.5, 1)
    expect(savingsBeyond(today.rows, today.rows)).toEqual([])
  }, 120_000)

  it('includes what a dry run keeps from being deleted', async () => {
    await world.create(deployment('preview'))
    const reference = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'preview' }
    await world.create({
      apiVersion: cleaner.apiVersion,
      kind: cleaner.kind,
      metadata: { name: 'preview', namespace: 'shop' },
      spec: { ttl: '1d', dryRun: true, targets: [{ name: 'it', delete: true, reference }] },
    })
    const snapshot = await readSnapshot(world.client)
    expect(totalOf((await savingsAhead(snapshot, options())).rows).hours).toBe(0)
    const carriedOut = await savingsAhead(withoutDryRuns(snapshot), options())
    expect(totalOf(carriedOut.rows).hours).toBeCloseTo(6 * 24 * 0.5, 0)
    expect(carriedOut.rows.every(({ state }) => state === 'Deleted')).toBe(true)
  }, 120_000)
})
