import { describe, expect, it } from 'vitest'
import { savingsReport, type SavingsReport } from '../../apis/savings-report.ts'
import { deployments } from '../../kube/core-types.ts'
import { grouped, readSavings } from '../../app/operations/savings.ts'
import { startWorld } from '../../../test/world.ts'
import { depart, deploymentOf, hoursOf, launch, rowsOf, scale } from '../../../test/savings-world.ts'
import { defaultPrices, type Prices } from '../../prices/prices.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

describe('savings', () => {
  it('counts a night of sleep as a reader would by hand: 2 × (250m, 512Mi) from 18:00 to 08:00', async () => {
    await using world = await startWorld({ startAt: Date.parse('2026-01-05T18:00:00Z') })
    await world.create(deploymentOf())
    const running = launch(world)
    await world.pass(0)
    await scale(world, 0)
    await world.pass(14 * hour)
    await scale(world, 2)
    await world.pass(10 * hour)
    await running.stop()
    const reports = (await world.client.list<SavingsReport>(savingsReport.type, { namespace: 'sojourn-system' })).items
    expect(reports.map(({ spec }) => [spec.day, hoursOf(spec.rows)])).toEqual([
      ['2026-01-05', 3],
      ['2026-01-06', 4],
    ])
    const found = await readSavings(world.client, '2026-01-01')
    const [total] = grouped(found.rows, 'total')
    // A sum names no namespace, owner or day: it may be of many.
    expect(Object.keys(total ?? {}).toSorted()).toEqual(
      ['asleep', 'cost', 'cpuSeconds', 'currency', 'group', 'memoryGiBSeconds'].toSorted(),
    )
    expect(total?.memoryGiBSeconds).toBeCloseTo(14 * 3600, 3)
    // 7 core hours at 0.031611 and 14 GiB hours at 0.004237.
    expect(total?.cost).toBeCloseTo(0.221277 + 0.059318, 6)
    expect(running.metrics.render()).toContain(
      'sojourn_saved_cpu_seconds_total{namespace="team",system="activator"} 25200',
    )
  })

  it('counts on after kill -9 as if it had run, and nothing that it cannot know', async () => {
    await using world = await startWorld()
    await world.create(deploymentOf())
    let running = launch(world)
    await world.pass(0)
    await scale(world, 0)
    await world.pass(3 * hour + 7 * minute)
    await running.kill()
    await world.pass(2 * hour)
    running = launch(world)
    await world.pass(53 * minute)
    await running.kill()
    // Woken while no process runs: when is not known, so the time since the last report is not counted.
    await world.pass(30 * minute)
    await scale(world, 2)
    running = launch(world)
    await world.pass(hour)
    await running.stop()
    const hours = hoursOf(await rowsOf(world))
    expect(hours).toBeLessThanOrEqual(6 * 0.5)
    expect(hours).toBeGreaterThan((6 - 5 / 60) * 0.5 - 0.001)
  })

  it('counts what slept and was deleted once: asleep until it was deleted, deleted from then on', async () => {
    await using world = await startWorld()
    await world.create(deploymentOf())
    const running = launch(world)
    await world.pass(0)
    await scale(world, 0)
    await world.pass(4 * hour)
    await depart(world)
    await world.pass(6 * hour)
    await running.stop()
    const rows = await rowsOf(world)
    expect(hoursOf(rows, 'Asleep')).toBeCloseTo(4 * 0.5, 2)
    expect(hoursOf(rows, 'Deleted')).toBeCloseTo(6 * 0.5, 2)
    expect(hoursOf(rows)).toBeLessThanOrEqual(10 * 0.5)
    expect(rows.map(({ system }) => system).toSorted()).toEqual(['activator', 'cleaner'])
  })

  it('counts once what two replicas count, each from its own caches', async () => {
    await using world = await startWorld()
    await world.create(deploymentOf())
    const both = [launch(world), launch(world)]
    await world.pass(0)
    await scale(world, 0)
    await world.pass(5 * hour)
    await scale(world, 2)
    await world.pass(hour)
    for (const running of both) await running.stop()
    const hours = hoursOf(await rowsOf(world))
    expect(hours).toBeLessThanOrEqual(5 * 0.5)
    expect(hours).toBeGreaterThan((5 - 6 / 60) * 0.5)
  })

  it('ends with a restore, with a new object of the same name, and after 30 days', async () => {
    await using world = await startWorld()
    for (const name of ['again', 'old']) await world.create(deploymentOf(name))
    const running = launch(world)
    await world.pass(0)
    await depart(world, 'again')
    await depart(world, 'old')
    await world.pass(2 * hour)
    await world.create(deploymentOf('again'))
    await world.pass(31 * day)
    await running.stop()
    const hours = hoursOf(await rowsOf(world))
    expect(hours).toBeLessThanOrEqual((2 + 30 * 24) * 0.5)
    expect(hours).toBeGreaterThan((2 + 30 * 24) * 0.5 - 0.1)
  })

  it('counts nothing that a user scaled down or deleted, and says which sleepers request nothing', async () => {
    await using world = await startWorld()
    await world.create(deploymentOf('own'))
    await world.create(deploymentOf('gone'))
    const bare = deploymentOf('bare')
    delete (bare.spec.template.spec.containers[0] as { resources?: unknown }).resources
    await world.create(bare)
    const running = launch(world)
    await world.client.patch(
      deployments,
      { namespace: 'team', name: 'own' },
      { type: 'merge', body: { spec: { replicas: 0 } } },
    )
    await world.client.deleteObject(deployments, { namespace: 'team', name: 'gone' })
    await world.pass(0)
    await scale(world, 0, { name: 'bare' })
    await world.pass(3 * hour)
    await running.stop()
    expect(hoursOf(await rowsOf(world))).toBe(0)
    expect(running.metrics.render()).toContain('sojourn_savings_uncounted_workloads 1')
  })

  it('counts with the prices of OpenCost from when it answers, and with the last known while it does not', async () => {
    await using world = await startWorld({ startAt: Date.parse('2026-01-05T00:00:00Z') })
    await world.create(deploymentOf())
    const answers = [new Error('down'), 0.1, new Error('down'), 0.2]
    const askPrices = (given: Prices) => {
      const next = answers.shift() ?? 0.3
      if (next instanceof Error) return Promise.reject(next)
      return Promise.resolve({ ...given, unit: { ...given.unit, cpu: next, memory: 0 } })
    }
    const running = launch(world, {
      askPrices,
      prices: { ...defaultPrices, unit: { ...defaultPrices.unit, memory: 0 } },
    })
    await world.pass(0)
    await scale(world, 0)
    await world.pass(2 * hour)
    await world.pass(26 * hour)
    await running.stop()
    const [total] = grouped((await readSavings(world.client, '2026-01-01')).rows, 'total')
    // Half a core: the first hour at the price of the file, then at 0.1 for a day and an hour, then at 0.2.
    const spent = (total?.cost ?? 0) / 0.5
    expect(total?.cpuSeconds).toBe(14 * 3600)
    expect(spent).toBeGreaterThan(0.031611 + 25 * 0.1)
    expect(spent).toBeLessThan(0.031611 + 24 * 0.1 + 3.2 * 0.2)
  })
})
