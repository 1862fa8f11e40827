import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { accrue, type Pending } from './decision/accrue.ts'
import { defaultPrices } from '../../prices/prices.ts'
import { releasedBy, sleepOf, type Source } from './decision/released.ts'
import { amountOf } from '../../kube/basics/quantity.ts'
import type { StoredObject } from '../../kube/object.ts'
import { formatTime } from '../../kube/time.ts'

const guide = readFileSync(new URL('../../../docs/guide/savings.md', import.meta.url), 'utf8')
const start = Date.parse('2026-01-05T18:00:00Z')

/** The instant of a time of day between Monday 18:00 and Tuesday 18:00. */
function at(time: string): number {
  const [hours = 0, minutes = 0] = time.split(':').map(Number)
  return start + ((hours + 6) % 24) * 3_600_000 + minutes * 60_000
}

function workload(requests: string, asleepSince: number | undefined): StoredObject {
  const [, replicas = '', cpu = '', memory = ''] = /^(\d+) × (\S+), (\S+)$/.exec(requests) ?? []
  const noted = { 'sojourn.dev/former-replicas': replicas, 'sojourn.dev/asleep-since': formatTime(asleepSince ?? 0) }
  const template = { spec: { containers: [{ resources: { requests: { cpu, memory } } }] } }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {
      name: 'it',
      uid: 'it',
      resourceVersion: '1',
      creationTimestamp: '',
      annotations: asleepSince === undefined ? {} : noted,
    },
    spec: { replicas: asleepSince === undefined ? Number(replicas) : 0, template },
  }
}

/** What a row of the guide's table says happens, as sources. */
function sourcesOf(requests: string, story: string): readonly Source[] {
  const [, slept, woke] = /sleeps (\d+:\d+)–(\d+:\d+)/.exec(story) ?? []
  const asleepAt = slept === undefined ? undefined : at(slept)
  const object = workload(requests, asleepAt)
  const common = { uid: story, place: {}, system: 'activator' }
  const sleep = sleepOf(object)
  const until = at(woke ?? '18:00')
  const asleep: Source[] = sleep ? [{ ...common, state: 'Asleep', ...sleep, until }] : []
  if (!story.includes('deleted')) return asleep
  const from = sleep ? until : at(/deleted (\d+:\d+)/.exec(story)?.[1] ?? '')
  return [
    ...asleep,
    { ...common, uid: `${story} deleted`, state: 'Deleted', amounts: releasedBy(object)!, from, until: Infinity },
  ]
}

it('holds the table of the guide', () => {
  const rows = guide.split('\n').flatMap((line) => {
    const cells = line.split('|').map((cell) => cell.trim())
    return /^\| (?:shop|preview)\//.test(line) ? [cells.slice(1, 7)] : []
  })
  expect(rows.length).toBe(4)
  const totals = [0, 0, 0]
  for (const [name, requests = '', story = '', ...written] of rows) {
    const pending: Pending = new Map()
    accrue(pending, { sources: sourcesOf(requests, story), from: start, to: start + 86_400_000, prices: defaultPrices })
    const sums = [0, 0, 0]
    for (const day of pending.values())
      for (const row of day.values())
        for (const [index, value] of [
          (row.cpuSeconds ?? 0) / 3600,
          (row.memoryGiBSeconds ?? 0) / 3600,
          row.cost ?? 0,
        ].entries())
          sums[index]! += value
    expect([name, ...sums.map((sum, index) => Number(sum.toFixed(index === 2 ? 4 : 1)))]).toEqual([
      name,
      ...written.map(Number),
    ])
    sums.forEach((sum, index) => (totals[index]! += sum))
  }
  const [, core, gib, usd] = /\| total \| \| \| (\S+) \| (\S+) \| (\S+) \|/.exec(guide) ?? []
  expect(totals.map((total, index) => Number(total.toFixed(index === 2 ? 4 : 1)))).toEqual([core, gib, usd].map(Number))
})

it.each([
  ['250m', 0.25],
  ['100M', 100e6],
  ['100Mi', 100 * 2 ** 20],
  ['1e3', 1000],
  ['1E', 1e18],
  ['5u', 5e-6],
  ['two', 0],
])('reads the quantity %s', (text, amount) => expect(amountOf(text)).toBeCloseTo(amount, 9))
