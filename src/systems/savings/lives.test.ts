import { describe, expect, it } from 'vitest'
import { departure, type Departure } from '../../apis/departure.ts'
import { restoreDeparture } from '../../app/operations/restore.ts'
import { seededRandom } from '../../runtime/time/random.ts'
import { startWorld } from '../../../test/world.ts'
import { depart, deploymentOf, hoursOf, launch, rowsOf, scale } from '../../../test/savings-world.ts'

const minute = 60_000
const former = 4
const names = ['one', 'two']

/** What a reader would write down of one workload: replicas that are not there, and since when. */
interface Life {
  state: 'awake' | 'asleep' | 'deleted'
  missing: number
}

describe('random lives of workloads, over midnights', () => {
  it.each([1, 2, 3, 4])('count as a reader who saw all of it counts (%s)', async (seed) => {
    const { counted, exact, steps } = await live({ seed, isKilled: false })
    // Each step may be seen a second late.
    expect(Math.abs(counted - exact)).toBeLessThan((steps * former * 2 * 0.25) / 3600)
  })

  it.each([5, 6, 7, 8])(
    'never count too much when the process is killed and things happen meanwhile (%s)',
    async (seed) => {
      const { counted, exact, steps } = await live({ seed, isKilled: true })
      expect(counted).toBeLessThan(exact + (steps * former * 0.25) / 3600)
      expect(counted).toBeGreaterThan(exact / 4)
    },
  )
})

async function live({ seed, isKilled }: { readonly seed: number; readonly isKilled: boolean }) {
  await using world = await startWorld({ startAt: Date.parse('2026-03-28T22:00:00Z') })
  const random = seededRandom(seed)
  const below = (most: number) => Math.floor(random() * most)
  const lives = new Map<string, Life>(names.map((name) => [name, { state: 'awake', missing: 0 }]))
  for (const name of names) await world.create(deploymentOf(name, 'team', former))
  let running = launch(world)
  await world.pass(0)
  let exact = 0
  const steps = 40
  for (let step = 0; step < steps; step++) {
    const span = (1 + below(90)) * minute + below(60) * 1000
    if (isKilled && below(4) === 0) {
      await running.kill()
      await pass(span)
      await act()
      running = launch(world)
    }
    await pass(span)
    await act()
  }
  await running.stop()
  return { counted: hoursOf(await rowsOf(world)), exact, steps }

  async function pass(ms: number): Promise<void> {
    await world.pass(ms)
    for (const { missing } of lives.values()) exact += (missing * 0.25 * ms) / 3_600_000
  }

  async function act(): Promise<void> {
    const name = names[below(names.length)] ?? ''
    const life = lives.get(name)!
    if (life.state === 'deleted') {
      const { items } = await world.client.list<Departure>(departure.type, { namespace: 'team' })
      const record = items.find(({ spec, status }) => spec.object.name === name && status?.phase === 'Gone')!
      await restoreDeparture(
        world.client,
        { namespace: 'team', name: record.metadata.name },
        { now: world.clock.now() },
      )
      life.missing = life.state === 'deleted' ? beforeDeletion.get(name)! : 0
      life.state = life.missing > 0 ? 'asleep' : 'awake'
    } else if (below(4) === 0) {
      beforeDeletion.set(name, life.missing)
      await depart(world, name)
      Object.assign(life, { state: 'deleted', missing: former })
    } else if (life.state === 'asleep' && below(2) === 0) {
      await scale(world, former, { name, former })
      Object.assign(life, { state: 'awake', missing: 0 })
    } else {
      const replicas = below(former)
      await scale(world, replicas, { name, former })
      Object.assign(life, { state: 'asleep', missing: former - replicas })
    }
    await world.pass(0)
  }
}

const beforeDeletion = new Map<string, number>()
